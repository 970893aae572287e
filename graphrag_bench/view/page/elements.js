"use strict";
/* Elements made of texts: nothing that comes from data is ever read as HTML. */

/* An element with attributes, listeners (`onclick`) and children (texts or elements). */
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
/* A mean with its interval and, of fewer questions than the run has, its n. */
grb.range = (m, n) => `${grb.number(m.mean)}${grb.interval(m)}${m.n === n ? "" : ` (${grb.count(m.n)} of ${grb.count(n)})`}`;

/* A labelled choice of [value, text] pairs. */
grb.choice = function (label, options, value, changed, id) {
  const select = grb.h("select", { id, onchange: () => changed(select.value) },
    options.map(([held, text]) => grb.h("option", { value: held }, text)));
  select.value = String(value);
  return grb.h("label", { class: "field" }, grb.h("span", {}, label), select);
};

/* Columns: {head, cell(row) -> text or element, order(row) -> number or text, text: flush left, name: two lines at most,
   spare: not shown where no row has a value}. */
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
      const said = typeof x === "string" ? x.localeCompare(y) : x - y;
      return down ? -said : said;
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
  const made = grb.h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    grb.h("table", {}, grb.h("caption", {}, caption), grb.h("thead", {}, grb.h("tr", {}, heads)), body));
  made.redraw = draw;
  return made;
};

/* A heading, with what it holds below it. */
grb.section = (title, ...children) => grb.h("section", {}, grb.h("h2", {}, title), ...children);

/* Signs and words for what became of a question, null where nothing was to be answered; never colour alone. */
grb.outcome = function (run, status, right) {
  if (status === "failed") return ["failed", "✕ failed"];
  if (!run.answers) return null;
  if (right === 1) return ["right", "✓ right"];
  if (right === 0) return ["wrong", "✗ wrong"];
  return ["open", status === "answered" ? "○ no gold" : "○ no answer"];
};
grb.outcomeBadge = (outcome) => (outcome ? grb.badge(...outcome) : null);
/* Signs of gold evidence by its place. */
grb.fates = { c: ["●", "in the context"], r: ["◐", "retrieved, not in the context"], m: ["○", "missed"] };
grb.badge = (kind, text) => grb.h("span", { class: `badge ${kind}` }, text);
