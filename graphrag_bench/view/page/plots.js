"use strict";
/* Plots as SVG: a scatter with intervals, and bars; each mark has its text as a title. */
grb.plots = {};
grb.colours = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8A7A00", "#777777"];
const MARKS = [
  (r) => `M${-r} 0A${r} ${r} 0 1 0 ${r} 0A${r} ${r} 0 1 0 ${-r} 0Z`,
  (r) => `M${-r} ${-r}H${r}V${r}H${-r}Z`,
  (r) => `M0 ${-1.3 * r}L${1.2 * r} ${r}H${-1.2 * r}Z`,
  (r) => `M0 ${-1.4 * r}L${1.4 * r} 0L0 ${1.4 * r}L${-1.4 * r} 0Z`,
  (r) => `M0 ${1.3 * r}L${1.2 * r} ${-r}H${-1.2 * r}Z`,
];

function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.flat(2));
  return element;
}

/* Round steps between two values. */
function ticks(low, high, n = 5) {
  const raw = (high - low) / n || 1;
  const size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((one) => one * size >= raw) * size;
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step / 1e6; at += step) found.push(at);
  return found.map((one) => Number(one.toPrecision(10)));
}

grb.mark = function (place, size = 6) {
  return svg("path", {
    d: MARKS[place % MARKS.length](size), fill: grb.colours[place % grb.colours.length],
    class: "mark",
  });
};

/* points: [{place, label, x, y, low, high}]; y is shown from 0 to 1 or more. */
grb.plots.scatter = function (points, xLabel, yLabel) {
  const [width, height, left, right, top, bottom] = [640, 360, 56, 16, 16, 48];
  const xMax = Math.max(1, ...points.map((one) => one.x)) * 1.06;
  const yMax = Math.max(1, ...points.map((one) => one.high)) * 1.04;
  const x = (value) => left + (value / xMax) * (width - left - right);
  const y = (value) => height - bottom - (value / yMax) * (height - top - bottom);
  const drawn = svg("svg", {
    viewBox: `0 0 ${width} ${height}`, role: "img", class: "plot",
    "aria-label": `${yLabel} against ${xLabel}; the table above has the values`,
  });
  for (const at of ticks(0, yMax)) {
    drawn.append(svg("line", { x1: left, x2: width - right, y1: y(at), y2: y(at), class: "grid" }),
      svg("text", { x: left - 8, y: y(at) + 4, "text-anchor": "end" }, String(at)));
  }
  for (const at of ticks(0, xMax)) {
    drawn.append(svg("line", { x1: x(at), x2: x(at), y1: height - bottom, y2: height - bottom + 5, class: "axis" }),
      svg("text", { x: x(at), y: height - bottom + 20, "text-anchor": "middle" }, grb.count(at)));
  }
  drawn.append(svg("line", { x1: left, x2: width - right, y1: height - bottom, y2: height - bottom, class: "axis" }),
    svg("text", { x: (left + width) / 2, y: height - 8, "text-anchor": "middle", class: "title" }, xLabel),
    svg("text", { x: 14, y: height / 2 - 12, "text-anchor": "middle", class: "title", transform: `rotate(-90 14 ${height / 2 - 12})` }, yLabel));
  for (const one of points) {
    const mark = grb.mark(one.place, 7);
    const colour = mark.getAttribute("fill");
    const said = `${one.label}: ${yLabel} ${grb.number(one.y)} [${grb.number(one.low, 2)}, ${grb.number(one.high, 2)}], ${grb.count(one.x)} ${xLabel}`;
    const group = svg("g", { transform: `translate(${x(one.x)} 0)`, class: "point", tabindex: "0", role: "img", "aria-label": said },
      svg("title", {}, said),
      svg("line", { x1: 0, x2: 0, y1: y(one.low), y2: y(one.high), stroke: colour, "stroke-width": 2 }),
      [one.low, one.high].map((at) => svg("line", { x1: -5, x2: 5, y1: y(at), y2: y(at), stroke: colour, "stroke-width": 2 })));
    mark.setAttribute("transform", `translate(0 ${y(one.y)})`);
    group.append(mark);
    drawn.append(group);
  }
  const legend = grb.h("ul", { class: "legend" }, points.map((one) => grb.h("li", {},
    svg("svg", { viewBox: "-12 -12 24 24", class: "key", "aria-hidden": "true" }, grb.mark(one.place, 8)),
    one.label)));
  return grb.h("div", {}, drawn, legend);
};

/* rows: [{label, parts: [{size, kind, said}], text}]: horizontal bars of one scale. */
grb.plots.bars = function (rows, total) {
  const whole = total || Math.max(1, ...rows.map((row) => row.parts.reduce((sum, one) => sum + one.size, 0)));
  return grb.h("div", { class: "bars", role: "list" }, rows.map((row) => {
    const bar = svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", class: "bar", "aria-hidden": "true" });
    let at = 0;
    for (const part of row.parts) {
      const size = (100 * part.size) / whole;
      if (size > 0) {
        bar.append(svg("rect", { x: at, y: 0, width: Math.max(size, 0.4), height: 10, class: `part ${part.kind}` },
          svg("title", {}, part.said || "")));
      }
      at += size;
    }
    return grb.h("div", { class: "bar-row", role: "listitem" }, grb.h("span", { class: "bar-label" }, row.label), bar,
      grb.h("span", { class: "bar-text" }, row.text));
  }));
};
