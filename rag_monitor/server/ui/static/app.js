// Small conveniences. Every page works without this file.
"use strict";

const one = (selector) => document.querySelector(selector);

// The style sheet hides what does nothing without this file until it runs.
document.documentElement.classList.add("scripted");

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
  if (!asked) return;
  if (window.confirm(asked.dataset.confirm)) { // the server need not ask again
    asked.name = "confirmed";
    asked.value = "yes";
  } else event.preventDefault();
});

// What a form stores is stored once: until its answer comes, a second press is an accident.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.getAttribute("method") !== "post") return;
  if (form.dataset.sent) event.preventDefault(); else form.dataset.sent = "yes";
});
window.addEventListener("pageshow", () => { // come back to, a page may be sent again
  for (const form of document.querySelectorAll("[data-sent]")) delete form.dataset.sent;
});

// Choosing another app loads its releases.
document.addEventListener("change", (event) => {
  const form = event.target.closest("[data-submit]")?.form;
  if (!form) return;
  for (const name of ["a", "b"]) form.elements[name]?.removeAttribute("name");
  form.submit();
});

// The zone of this machine is the likeliest to be chosen.
const zones = document.getElementById("zones");
if (zones) zones.prepend(new Option("", Intl.DateTimeFormat().resolvedOptions().timeZone));

const help = document.getElementById("keyboard");
document.getElementById("show-keys")?.addEventListener("click", () => help.showModal());

// The keyboard: what each key does is listed in the dialog behind "?".
const keys = {
  "?": () => help?.showModal(),
  "/": () => {
    const search = one('[data-key="/"]');
    if (!search) { location.assign("/traces#search"); return; }
    const fold = search.closest("details"); // a field that is folded away cannot be focused
    if (fold) fold.open = true;
    search.focus();
  },
  j: () => walk(1),
  k: () => walk(-1),
  u: () => back(),
  1: () => one('[data-press="1"]')?.click(),
  2: () => one('[data-press="2"]')?.click(),
  3: () => one('[data-press="3"]')?.click(),
  n: () => one('[data-press="n"]')?.click(),
};
let going = 0;
function walk(step) {
  const rows = [...document.querySelectorAll(".tracerow")];
  if (!rows.length) return;
  const at = rows.indexOf(document.activeElement) + step;
  rows[Math.min(rows.length - 1, Math.max(0, at))].focus();
}

// The way back keeps the filters of a list: a mark leaves the trace itself as the page before.
window.addEventListener("pageshow", () => {
  if (!["/traces", "/labels"].includes(location.pathname)) return;
  const address = new URL(location.href);
  // That it was the last one is not said again.
  if (address.searchParams.has("ended")) address.searchParams.delete("ended");
  try {
    sessionStorage.setItem(`list ${address.pathname}`, address.pathname + address.search);
  } catch { /* no storage: the way back is the whole list */ }
});
function back() {
  const link = one("[data-back]");
  if (!link) return;
  let list = null;
  try {
    list = sessionStorage.getItem(`list ${link.pathname}`);
  } catch { /* no storage */ }
  list ??= link.pathname;
  // One step back also finds the row again. A fragment stands for a step on this page.
  if (document.referrer === location.origin + list && !location.hash) history.back();
  else location.assign(list);
}

// "/" on another page opens the list for a search; come back to later, the list is for walking.
if (location.hash === "#search" && one("#search")) {
  one("#search").focus();
  history.replaceState(null, "", location.pathname + location.search);
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || help?.open) return;
  if (event.target.closest("input, select, textarea")) return;
  if (Date.now() < going && !event.repeat) {
    going = 0;
    const target = one(`[data-go="${CSS.escape(event.key)}"]`);
    if (target) { event.preventDefault(); target.click(); return; }
  }
  if (event.key === "g" && !event.repeat) { going = Date.now() + 1500; return; }
  if (!Object.hasOwn(keys, event.key)) return;
  event.preventDefault();
  // A held key walks on through a list. All else it does once: it may still be held on the next page.
  if (!event.repeat || event.key === "j" || event.key === "k") keys[event.key]();
});

// A form that says so shows what it would do, once nobody has typed for a moment. One request at a
// time: what was typed meanwhile is sent when the answer is there.
const live = one("form[data-live]");
if (live) {
  let shown = "", timer = 0, underway = false;
  const later = (seconds) => {
    clearTimeout(timer);
    timer = setTimeout(show, seconds * 1000);
  };
  const show = async () => {
    if (live.dataset.sent) return;
    if (underway) { later(0.3); return; }
    const form = new URLSearchParams(new FormData(live));
    const text = String(form);
    if (text === shown) return;
    underway = true;
    let told = null;
    try {
      form.append("fragment", "yes");
      const headers = { Accept: "text/html" };
      const answer = await fetch(live.dataset.live, { method: "POST", headers, body: form });
      if (answer.ok && !answer.redirected) {
        told = new DOMParser().parseFromString(await answer.text(), "text/html");
        shown = text;
      }
    } catch { /* the server is away: nothing is shown rather than what was */ }
    for (const place of live.querySelectorAll("[data-beside]")) {
      const same = told?.querySelector(`[data-beside="${CSS.escape(place.dataset.beside)}"]`);
      place.replaceChildren(...(same ? same.childNodes : []));
    }
    underway = false;
    const again = live.querySelector("[data-again]");
    if (again) { shown = ""; later(Number(again.dataset.again)); }
  };
  live.addEventListener("input", () => later(0.7));
}

// Pages that say so stay fresh, unless somebody is typing, selecting or filling in a form.
const fresh = one("[data-refresh]");
const main = document.getElementById("main");
function changed(field) {
  if (!field.options) return field.value !== field.defaultValue || field.checked !== field.defaultChecked;
  const given = [...field.options].map((option) => option.defaultSelected);
  // Where the page selects none, the browser selects the first.
  return field.selectedIndex !== Math.max(0, given.lastIndexOf(true));
}
// What was copied is done with, and so is a button that the mouse has pressed.
let copied = "";
document.addEventListener("copy", () => { copied = String(window.getSelection()); });
function busy() {
  const at = document.activeElement;
  const focused = main.contains(at) && at !== main && at.matches(":focus-visible:not([data-copy])");
  return document.hidden || focused || !["", copied].includes(String(window.getSelection()))
    || Boolean(main.querySelector("details[open] form, details[open] .numbers, [data-sent], [data-chart]:hover"))
    || [...main.querySelectorAll("input, select, textarea")].some(changed);
}
if (fresh) {
  setInterval(async () => {
    if (busy()) return;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (!answer.ok || answer.redirected) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (busy()) return;
      const at = document.activeElement?.dataset.copy;
      main.replaceChildren(...page.getElementById("main").childNodes);
      if (at) main.querySelector(`[data-copy="${CSS.escape(at)}"]`)?.focus();
      document.dispatchEvent(new Event("refreshed"));
    } catch { /* the server is away for a moment; the next round tries again */ }
  }, Number(fresh.dataset.refresh) * 1000);
}
