"use strict";
/* HTML elements from texts; data are never parsed as HTML. */

/* Create an element with attributes, listeners (`onclick`) and children (texts or elements). */
grb.h = function (tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(3).filter((one) => one !== null && one !== undefined && one !== false)
    .map((one) => (one instanceof Node ? one : String(one))));
  return element;
};

grb.count = (n) => Math.round(n).toLocaleString("en-US");
grb.plural = (n, word) => `${grb.count(n)} ${word}${n === 1 ? "" : "s"}`;
grb.number = (x, digits = 3) => (x === null || x === undefined ? "–" : Number(x).toFixed(digits));
grb.interval = (m, shown = (x) => grb.number(x, 2)) => (m.n < 10 ? "" : ` [${shown(m.low)}, ${shown(m.high)}]`);
/* A mean with its interval, and its n if it is smaller than the run's. */
grb.range = (m, n) => `${grb.number(m.mean)}${grb.interval(m)}${m.n === n ? "" : ` (${grb.count(m.n)} of ${grb.count(n)})`}`;

/* Create a labelled select from [value, text] pairs. */
grb.choice = function (label, options, value, changed, id) {
  const select = grb.h("select", { id, onchange: () => changed(select.value) },
    options.map(([key, text]) => grb.h("option", { value: key }, text)));
  select.value = String(value);
  return grb.h("label", { class: "field" }, grb.h("span", {}, label), select);
};

/* Create a sortable table. Columns: {head, cell(row) -> text or element, order(row) -> sort key, text: align left,
   name: at most two lines, spare: hide the column if no row has a value}. */
grb.table = function (caption, all, rows, options = {}) {
  const columns = all.filter((one) => !one.spare || rows.some((row) => one.order(row)));
  const kind = (column) => (column.name ? "text name" : column.text ? "text" : "number");
  let by = options.by ?? null;
  let down = true;
  const body = grb.h("tbody");
  const heads = columns.map((column, place) => grb.h("th",
    { scope: "col", class: kind(column), title: column.about },
    column.order ? grb.h("button", { type: "button", onclick: () => sort(place) }, column.head.split(/(?<=_)/).flatMap((part) => [grb.h("wbr"), part]))
      : column.head));
  function sort(place) {
    down = by === place ? !down : kind(columns[place]) === "number";
    by = place;
    draw();
  }
  function draw() {
    const order = by === null ? rows : [...rows].sort((a, b) => {
      const [x, y] = [columns[by].order(a), columns[by].order(b)];
      const missing = (x === null || x === undefined) - (y === null || y === undefined);
      if (missing) return missing;
      const compared = typeof x === "string" ? x.localeCompare(y) : x - y;
      return down ? -compared : compared;
    });
    heads.forEach((head, place) => {
      if (place === by) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    const wanted = options.filter ? order.filter(options.filter) : order;
    body.replaceChildren(...wanted.map((row) => grb.h("tr", {}, columns.map((column, place) => grb.h(
      place || !options.heads ? "td" : "th",
      { class: kind(column), scope: place || !options.heads ? null : "row" },
      column.name ? grb.h("span", { class: "two", title: column.order(row) }, column.cell(row)) : column.cell(row))))));
  }
  draw();
  const region = grb.h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    grb.h("table", {}, grb.h("caption", {}, caption), grb.h("thead", {}, grb.h("tr", {}, heads)), body));
  region.redraw = draw;
  return region;
};

/* Create a section with a heading. */
grb.section = (title, ...children) => grb.h("section", {}, grb.h("h2", {}, title), ...children);

/* The outcome of a question as [kind, text with a sign]; null if the run answers nothing. */
grb.outcome = function (run, status, right) {
  if (status === "failed") return ["failed", "✕ failed"];
  if (!run.answers) return null;
  if (right === 1) return ["right", "✓ right"];
  if (right === 0) return ["wrong", "✗ wrong"];
  return ["open", status === "answered" ? "○ no gold" : "○ no answer"];
};
grb.outcomeBadge = (outcome) => (outcome ? grb.badge(...outcome) : null);
/* Signs of gold documents by outcome. */
grb.places = { c: ["●", "in the context"], r: ["◐", "retrieved, not in the context"], m: ["○", "missed"] };
grb.badge = (kind, text) => grb.h("span", { class: `badge ${kind}` }, text);
