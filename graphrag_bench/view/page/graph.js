"use strict";
/* The graph of an answer: a drawing by Cytoscape, and a list of its nodes. */
const INK = { seed: "#E69F00", found: "#0072B2", other: "#999999", chunk: "#56B4E9", gold: "#009E73", answer: "#CC79A7", path: "#D55E00", route: "#8A7A00" };

const NODE_FONT = 11, NAME_WIDTH = 150;
const MOST_SCALE = 1.5; /* largest scale of a small drawing */
const FIRST_NODES = 40, FIRST_PATHS = 5; /* drawn first, the others on demand */

function pagePaint() {
  const style = getComputedStyle(document.documentElement);
  return { text: style.getPropertyValue("--text").trim(), back: style.getPropertyValue("--back").trim(), line: style.getPropertyValue("--edge").trim() };
}

function kindOf(node) {
  if (node.kind === "chunk") return "chunk";
  return node.seed ? "seed" : node.found ? "found" : "other";
}

function roles(node) {
  return [node.kind === "chunk" ? "chunk" : node.type || "node", node.seed ? "seed" : "", node.gold ? "gold evidence" : "",
    node.answer ? "named as the gold answer" : "", node.score !== undefined ? `score ${grb.number(node.score, 4)}` : "",
    node.found || node.kind !== "chunk" ? "" : "not retrieved"].filter(Boolean).join(", ");
}

/* Start positions on a spiral, so that the layout is deterministic. */
function spiral(n) {
  return Array.from({ length: n }, (_, place) => {
    const [angle, radius] = [place * 2.399963, 36 * Math.sqrt(place + 0.5)];
    return { x: radius * Math.cos(angle), y: radius * Math.sin(angle) };
  });
}

function graphStyle(beside, width) {
  const paint = pagePaint();
  return [
    { selector: "node", style: { "background-color": INK.other, label: "", width: "data(size)", height: "data(size)", color: paint.text, "font-size": NODE_FONT, "text-outline-color": paint.back, "text-outline-width": 2, "text-valign": beside ? "center" : "bottom", "text-halign": beside ? "right" : "center", "text-margin-x": beside ? 4 : 0, "text-margin-y": beside ? 0 : 3, "text-max-width": width, "text-wrap": "ellipsis", "min-zoomed-font-size": 7 } },
    { selector: "node.named", style: { label: "data(label)" } },
    { selector: "node.found", style: { "background-color": INK.found } },
    { selector: "node.seed", style: { "background-color": INK.seed, shape: "diamond" } },
    { selector: "node.chunk", style: { "background-color": INK.chunk, shape: "round-rectangle", height: 14 } },
    { selector: "node.missed", style: { "background-opacity": 0.25, "border-style": "dashed" } },
    { selector: "node.gold", style: { "border-width": 4, "border-color": INK.gold } },
    { selector: "node.answer", style: { "border-width": 5, "border-color": INK.answer, "border-style": "double" } },
    { selector: "edge", style: { width: 1, "line-color": paint.line, "curve-style": "bezier", opacity: 0.6 } },
    { selector: "edge.found", style: { width: 2, "line-color": INK.found, "target-arrow-color": INK.found, "target-arrow-shape": "triangle", opacity: 0.9 } },
    { selector: "edge.walk", style: { width: 2.5, "line-color": paint.text, opacity: 0.75 } },
    { selector: "edge.synonym", style: { "line-style": "dotted" } },
    { selector: "edge.in", style: { "line-style": "dashed" } },
    { selector: "edge.route", style: { width: 2, "line-color": INK.route, "target-arrow-color": INK.route, "target-arrow-shape": "triangle", "curve-style": "unbundled-bezier", "control-point-distances": [-45], "control-point-weights": [0.5], opacity: 0.9 } },
    { selector: "edge.path", style: { width: 4, "line-color": INK.path, "target-arrow-color": INK.path, opacity: 1 } },
    { selector: "node.onpath", style: { "underlay-color": INK.path, "underlay-opacity": 0.35, "underlay-padding": 5 } },
    { selector: ".faded", style: { opacity: 0.12 } },
    { selector: "node.chosen", style: { label: "data(label)", "underlay-color": paint.text, "underlay-opacity": 0.3, "underlay-padding": 6, "z-index": 9 } },
    { selector: "node.near", style: { label: "data(label)" } },
    { selector: "edge.near", style: { opacity: 1, label: "data(label)", "font-size": 10, color: paint.text, "text-outline-color": paint.back, "text-outline-width": 2, "text-rotation": "autorotate" } },
  ];
}

