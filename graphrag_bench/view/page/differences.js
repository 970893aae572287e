"use strict";
/* Two runs compared: paired differences, steps, settings, flipped questions, evidence. */
const FLIPS_SHOWN = 100;

/* The operators of a run by place, with their settings: {place: {op, settings: {name: value}}}. */
function stepsOf(run) {
  const found = new Map();
  for (const [path, value] of Object.entries(run.settings)) {
    const match = /^method\.((?:convert|retrieve|generate)\..*)\.op$/.exec(path);
    if (match && (run.answers || !value.startsWith("answer."))) found.set(match[1], { op: value, settings: {} });
  }
  for (const [path, value] of Object.entries(run.settings)) {
    const inside = [...found.keys()].filter((place) => path.startsWith(`method.${place}.`)).sort((a, b) => b.length - a.length)[0];
    if (inside && !path.endsWith(".op")) found.get(inside).settings[path.slice(`method.${inside}.`.length)] = value;
  }
  return found;
}

function stepRows(first, second) {
  const [a, b] = [stepsOf(first), stepsOf(second)];
  const stages = ["convert", "retrieve", "generate"];
  const order = (place) => [stages.indexOf(place.split(".")[0]), place];
  const places = [...new Set([...a.keys(), ...b.keys()])].sort((x, y) => {
    const [p, q] = [order(x), order(y)];
    return p[0] - q[0] || p[1].localeCompare(q[1], "en", { numeric: true });
  });
  return places.map((place) => {
    const [one, two] = [a.get(place), b.get(place)];
    const names = [...new Set([...Object.keys(one?.settings || {}), ...Object.keys(two?.settings || {})])].sort();
    const changed = one && two && one.op === two.op ? names.filter((name) => one.settings[name] !== two.settings[name])
      .map((name) => `${name}: ${one.settings[name] ?? "–"} → ${two.settings[name] ?? "–"}`) : [];
    const state = !one ? "only B" : !two ? "only A" : one.op !== two.op ? "another operator" : changed.length ? "other settings" : "same";
    return { place, a: one?.op ?? "–", b: two?.op ?? "–", state, changed: changed.join("; ") };
  });
}

/* Gold documents in the context of only one run. */
function evidenceRows(a, b, set) {
  const rows = { gained: [], lost: [] };
  for (const [place, at] of a.list.at.entries()) {
    const there = b.list.placeOf.get(at);
    if (there === undefined) continue;
    set.evidence[at].forEach((name, n) => {
      const [one, two] = [a.list.evidence[place][n] === "c", b.list.evidence[there][n] === "c"];
      if (one !== two) rows[two ? "gained" : "lost"].push({ place, at, name });
    });
  }
  return rows;
}

grb.flips = function (a, b, metric) {
  const found = { b: [], a: [], same: 0, n: 0 };
  for (const [place, at] of a.list.at.entries()) {
    const there = b.list.placeOf.get(at);
    const winner = there === undefined ? null : grb.winner(a.list.scores[metric]?.[place], b.list.scores[metric]?.[there]);
    if (winner === null) continue;
    found.n += 1;
    if (winner === "same") found.same += 1;
    else found[winner].push({ place, at });
  }
  return found;
};

