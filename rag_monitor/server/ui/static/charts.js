// Charts that answer: the numbers under the pointer, the traces behind a point, a stretch of time
// to zoom into. Drawn by the server, they can be read without this file; numbers come from their
// `data-chart`, worded by the server.
"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const help = () => document.getElementById("chart-help");
  const tip = document.createElement("div");
  tip.className = "charttip";
  tip.hidden = true;
  document.body.append(tip);

  // What is pointed at: the chart, its plot and data, the point, and where a selection began.
  let at = null;

  const read = (chart) => JSON.parse(chart.dataset.chart);

  function share(told, moment) {
    const { starts } = told;
    return (moment - starts[0]) / (starts.at(-1) - starts[0]);
  }

  function pointUnder(told, plot, x) {
    const box = plot.getBoundingClientRect();
    const part = Math.min(1, Math.max(0, (x - box.left) / box.width));
    const next = told.starts.findIndex((start) => share(told, start) > part);
    return next < 0 ? told.times.length - 1 : next - 1;
  }

  function look(chart, number, from = null) {
    if (at?.chart !== chart) leave();
    const told = at?.told ?? read(chart);
    at = { chart, told, plot: chart.querySelector(".plot"), number, from };
    draw();
    tell();
  }

  function leave() {
    if (!at) return;
    at.plot.querySelector(".pointed")?.remove();
    at.chart.classList.remove("brushing");
    tip.hidden = true;
    at = null;
  }

  function shape(name, values) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(values)) made.setAttribute(key, value);
    return made;
  }
  const percent = (part) => `${(100 * part).toFixed(2)}%`;

  // The crosshair, a dot on every line, and the stretch that is selected.
  function draw() {
    const { chart, told, plot, number, from } = at;
    plot.querySelector(".pointed")?.remove();
    const [top, floor] = told.plot, [low, high] = told.range;
    const start = share(told, told.starts[number]), end = share(told, told.starts[number + 1]);
    const middle = percent((start + end) / 2);
    const group = shape("g", { class: "pointed" });
    if (from !== null) {
      const [first, last] = [Math.min(from, number), Math.max(from, number)];
      const left = share(told, told.starts[first]), right = share(told, told.starts[last + 1]);
      group.append(shape("rect", {
        class: "brush", x: percent(left), width: percent(right - left), y: top, height: floor - top,
      }));
    }
    group.append(shape("line", { class: "crosshair", x1: middle, x2: middle, y1: top, y2: floor }));
    for (const line of told.lines) {
      const value = line.values[number];
      if (value === null) continue;
      const part = Math.min(1, Math.max(0, (value - low) / (high - low)));
      group.append(shape("circle", {
        class: `dot ${line.kind}`, cx: middle, cy: floor - part * (floor - top), r: 4.5,
      }));
    }
    plot.append(group);
    chart.classList.toggle("brushing", from !== null);
  }

  // Marks stand with the point in which they happened.
  const marksAt = (told, number) => told.marks
    .filter(([moment]) => moment >= told.starts[number] && moment < told.starts[number + 1])
    .map(([, name]) => name);

  function tell() {
    const { chart, told, plot, number, from } = at;
    tip.replaceChildren();
    const add = (parent, kind, text) => {
      const made = document.createElement("span");
      made.className = kind;
      made.textContent = text;
      parent.append(made);
    };
    const time = from === null || from === number ? told.times[number]
      : `${told.times[Math.min(from, number)]} … ${told.times[Math.max(from, number)]}`;
    add(tip, "time", time);
    for (const line of told.lines) {
      const row = document.createElement("span");
      row.className = "told";
      add(row, `key ${line.kind}`, "");
      add(row, "name", line.name);
      add(row, "said", line.said[number]);
      tip.append(row);
    }
    for (const name of marksAt(told, number)) add(tip, "happened", name);
    if (told.traces) {
      const link = document.createElement("a");
      link.href = traces();
      link.tabIndex = -1;
      link.textContent = help()?.dataset.open ?? "";
      tip.append(link);
    }
    tip.hidden = false;
    const box = plot.getBoundingClientRect();
    const x = box.left + box.width * (share(told, told.starts[number]) + share(told, told.starts[number + 1])) / 2;
    const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
    const right = x + 14 <= room ? x + 14 : x - 14 - tip.offsetWidth;
    tip.style.left = `${Math.max(8, Math.min(room, right)) + window.scrollX}px`;
    tip.style.top = `${box.bottom + 4 + window.scrollY}px`;
    chart.setAttribute("aria-valuenow", number);
    const said = told.lines.map((line) => `${line.name} ${line.said[number]}`);
    chart.setAttribute("aria-valuetext", [time, ...said, ...marksAt(told, number)].join(", "));
  }

  const stretch = () => {
    const { told, number, from } = at;
    const [first, last] = [Math.min(from ?? number, number), Math.max(from ?? number, number)];
    const iso = (seconds) => new Date(1000 * seconds).toISOString().replace(".000Z", "Z");
    return { from: iso(told.starts[first]), to: iso(told.starts[last + 1]) };
  };
  function traces() {
    const address = new URL(at.told.traces, location.href);
    for (const [name, value] of Object.entries(stretch())) address.searchParams.set(name, value);
    return address.href;
  }
  function zoom() {
    const address = new URL(location.href);
    address.searchParams.delete("window");
    for (const [name, value] of Object.entries(stretch())) address.searchParams.set(name, value);
    location.assign(address);
  }
  // One point leads to its traces; a stretch of several to itself, on a page of a window.
  function open() {
    const zooms = help()?.dataset.zooms !== undefined;
    if (zooms && at.from !== null && at.from !== at.number) zoom();
    else if (at.told.traces) location.assign(traces());
  }

  const chartOf = (event) => event.target.closest?.("[data-chart]");
  const plotOf = (chart) => chart.querySelector(".plot");

  document.addEventListener("pointermove", (event) => {
    if (at && at.from !== null && at.pressed) {
      const number = pointUnder(at.told, at.plot, event.clientX);
      look(at.chart, number, at.from);
      at.pressed = true;
      return;
    }
    const chart = chartOf(event);
    if (!chart) {
      if (at && event.pointerType === "mouse" && !tip.contains(event.target) && at.chart !== document.activeElement) leave();
      return;
    }
    if (event.pointerType === "mouse") look(chart, pointUnder(at?.chart === chart ? at.told : read(chart), plotOf(chart), event.clientX));
  });

  document.addEventListener("pointerdown", (event) => {
    const chart = chartOf(event);
    if (!chart) {
      if (!tip.contains(event.target)) leave();
      return;
    }
    if (event.button) return;
    const told = at?.chart === chart ? at.told : read(chart);
    const number = pointUnder(told, plotOf(chart), event.clientX);
    // A finger first shows a point, and scrolls; the tip then leads to the traces.
    if (event.pointerType === "touch") { look(chart, number); return; }
    event.preventDefault();
    look(chart, number, number);
    at.pressed = true;
  });
  document.addEventListener("pointerup", () => {
    if (!at?.pressed) return;
    at.pressed = false;
    open();
  });
  document.addEventListener("pointercancel", leave);

  document.addEventListener("focusin", (event) => {
    const chart = chartOf(event);
    if (chart && at?.chart !== chart) look(chart, read(chart).times.length - 1);
    else if (!chart && !tip.contains(event.target)) leave();
  });
  document.addEventListener("focusout", (event) => { 
    if (chartOf(event) && at && !at.pressed && !tip.contains(event.relatedTarget)) leave();
  });

  const STEPS = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, Home: -Infinity, End: Infinity, PageUp: 5, PageDown: -5 };
  document.addEventListener("keydown", (event) => {
    if (!at || chartOf(event) !== at.chart || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") look(at.chart, at.number);
    else if (event.key === "Enter") open();
    else if (event.key in STEPS) {
      const number = Math.min(at.told.times.length - 1, Math.max(0, at.number + STEPS[event.key]));
      look(at.chart, number, event.shiftKey ? at.from ?? at.number : null);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });

  // A slider says its value at every step, which is what reads a chart aloud.
  function ready() {
    leave();
    for (const chart of document.querySelectorAll("[data-chart]")) {
      const last = read(chart).times.length - 1;
      const values = { role: "slider", tabindex: 0, "aria-valuemin": 0, "aria-valuemax": last, "aria-valuenow": last };
      for (const [name, value] of Object.entries(values)) chart.setAttribute(name, value);
      chart.setAttribute("aria-valuetext", read(chart).times[last]);
      if (help()) chart.setAttribute("aria-describedby", "chart-help");
    }
  }
  ready();
  document.addEventListener("refreshed", ready);
})();
