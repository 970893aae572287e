"use strict";
/* One question in two runs: both graphs, both contexts with what they share, and the step where they part. */

const operatorOf = (step) => step.step.split(" ").pop();

/* What two steps wrote, slot by slot: how many rows, and how many of them both have. */
function wroteOf(step, other) {
  const rowsOf = (one, slot) => (Array.isArray(one?.wrote[slot]) ? one.wrote[slot].map((row) => grb.rowText({ ...row, score: null })) : []);
  return Object.keys(step?.wrote || {}).map((slot) => {
    const [mine, theirs] = [rowsOf(step, slot), new Set(rowsOf(other, slot))];
    const shared = mine.filter((row) => theirs.has(row)).length;
    return `${slot.replaceAll("_", " ")}${mine.length ? ` ${mine.length}${theirs.size ? `, ${shared} in both` : ""}` : ""}`;
  }).join("; ");
}

/* The steps of both in their order, each with whether both wrote the same. */
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
  const [heldA, heldB] = await Promise.all([grb.listOf(a), grb.listOf(b)]);
  const { set, list } = heldA;
  const place = Number(placeText);
  const placeB = heldB.list.placeOf.get(list.at[place]);
  if (a.set !== b.set || placeB === undefined) throw new Error(`${a.title} and ${b.title} do not both have question number ${placeText}.`);
  const [one, two] = await Promise.all([grb.questionOf(heldA, place), grb.questionOf(heldB, placeB)]);
  const shared = list.at.map((_, n) => n).filter((n) => heldB.list.placeOf.has(list.at[n]));
  const where = shared.indexOf(place);
  const turn = (by, text) => (shared[where + by] === undefined ? null : grb.h("a", { class: "button", href: `#pair/${a.id}/${b.id}/${shared[where + by]}` }, text));
  const steps = pairedSteps(one.steps, two.steps);
  const parts = steps.find((row) => row.state !== "same");
  const name = (step) => (step ? operatorOf(step) : "nothing");
  const both = (make) => grb.h("div", { class: "pair" }, [[a, heldA, place, one, b, two, "graph"], [b, heldB, placeB, two, a, one, "graph-b"]].map((side, n) => grb.h("div", {}, grb.h("h3", {}, `${"AB"[n]}: ${side[0].title}`), make(...side))));
  const card = (run, held, at, question) => [grb.h("p", {}, grb.outcomeBadge(grb.outcome(run, held.list.status[at], held.list.right[at])), run.answers ? ` ${question.answer ?? "(no answer)"} ` : "", grb.h("a", { href: `#question/${run.id}/${at}` }, "alone")), grb.evidenceOf(question)];
  return [
    grb.h("div", { class: "fields" }, grb.h("a", { href: `#diff/${a.id}/${b.id}`, id: "back", class: "button" }, "← method diff"), turn(-1, "previous"), turn(1, "next"),
      grb.h("a", { class: "button", href: `#pair/${b.id}/${a.id}/${placeB}` }, "swap")),
    grb.h("h2", { id: "question" }, one.question),
    grb.h("p", { class: "about" }, set.id[list.at[place]]),
    both(card),
    grb.section("Where they part", grb.h("p", { id: "parts" }, parts ? `Step ${parts.place + 1}, A: ${name(parts.a)}, B: ${name(parts.b)}: ${parts.state}.` : "Nowhere: all steps wrote the same."),
      grb.table("Steps in their order, and what each wrote", [
        { head: "step", cell: (row) => row.place + 1 },
        { head: "A", text: true, cell: (row) => (row.a ? row.a.step : "–") }, { head: "A wrote", text: true, cell: (row) => wroteOf(row.a, row.b) },
        { head: "B", text: true, cell: (row) => (row.b ? row.b.step : "–") }, { head: "B wrote", text: true, cell: (row) => wroteOf(row.b, row.a) },
        { head: "", text: true, cell: (row) => [grb.badge(row.state === "same" ? "plain" : "open", row.state), row === parts ? grb.badge("wrong", "here") : null] },
      ], steps)),
    grb.section(a.answers || b.answers ? "Graphs of the answer" : "Graphs of the retrieval", both((run, held, at, question, _, __, id) => grb.answerGraph(question.graph, id))),
    grb.section("Contexts", both((run, held, at, question, otherRun, other) => [
      grb.h("p", { class: "about" }, `${grb.plural(question.context.length, "piece")}, ${question.context.filter(sharedBy(other)).length} in both`), grb.contextOf(question, sharedBy(other))])),
  ];
};