grb.views.diff = async function (aId, bId, metricAsked) {
  const runs = grb.index.runs;
  const peersOf = (run) => runs.filter((one) => one.set === run.set && one !== run);
  const able = runs.filter((run) => peersOf(run).length);
  if (!able.length) return [grb.section("Method diff", grb.h("p", {}, "A diff needs two runs over the same questions: graphrag-bench view RUN RUN --out FOLDER."))];
  const a = able.find((one) => one.id === aId) || able[0];
  const b = peersOf(a).find((one) => one.id === bId) || peersOf(a)[0];
  const [loadedA, loadedB] = await Promise.all([grb.listOf(a), grb.listOf(b)]);
  const { set } = loadedA;
  const go = (x, y, metric) => { location.hash = `#diff/${x}/${y}${metric ? `/${encodeURIComponent(metric)}` : ""}`; };
  const shared = Object.keys(loadedA.list.scores).filter((one) => one in loadedB.list.scores);
  const metric = shared.includes(metricAsked) ? metricAsked : shared[0];
  const place = (run) => runs.indexOf(run);
  const pair = grb.index.pairs.find((one) => (one.a === place(a) && one.b === place(b)) || (one.a === place(b) && one.b === place(a)));
  const sign = pair && pair.a === place(a) ? 1 : -1;
  const differences = pair ? grb.table("B − A over common questions; paired 95 % bootstrap interval; p of a permutation test, not corrected", [
    { head: "metric", text: true, cell: (row) => row.metric }, { head: "n", cell: (row) => row.n },
    { head: "A", cell: (row) => grb.number(sign > 0 ? row.first : row.second) }, { head: "B", cell: (row) => grb.number(sign > 0 ? row.second : row.first) },
    { head: "B − A [95 %]", cell: (row) => { const [low, high] = sign > 0 ? [row.low, row.high] : [-row.high, -row.low]; const s = (x) => `${x < 0 ? "−" : "+"}${grb.number(Math.abs(x))}`; return `${s(sign * row.mean)}${grb.interval({ low, high, n: row.n }, s)}`; } },
    { head: "p", cell: (row) => (row.p < 0.0001 ? "<0.0001" : grb.number(row.p, 4)) },
    { head: "B higher", cell: (row) => (sign > 0 ? row.wins : row.losses) }, { head: "same", cell: (row) => row.ties }, { head: "A higher", cell: (row) => (sign > 0 ? row.losses : row.wins) },
  ], pair.differences, { heads: true }) : grb.h("p", { class: "about" }, "The runs have different versions of the corpus and are not paired.");
  const steps = stepRows(a, b);
  const stepSettings = /^method\.(convert|retrieve|generate)\./;
  const settings = [...new Set([...Object.keys(a.settings), ...Object.keys(b.settings)])].sort().filter((path) => !stepSettings.test(path) && String(a.settings[path] ?? "–") !== String(b.settings[path] ?? "–"));
  const flips = metric ? grb.flips(loadedA, loadedB, metric) : null;
  const found = evidenceRows(loadedA, loadedB, set);
  return [
    grb.section("Method diff", grb.h("div", { class: "fields" },
      grb.choice("A", able.map((one) => [one.id, `${one.title} (${one.dataset})`]), a.id, (value) => go(value, b.id, metric), "diff-a"),
      grb.choice("B", peersOf(a).map((one) => [one.id, one.title]), b.id, (value) => go(a.id, value, metric), "diff-b"),
      grb.h("button", { type: "button", onclick: () => go(b.id, a.id, metric) }, "swap")), differences),
    grb.section("Questions that flipped", shared.length ? [grb.h("div", { class: "fields" }, grb.choice("By", shared.map((one) => [one, one]), metric, (value) => go(a.id, b.id, value), "flip-metric")),
      grb.h("p", { class: "about" }, `${grb.plural(flips.n, "question")} of both: ${grb.count(flips.b.length)} higher with B, ${grb.count(flips.same)} the same, ${grb.count(flips.a.length)} higher with A.`),
      grb.h("div", { class: "cards" }, flipped("Gained by B", flips.b, loadedA, loadedB, metric), flipped("Lost by B", flips.a, loadedA, loadedB, metric))] : grb.h("p", { class: "about" }, "The runs have no common metric.")),
    grb.section("Evidence in the context", found.gained.length + found.lost.length ? grb.h("div", { class: "cards" }, evidence("Gained by B", found.gained, a, b, set), evidence("Lost by B", found.lost, a, b, set)) : grb.h("p", { class: "about" }, "The same.")),
    grb.section("Steps", grb.table("Operators by position in the method", [
      { head: "place", text: true, cell: (row) => row.place }, { head: "A", text: true, cell: (row) => row.a }, { head: "B", text: true, cell: (row) => row.b },
      { head: "", text: true, cell: (row) => grb.badge(row.state === "same" ? "plain" : "open", row.state) }, { head: "settings that differ", text: true, cell: (row) => row.changed },
    ], steps)),
    grb.section("Other settings that differ", settings.length ? grb.table("Settings and models", [{ head: "setting", text: true, cell: (path) => path }, { head: "A", text: true, cell: (path) => a.settings[path] ?? "–" }, { head: "B", text: true, cell: (path) => b.settings[path] ?? "–" }], settings) : grb.h("p", { class: "about" }, "None.")),
  ];
};

function flipped(title, rows, loadedA, loadedB, metric) {
  if (!rows.length) return null;
  const [a, b] = [loadedA.run, loadedB.run];
  const shownValue = ({ run, list }, place) => (run.answers ? list.answer[place] || list.status[place] : grb.number(list.scores[metric][place], 2));
  const items = rows.slice(0, FLIPS_SHOWN).map(({ place, at }) => grb.h("li", {}, grb.h("a", { href: `#pair/${a.id}/${b.id}/${place}` }, `${loadedA.set.id[at]}: ${loadedA.set.text[at]}`),
    ` A: ${shownValue(loadedA, place)}, B: ${shownValue(loadedB, loadedB.list.placeOf.get(at))}`));
  return grb.h("div", { class: "card tall" }, grb.h("h3", {}, `${title}: ${rows.length}`), grb.h("ul", {}, items), rows.length > FLIPS_SHOWN ? grb.h("p", { class: "about" }, `first ${FLIPS_SHOWN}; all are in the list of questions`) : null);
}

function evidence(title, rows, a, b, set) {
  if (!rows.length) return null;
  return grb.h("div", { class: "card tall" }, grb.h("h3", {}, `${title}: ${grb.plural(rows.length, "document")}`),
    grb.h("ul", {}, rows.slice(0, FLIPS_SHOWN).map(({ place, at, name }) => grb.h("li", {}, grb.h("a", { href: `#pair/${a.id}/${b.id}/${place}` }, set.id[at]), ` ${name}`))),
    rows.length > FLIPS_SHOWN ? grb.h("p", { class: "about" }, `first ${FLIPS_SHOWN}`) : null);
}
