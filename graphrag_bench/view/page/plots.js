"use strict";
/* Plots by Plotly, loaded on first use. */
grb.colours = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8A7A00", "#777777"];
const SYMBOLS = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x", "star", "hexagon"];
const HATCHES = ["", "/", ".", "x"];
const LETTER = 7, KEY = 52, ROW = 19, AXIS = 64; /* pixels of a letter, a legend symbol, a legend row, the x axis */

/* Escape a text for Plotly, which parses tags and entities. */
const shown = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const cutTo = (text, n) => (text.length > n ? `${text.slice(0, n - 1)}…` : text);

/* Cut titles to `least` letters, or to where each differs from all others. */
grb.labels = function (titles, least = 28) {
  const alike = (title, n) => titles.some((one) => one !== title && one.slice(0, n) === title.slice(0, n));
  return titles.map((title) => {
    let n = least;
    while (n < title.length && alike(title, n - 1)) n += 1;
    return cutTo(title, n);
  });
};

grb.plots = {};
/* The colour of a series by its position. */
grb.plots.colour = (place) => grb.colours[place % grb.colours.length];

/* Markers of runs {title, set}: colour by title, symbol by data set. */
function marksOf(rows) {
  const [titles, sets] = ["title", "set"].map((name) => [...new Set(rows.map((one) => one[name]))]);
  const labels = grb.labels(titles).map(shown);
  const marks = rows.map(({ title, set }) => {
    const [place, sign] = [titles.indexOf(title), sets.indexOf(set)];
    const open = place >= grb.colours.length ? "-open" : "";
    return { label: labels[place], set: shown(set), color: grb.plots.colour(place), symbol: SYMBOLS[sign % SYMBOLS.length] + open };
  });
  return { marks, titles, sets };
}

function paint() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  return { text: of("--text"), back: of("--back"), raised: of("--raised"), line: of("--line"), edge: of("--edge") };
}

/* Add the colours of the page to a layout. */
function themed(layout) {
  const { text, back, raised, line, edge } = paint();
  const axis = (options) => ({ gridcolor: line, linecolor: edge, zerolinecolor: edge, automargin: true, ...options, title: { text: shown(options.title || ""), standoff: 8 } });
  return {
    font: { family: "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif", size: 13, color: text },
    paper_bgcolor: back, plot_bgcolor: back, hoverlabel: { bgcolor: raised, bordercolor: edge, font: { color: text }, align: "left" },
    margin: { l: 8, r: 8, t: 8, b: 8 }, dragmode: false, hovermode: "closest", ...layout,
    legend: { orientation: "h", yanchor: "top", traceorder: "normal", ...layout.legend }, xaxis: axis(layout.xaxis), yaxis: axis(layout.yaxis),
  };
}

/* Plot traces; the axes are `inside` pixels high, `description` is for screen readers. */
function plot(traces, layout, inside, description) {
  const element = grb.h("div", { class: "plot", role: "img", "aria-label": description });
  const longest = Math.max(...traces.map((one) => one.name.length));
  const draw = async () => {
    await grb.script("vendor/plotly-basic.min.js");
    if (!element.isConnected) return;
    const columns = Math.max(1, Math.floor((element.clientWidth - KEY) / (longest * LETTER + KEY)));
    const height = inside + AXIS + ROW * Math.ceil(traces.length / columns);
    const options = themed({ height, showlegend: true, ...layout, legend: { y: -AXIS / inside } });
    await Plotly.react(element, traces, options, { displayModeBar: false, responsive: true, doubleClick: false });
    element.dataset.drawn = String(traces.length);
  };
  element.redraw = () => draw().catch(grb.complain);
  requestAnimationFrame(element.redraw);
  return element;
}

/* Redraw all plots in the colours of the theme. */
grb.plots.repaint = () => { for (const one of document.querySelectorAll(".plot")) one.redraw(); };

/* Plot points [{title, set, x, y, low, high, n}] with intervals. */
grb.plots.scatter = function (points, xLabel, yLabel) {
  const { marks, titles, sets } = marksOf(points);
  const traces = points.map((one, place) => ({
    type: "scatter", mode: "markers", name: marks[place].label, x: [one.x], y: [one.y], hoverinfo: "text",
    legendgroup: marks[place].label, showlegend: points.findIndex(({ title }) => title === one.title) === place,
    hovertext: [shown(`${one.title}${sets.length > 1 ? ` on ${one.set}` : ""}: ${yLabel} ${grb.number(one.y)}${grb.interval(one)}, ${grb.count(one.x)} ${xLabel}`)],
    error_y: { visible: one.n >= 10, type: "data", symmetric: false, array: [one.high - one.y], arrayminus: [one.y - one.low], thickness: 1.5, width: 5 },
    marker: { color: marks[place].color, symbol: marks[place].symbol, size: 12 },
  }));
  const signs = sets.length > 1 ? sets.map((set, place) => ({
    type: "scatter", mode: "markers", name: shown(cutTo(set, 28)), x: [null], y: [null], marker: { color: paint().edge, symbol: SYMBOLS[place % SYMBOLS.length], size: 12 },
  })) : [];
  return plot([...traces, ...signs], { xaxis: { title: xLabel }, yaxis: { title: yLabel } }, 300,
    `${yLabel} against ${xLabel} of ${grb.plural(titles.length, "method")}; the table above has the values`);
};

/* Plot lines [{title, set, values: [{size, text} or null at each step]}]; earlier lines are wider, so that equal lines
   are visible. */
grb.plots.lines = function (steps, series, yLabel, description) {
  const { marks, sets } = marksOf(series);
  const traces = series.map((one, place) => ({
    type: "scatter", mode: "lines+markers", cliponaxis: false, name: marks[place].label + (sets.length > 1 ? `, ${marks[place].set}` : ""), x: steps.map(shown), ...valuesOf(one, "y"), connectgaps: true,
    line: { color: marks[place].color, width: 2 + Math.min(6, 2 * (series.length - 1 - place)) }, marker: { color: marks[place].color, symbol: marks[place].symbol, size: 9 },
  }));
  return plot(traces, { xaxis: { type: "category", range: [-0.3, steps.length - 0.7] }, yaxis: { title: yLabel, range: [-2, 104] } }, 300, description);
};

/* Plot stacked horizontal bars; `series` as in lines, one value per row. */
grb.plots.stacked = function (rows, series, xLabel, description) {
  const traces = series.map((one) => ({
    type: "bar", orientation: "h", name: shown(cutTo(one.name, 28)), y: rows.map((_, place) => place), ...valuesOf(one, "x"), textposition: "none",
    marker: { color: grb.plots.colour(one.place), pattern: { shape: HATCHES[one.place % HATCHES.length], fillmode: "overlay", fgcolor: "#ffffff", size: 6 } },
  }));
  const labels = grb.labels(rows).map(shown);
  return plot(traces, { barmode: "stack", bargap: 0.3, xaxis: { title: xLabel, rangemode: "tozero" },
    yaxis: { tickmode: "array", tickvals: rows.map((_, place) => place), ticktext: labels, range: [rows.length - 0.5, -0.5], ticklabelstandoff: LETTER } }, 30 * rows.length, description);
};

const valuesOf = (one, axis) => ({ [axis]: one.values.map((value) => value?.size ?? null), hoverinfo: "text", hovertext: one.values.map((value) => shown(value?.text ?? "")) });