/* The first nodes with the edges between them, without nodes that only later nodes connect. */
function firstOf(graph, most) {
  const [first, joined] = [new Set(graph.nodes.slice(0, most).map((one) => one.id)), new Set(graph.edges.flatMap((one) => [one.s, one.t]))];
  const edges = graph.edges.filter((one) => first.has(one.s) && first.has(one.t));
  const ends = new Set(edges.flatMap((one) => [one.s, one.t]));
  return { edges, paths: graph.paths, nodes: graph.nodes.filter((one) => first.has(one.id) && (ends.has(one.id) || !joined.has(one.id))) };
}

function graphElements({ nodes, edges }) {
  const most = Math.max(...nodes.map((one) => (one.kind === "chunk" ? 0 : one.score || 0)), 1e-9);
  const start = spiral(nodes.length);
  return [...nodes.map((one, place) => ({
    data: { id: one.id, label: one.label, size: one.kind === "chunk" ? 26 : 14 + 22 * Math.sqrt(Math.max(0, one.score || 0) / most) },
    position: { ...start[place] },
    classes: ["named", kindOf(one), one.gold ? "gold" : "", one.answer ? "answer" : "", one.kind === "chunk" && !one.found ? "missed" : ""].join(" "),
  })), ...edges.map((one) => ({
    data: { id: one.id, source: one.s, target: one.t, label: one.label || "" },
    classes: [one.found ? "found" : "", one.walk ? "walk" : "", one.synonym ? "synonym" : "", one.in ? "in" : "", one.route ? "route" : ""].join(" "),
  }))];
}

/* Force-directed with paths; else seeds on the left, then hop by hop. */
function layoutOf({ nodes, paths }) {
  if (paths.length) return { name: "cose", randomize: false, animate: false, nodeRepulsion: () => 9000, idealEdgeLength: () => 70, nodeOverlap: 14, componentSpacing: 60, numIter: 900 };
  return { name: "breadthfirst", roots: nodes.filter((one) => one.seed).map((one) => one.id), direction: "rightward", animate: false };
}

/* Spread the positions of the nodes over a width and a height; nodes and labels keep their size. */
function fill(cy, width, height) {
  for (const [axis, size] of [["x", width], ["y", height]]) {
    const places = cy.nodes().map((one) => one.position(axis));
    const scale = Math.min(MOST_SCALE, size / (Math.max(...places) - Math.min(...places) || 1));
    cy.nodes().positions((one) => ({ ...one.position(), [axis]: scale * one.position(axis) }));
  }
  cy.fit(undefined, 24);
  if (cy.zoom() > 1) cy.zoom(1).center();
}

/* Hide labels that overlap a node or an earlier label. */
function nameApart(cy) {
  const box = (one, what) => one.boundingBox({ includeNodes: false, includeLabels: false, includeEdges: false, includeOverlays: false, includeUnderlays: false, ...what });
  const taken = cy.nodes().map((one) => [one.id(), box(one, { includeNodes: true })]);
  for (const node of cy.nodes()) {
    const name = box(node, { includeLabels: true });
    if (taken.some(([id, one]) => id !== node.id() && one.x1 < name.x2 && name.x1 < one.x2 && one.y1 < name.y2 && name.y1 < one.y2)) node.removeClass("named");
    else taken.push([null, name]);
  }
}

function legendOf(graph) {
  const has = (test) => graph.nodes.some(test);
  const rows = [
    has((one) => one.seed) && ["◆", "seed", "seed: found by the first step"], has((one) => kindOf(one) === "found") && ["●", "found", "node found by a step"],
    has((one) => kindOf(one) === "other") && ["●", "other", "on a walk or a path, or in gold evidence"], has((one) => one.kind === "chunk") && ["■", "chunk", "chunk (dashed: not retrieved)"],
    has((one) => one.gold) && ["◯", "gold", "gold evidence, or mentioned in it"], has((one) => one.answer) && ["◎", "answer", "named as the gold answer"],
    graph.edges.some((one) => one.walk) && ["━", "walk", "most probable walk from a seed"], graph.edges.some((one) => one.found) && ["→", "found", "relationship found by a step"],
    graph.edges.some((one) => one.in) && ["┄", "other", "the chunk mentions the node"], graph.edges.some((one) => one.route) && ["→", "route", "route: a sentence of the chunk names the other chunk"], graph.paths.length && ["━", "path", "selected path"],
  ].filter(Boolean);
  return grb.h("ul", { class: "legend" }, rows.map(([sign, kind, text]) => grb.h("li", {}, grb.h("span", { class: `sign ${kind}`, "aria-hidden": "true" }, sign), text)),
    graph.size ? grb.h("li", {}, `size: score by ${graph.size}${/ppr$/.test(graph.size) ? " (PageRank mass)" : ""}`) : null);
}

