// Small conveniences. Every page works without this file.
"use strict";

// Hovering a statement shows the passage it rests on.
for (const mark of document.querySelectorAll("mark[data-passage]")) {
  const passage = document.getElementById(mark.dataset.passage);
  if (!passage) continue;
  const lit = (on) => () => passage.classList.toggle("lit", on);
  mark.addEventListener("mouseenter", lit(true));
  mark.addEventListener("mouseleave", lit(false));
  mark.addEventListener("focus", lit(true));
  mark.addEventListener("blur", lit(false));
}

document.addEventListener("click", async (event) => {
  const copy = event.target.closest("[data-copy]");
  if (copy) {
    await navigator.clipboard.writeText(document.getElementById(copy.dataset.copy).textContent);
    copy.classList.add("done");
    setTimeout(() => copy.classList.remove("done"), 1500);
  }
  const asked = event.target.closest("[data-confirm]");
  if (asked && !window.confirm(asked.dataset.confirm)) event.preventDefault();
});

// "/" goes to the search; j and k walk the list.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
  if (event.key === "/") {
    const search = document.querySelector('[data-key="/"]');
    if (search) { event.preventDefault(); search.focus(); }
  }
  if (event.key === "j" || event.key === "k") {
    const rows = [...document.querySelectorAll(".tracerow")];
    if (!rows.length) return;
    const at = rows.indexOf(document.activeElement) + (event.key === "j" ? 1 : -1);
    rows[Math.min(rows.length - 1, Math.max(0, at))].focus();
  }
});

// Pages that say so stay fresh, unless somebody is typing or selecting.
const fresh = document.querySelector("[data-refresh]");
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
