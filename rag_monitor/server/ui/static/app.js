// Small conveniences. Every page works without this file.
"use strict";

const one = (selector) => document.querySelector(selector);

// Pointing at a statement lights the passage it rests on; the style sheet shows the evidence.
const light = (on) => (event) => {
  const mark = event.target.closest?.("mark[data-passage]");
  if (mark) document.getElementById(mark.dataset.passage)?.classList.toggle("lit", on);
};
for (const name of ["mouseover", "focusin"]) document.addEventListener(name, light(true));
for (const name of ["mouseout", "focusout"]) document.addEventListener(name, light(false));

document.addEventListener("click", async (event) => {
  const copy = event.target.closest("[data-copy]");
  if (copy) {
    const text = document.getElementById(copy.dataset.copy);
    try {
      await navigator.clipboard.writeText(text.textContent);
    } catch { // only https and this machine have a clipboard: leave it selected, ready for Ctrl-C
      window.getSelection().selectAllChildren(text);
      return;
    }
    copy.classList.add("done");
    setTimeout(() => copy.classList.remove("done"), 1500);
  }
  const asked = event.target.closest("[data-confirm]");
  if (asked && !window.confirm(asked.dataset.confirm)) event.preventDefault();
});

// Choosing another app loads its releases.
document.addEventListener("change", (event) => {
  const form = event.target.closest("[data-submit]")?.form;
  if (!form) return;
  for (const name of ["a", "b"]) form.elements[name]?.removeAttribute("name");
  form.submit();
});

const help = document.getElementById("keyboard");
document.getElementById("show-keys")?.addEventListener("click", () => help.showModal());

// The keyboard: what each key does is listed in the dialog behind "?".
const keys = {
  "?": () => help?.showModal(),
  "/": () => {
    const search = one('[data-key="/"]');
    if (search) search.focus(); else location.assign("/traces");
  },
  j: () => walk(1),
  k: () => walk(-1),
  u: () => one("[data-back]") && (document.referrer.includes("/traces?") ? history.back() : one("[data-back]").click()),
  1: () => one('[data-press="1"]')?.click(),
  2: () => one('[data-press="2"]')?.click(),
  3: () => one('[data-press="3"]')?.click(),
};
let going = 0;
function walk(step) {
  const rows = [...document.querySelectorAll(".tracerow")];
  if (!rows.length) return;
  const at = rows.indexOf(document.activeElement) + step;
  rows[Math.min(rows.length - 1, Math.max(0, at))].focus();
}
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || help?.open) return;
  if (event.target.closest("input, select, textarea")) return;
  if (Date.now() < going) {
    going = 0;
    const target = one(`[data-go="${CSS.escape(event.key)}"]`);
    if (target) { event.preventDefault(); target.click(); return; }
  }
  if (event.key === "g") { going = Date.now() + 1500; return; }
  if (Object.hasOwn(keys, event.key)) { event.preventDefault(); keys[event.key](); }
});

// Pages that say so stay fresh, unless somebody is typing or selecting.
const fresh = one("[data-refresh]");
if (fresh) {
  setInterval(async () => {
    const main = document.getElementById("main");
    const busy = main.contains(document.activeElement) && document.activeElement !== main;
    if (document.hidden || busy || String(window.getSelection())) return;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (!answer.ok || answer.redirected) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      main.replaceChildren(...page.getElementById("main").childNodes);
    } catch { /* the server is away for a moment; the next round tries again */ }
  }, Number(fresh.dataset.refresh) * 1000);
}