/* The drawing of a question's graph with legend, paths and a list of nodes; `name` is its element id. */
grb.answerGraph = function (graph, name = "graph") {
  if (!graph?.edges.length) return grb.h("p", { class: "about" }, "The steps of this question found no part of a graph.");
  const byId = new Map(graph.nodes.map((one) => [one.id, one]));
  const edges = new Map(graph.edges.map((one) => [one.id, one]));
  const canvas = grb.h("div", { class: "canvas", id: name, role: "img", "aria-label": `Graph of ${graph.nodes.length} nodes; all are in the list` });
  const tip = grb.h("div", { class: "tip", id: `${name}-tip`, hidden: true });
  const about = grb.h("div", { id: `${name}-about`, "aria-live": "polite" }, grb.h("p", { class: "about" }, "Select a node in the drawing or in the list to see its text and neighbours. Escape clears the selection."));
  let cy = null;
  let shown = firstOf(graph, FIRST_NODES);

  const joined = (id) => graph.edges.filter((one) => one.s === id || one.t === id);
  function choose(id) {
    const node = byId.get(id);
    if (node && !shown.nodes.includes(node)) drawAll();
    canvas.dataset.chosen = id || "";
    if (cy) {
      cy.elements().removeClass("chosen near faded");
      if (node) {
        const near = cy.getElementById(id).closedNeighborhood();
        cy.elements().difference(near).addClass("faded");
        near.addClass("near");
        cy.getElementById(id).addClass("chosen");
      }
    }
    if (!node) return about.replaceChildren(grb.h("p", { class: "about" }, "Nothing selected."));
    about.replaceChildren(...[grb.h("h4", {}, node.label), grb.h("p", { class: "about" }, roles(node)),
      node.documents ? grb.h("p", { class: "about" }, `documents: ${node.documents.join(", ")}`) : null,
      node.text ? grb.h("p", { class: "text" }, node.text) : null,
      grb.h("h4", {}, grb.plural(joined(id).length, "neighbour")),
      grb.h("ul", { class: "neighbours" }, joined(id).map((edge) => {
        const there = edge.s === id ? edge.t : edge.s;
        return grb.h("li", {}, edge.in ? "in " : edge.s === id ? `—${edge.label}→ ` : `←${edge.label}— `,
          grb.h("button", { type: "button", class: "link", onclick: () => choose(there) }, byId.get(there).label));
      }))].filter(Boolean));
  }

  function hover(event, text) {
    tip.replaceChildren(...text.filter(Boolean).map((line, place) => grb.h(place ? "p" : "strong", {}, line)));
    const at = event.renderedPosition || event.target.renderedPosition();
    tip.style.left = `${Math.min(at.x + 12, Math.max(0, canvas.clientWidth - 260))}px`;
    tip.style.top = `${at.y + 12}px`;
    tip.hidden = false;
  }

  async function draw() {
    await grb.script("vendor/cytoscape.min.js");
    if (!canvas.isConnected) return;
    if (cy) cy.destroy();
    const width = Math.min(NAME_WIDTH, canvas.clientWidth / 4);
    cy = cytoscape({ container: canvas, elements: graphElements(shown), style: graphStyle(!graph.paths.length, width), layout: { name: "preset" }, minZoom: 0.1, maxZoom: 4 });
    cy.elements("node, edge.walk, edge.found").layout(layoutOf(shown)).run();
    fill(cy, canvas.clientWidth - 80 - (graph.paths.length ? 0 : width), canvas.clientHeight - 80);
    nameApart(cy);
    cy.on("mouseover", "node", (event) => { const node = byId.get(event.target.id()); hover(event, [node.label, roles(node), node.text]); });
    cy.on("mouseover", "edge", (event) => { const edge = edges.get(event.target.id()); hover(event, [edge.in ? "is in this chunk" : `${byId.get(edge.s).label} —${edge.label}→ ${byId.get(edge.t).label}`, edge.text]); });
    cy.on("mouseout", () => { tip.hidden = true; });
    cy.on("tap", "node", (event) => choose(event.target.id()));
    cy.on("tap", (event) => { if (event.target === cy) choose(null); });
    light();
    canvas.dataset.drawn = String(cy.nodes().length);
    grb.drawing = cy;
    const repaint = grb.repaint;
    grb.repaint = () => { if (repaint) repaint(); cy.style(graphStyle(!graph.paths.length, width)); };
  }

  const switches = graph.paths.map((path, number) => grb.h("label", { class: "switch" },
    grb.h("input", { type: "checkbox", checked: number < FIRST_PATHS, onchange: light }),
    `${number + 1}. ${path.nodes.map((id) => byId.get(id)?.label || id).join(" – ")}${path.score === undefined ? "" : ` (${grb.number(path.score, 3)})`}`));
  function light() {
    if (!cy) return;
    cy.elements().removeClass("path onpath");
    switches.forEach((one, number) => {
      if (!one.firstChild.checked) return;
      for (const id of graph.paths[number].nodes) cy.getElementById(id).addClass("onpath");
      for (const id of graph.paths[number].edges) cy.getElementById(id).addClass("path");
    });
    canvas.dataset.paths = String(switches.filter((one) => one.firstChild.checked).length);
  }
  const all = (on) => { if (on) drawAll(); for (const one of switches) one.firstChild.checked = on; light(); };
  const paths = switches.length ? grb.h("details", { class: "paths", open: true }, grb.h("summary", {}, grb.plural(switches.length, "path")),
    grb.h("button", { type: "button", onclick: () => all(true) }, "all on"), grb.h("button", { type: "button", onclick: () => all(false) }, "all off"), switches) : null;

  const routes = graph.edges.filter((one) => one.route);
  const routed = routes.length ? grb.h("details", {}, grb.h("summary", {}, grb.plural(routes.length, "route")),
    grb.h("ul", {}, routes.map((one) => grb.h("li", {}, `${byId.get(one.s).label} → ${byId.get(one.t).label}: ${one.text}`)))) : null;
  const order = [...graph.nodes].sort((a, b) => Boolean(b.seed) - Boolean(a.seed) || (b.score ?? -1) - (a.score ?? -1));
  const list = grb.h("details", { class: "nodes" }, grb.h("summary", {}, `${grb.plural(graph.nodes.length, "node")} as a list`),
    grb.h("ul", {}, order.map((one) => grb.h("li", {}, grb.h("button", { type: "button", class: "link", onclick: () => choose(one.id) }, one.label), grb.h("span", { class: "about" }, ` ${roles(one)}`)))));
  const zoom = (factor) => cy && cy.zoom({ level: cy.zoom() * factor, renderedPosition: { x: canvas.clientWidth / 2, y: canvas.clientHeight / 2 } });
  const left = [graph.unconnected.length ? `${grb.plural(graph.unconnected.length, "found node")} not connected: ${graph.unconnected.slice(0, 12).join(", ")}${graph.unconnected.length > 12 ? ", …" : ""}` : "",
    graph.left_out ? `${grb.plural(graph.left_out, "further node")} not drawn` : "", graph.paths_left_out ? `${grb.plural(graph.paths_left_out, "further path")} not drawn` : ""].filter(Boolean);
  const rest = graph.nodes.length - shown.nodes.length;
  const more = rest ? grb.h("button", { type: "button", class: "more", onclick: () => drawAll() }, `${grb.count(rest)} more`) : null;
  function drawAll() {
    shown = graph;
    if (more) more.remove();
    draw().catch(grb.complain);
  }
  const whole = grb.h("div", { class: "graph", onkeydown: (event) => { if (event.key === "Escape" && canvas.dataset.chosen) { choose(null); event.stopPropagation(); } } },
    legendOf(graph), left.length ? grb.h("p", { class: "about" }, left.join("; ")) : null,
    grb.h("div", { class: "graph-body" },
      grb.h("div", { class: "stage" }, canvas, tip, grb.h("div", { class: "fields" },
        grb.h("button", { type: "button", "aria-label": "zoom in", onclick: () => zoom(1.3) }, "+"), grb.h("button", { type: "button", "aria-label": "zoom out", onclick: () => zoom(1 / 1.3) }, "−"), grb.h("button", { type: "button", onclick: () => cy && cy.fit(undefined, 24) }, "fit"), more)),
      grb.h("div", { class: "side" }, about, paths, routed, list)));
  requestAnimationFrame(() => draw().catch(grb.complain));
  return whole;
};
