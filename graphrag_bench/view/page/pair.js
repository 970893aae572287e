"use strict";
/* One question in two runs: both graphs and contexts, shared pieces, and the first step that differs. */

const operatorOf = (step) => step.step.split(" ").pop();

/* The number of rows that a step wrote by slot, and how many the other step wrote too. */
function wroteOf(step, other) {
  const rowsOf = (one, slot) => (Array.isArray(one?.wrote[slot]) ? one.wrote[slot].map((row) => grb.rowText({ ...row, score: null })) : []);
  return Object.keys(step?.wrote || {}).map((slot) => {
    const [mine, theirs] = [rowsOf(step, slot), new Set(rowsOf(other, slot))];
    const shared = mine.filter((row) => theirs.has(row)).length;
    return `${slot.replaceAll("_", " ")}${mine.length ? ` ${mine.length}${theirs.size ? `, ${shared} in both` : ""}` : ""}`;
  }).join("; ");
}

/* The steps of both runs by position, and whether both wrote the same. */
function pairedSteps(first, second) {
  return Array.from({ length: Math.max(first.length, second.length) }, (_, place) => {
    const [a, b] = [first[place], second[place]];
    const state = !a || !b ? `only ${a ? "A" : "B"}` : operatorOf(a) !== operatorOf(b) ? "another operator"
      : JSON.stringify(a.wrote) === JSON.stringify(b.wrote) ? "same" : "other rows";
    return { place, a, b, state };
  });
}

/* Whether a piece of context is in the other context: chunks are compared by document, others by text. */
function sharedBy(other) {
  const key = (piece) => (piece.kind === "chunk" || piece.text === null ? `${piece.kind} ${piece.id}` : piece.text);
  const there = new Set(other.context.map(key));
  return (piece) => there.has(key(piece));
}

grb.views.pair = async function (aId, bId, placeText) {
  const [a, b] = [grb.runOf(aId), grb.runOf(bId)];
  const [loadedA, loadedB] = await Promise.all([grb.listOf(a), grb.listOf(b)]);
  const { set, list } = loadedA;
  const place = Number(placeText);
  const placeB = loadedB.list.placeOf.get(list.at[place]);
  if (a.set !== b.set || placeB === undefined) throw new Error(`${a.title} and ${b.title} do not both have question number ${placeText}.`);
  const [one, two] = await Promise.all([grb.questionOf(loadedA, place), grb.questionOf(loadedB, placeB)]);
  const shared = list.at.map((_, n) => n).filter((n) => loadedB.list.placeOf.has(list.at[n]));
  const where = shared.indexOf(place);
  const turn = (by, text) => (shared[where + by] === undefined ? null : grb.h("a", { class: "button", href: `#pair/${a.id}/${b.id}/${shared[where + by]}` }, text));
  const steps = pairedSteps(one.steps, two.steps);
  const parts = steps.find((row) => row.state !== "same");
  const name = (step) => (step ? operatorOf(step) : "nothing");
  const both = (make) => grb.h("div", { class: "pair" }, [[a, loadedA, place, one, b, two, "graph"], [b, loadedB, placeB, two, a, one, "graph-b"]].map((side, n) => grb.h("div", {}, grb.h("h3", {}, `${"AB"[n]}: ${side[0].title}`), make(...side))));
  const card = (run, loaded, at, question) => [grb.h("p", {}, grb.outcomeBadge(grb.outcome(run, loaded.list.status[at], loaded.list.right[at])), run.answers ? ` ${question.answer ?? "(no answer)"} ` : "", grb.h("a", { href: `#question/${run.id}/${at}` }, "alone")), grb.evidenceOf(question)];
  return [
    grb.h("div", { class: "fields" }, grb.h("a", { href: `#diff/${a.id}/${b.id}`, id: "back", class: "button" }, "← method diff"), turn(-1, "previous"), turn(1, "next"),
      grb.h("a", { class: "button", href: `#pair/${b.id}/${a.id}/${placeB}` }, "swap")),
    grb.h("h2", { id: "question" }, one.question),
    grb.h("p", { class: "about" }, set.id[list.at[place]]),
    both(card),
    grb.section("First difference", grb.h("p", { id: "parts" }, parts ? `Step ${parts.place + 1}, A: ${name(parts.a)}, B: ${name(parts.b)}: ${parts.state}.` : "None: all steps have the same results."),
      grb.table("Steps and what they wrote", [
        { head: "step", cell: (row) => row.place + 1 },
        { head: "A", text: true, cell: (row) => (row.a ? row.a.step : "–") }, { head: "A wrote", text: true, cell: (row) => wroteOf(row.a, row.b) },
        { head: "B", text: true, cell: (row) => (row.b ? row.b.step : "–") }, { head: "B wrote", text: true, cell: (row) => wroteOf(row.b, row.a) },
        { head: "", text: true, cell: (row) => [grb.badge(row.state === "same" ? "plain" : "open", row.state), row === parts ? grb.badge("wrong", "here") : null] },
      ], steps)),
    grb.section(a.answers || b.answers ? "Graphs of the answer" : "Graphs of the retrieval", both((run, loaded, at, question, _, __, id) => grb.answerGraph(question.graph, id))),
    grb.section("Contexts", both((run, loaded, at, question, otherRun, other) => [
      grb.h("p", { class: "about" }, `${grb.plural(question.context.length, "piece")}, ${question.context.filter(sharedBy(other)).length} in both`), grb.contextOf(question, sharedBy(other))])),
  ];
};
