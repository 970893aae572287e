"use strict";
/* The health of a graph. */
grb.views.health = async function (graphId) {
  const graphs = grb.index.graphs;
  if (!graphs.length) return [grb.section("Graph health", grb.h("p", {}, "No run of this page has a graph that is still at hand."))];
  const chosen = graphs.find((one) => one.id === graphId) || graphs[0];
  const held = await grb.load(chosen.id);
  const users = (one) => [...new Set(one.runs.map((place) => grb.index.runs[place].title))].join(", ");
  const bars = (rows) => grb.plots.bars(rows.map(([label, n]) => ({ label, size: n, text: grb.count(n) })));
  const share = (rows) => grb.plots.bars(rows.map(([k, x]) => ({ label: k === 0 ? "share a node" : `within ${grb.plural(k, "hop")}`, size: x, text: `${grb.number(100 * x, 1)} %` })), 1);
  const card = (title, ...children) => grb.h("div", { class: "card" }, grb.h("h3", {}, title), ...children);
  const listed = (title, list, about) => (list.n ? card(`${title}: ${grb.count(list.n)}`, grb.h("p", { class: "about" }, about),
    grb.h("details", {}, grb.h("summary", {}, list.n > list.first.length ? `the first ${list.first.length}` : "which"), grb.h("ul", {}, list.first.map((one) => grb.h("li", {}, Array.isArray(one) ? one.join(" | ") : one))))) : null);
  const counted = (title, rows, about) => (rows.length ? card(title, about ? grb.h("p", { class: "about" }, about) : null, bars(rows.map(([name, n]) => [name || "(none)", n]))) : null);
  const tiles = { ...held.sizes, orphans: held.orphans.n, "duplicate names": held.twins.n, "chunks without entities": held.bare_chunks.n };
  return [
    grb.section("Graph health", grb.h("div", { class: "fields" }, grb.choice("Graph", graphs.map((one) => [one.id, `${one.name}: ${users(one)}`]), chosen.id, (value) => { location.hash = `#health/${value}`; }, "graph-choice")),
      grb.index.graphs_left_out ? grb.h("p", { class: "about" }, `${grb.plural(grb.index.graphs_left_out, "further graph")} of these runs not looked at: the first ${graphs.length} are.`) : null,
      held.through === "chunks" ? grb.h("p", { class: "about" }, "This graph has no relationships: nodes of one chunk count as joined in all that follows.") : null,
      grb.h("dl", { class: "tiles" }, Object.entries(tiles).map(([name, n]) => grb.h("div", {}, grb.h("dt", {}, name), grb.h("dd", {}, grb.count(n))))),
      grb.h("div", { class: "cards" },
        held.reach?.pairs ? card("Gold pairs in reach", grb.h("p", { class: "about" }, `${grb.plural(held.reach.looked_at, "pair")} of gold documents of one question${held.reach.looked_at < held.reach.pairs ? `, the first of ${grb.count(held.reach.pairs)}` : ""}: share joined by so many ${held.through === "chunks" ? "steps over a shared chunk" : "relationships"}.`), share(held.reach.within)) : null,
        card("Components", grb.h("p", { class: "about" }, `${grb.plural(held.components.n, "connected component")}; the largest has ${grb.number(100 * held.components.share, 1)} % of the nodes. Nodes of the largest:`), bars(held.components.largest.slice(0, 8).map((n, place) => [`${place + 1}.`, n]))),
        counted("Nodes by degree", held.degrees),
        counted("Hubs", held.hubs.slice(0, 12), "Nodes by the number of nodes that they are joined to."),
        counted("Types of nodes", held.types), counted("Names of relationships", held.relations),
        listed("Orphans", held.orphans, "Nodes that are joined to no other."),
        listed("Duplicate names", held.twins, `Groups of names that are the same without articles, brackets, accents and possessives: ${grb.plural(held.twins.nodes, "node")}.`),
        listed("Chunks without entities", held.bare_chunks, "Chunks that no node is from."))),
  ];
};
