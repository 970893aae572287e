"use strict";
/* One question: answer, gold, evidence, context as sent, graph and steps. */

/* A node, relationship, chunk, community or path as text, its score first. */
grb.rowText = function (row) {
  if (row === null || typeof row !== "object") return String(row);
  const score = typeof row.score === "number" ? `${grb.number(row.score, 4)}  ` : "";
  if (Array.isArray(row.nodes)) return score + walked(row);
  if ("sentence" in row) return `${score}${grb.rowText(row.parent)} → ${grb.rowText(row.child)}: ${row.sentence}`;
  if ("head" in row) return `${score}${row.head} —${row.relation}→ ${row.tail}${row.description ? `: ${row.description}` : ""}`;
  if ("documents" in row) return score + (row.title ? `${row.title} (${row.documents.join(", ")})` : row.documents.join(", "));
  if ("name" in row) return `${score}${row.name}${row.type ? ` (${row.type})` : ""}${row.step ? `, step ${row.step}` : ""}`;
  if ("title" in row) return score + row.title;
  if (row.node && typeof row.node === "object") return `${score}${grb.rowText(row.node)} ${row.forward === false ? "←" : "→"} ${row.relation}`;
  if (Object.keys(row).every((key) => ["id", "score", "step"].includes(key))) return `${score}row ${row.id}`;
  return JSON.stringify(row);
};

function walked(path) {
  const names = path.nodes.map((node) => node.name ?? `row ${node.id ?? node}`);
  const hops = path.relationships || [];
  return names.reduce((line, name, place) => {
    if (!place) return name;
    const hop = hops[place - 1];
    if (!hop || !hop.relation) return `${line} – ${name}`;
    return `${line} ${hop.head === undefined || hop.head === names[place - 1] ? `—${hop.relation}→` : `←${hop.relation}—`} ${name}`;
  }, "");
}

function rowsOf(title, rows) {
  const FIRST = 10;
  const items = (some) => some.map((row) => grb.h("li", {}, grb.rowText(row)));
  const list = grb.h("ol", {}, items(rows.slice(0, FIRST)));
  const more = rows.length > FIRST ? grb.h("button", { type: "button", class: "link", onclick: () => { list.append(...items(rows.slice(FIRST))); more.remove(); } }, `${rows.length - FIRST} more`) : null;
  return grb.h("div", { class: "slot" }, grb.h("h4", {}, `${title}: ${rows.length}`), list, more);
}

function slotOf(slot, value) {
  const name = slot.replaceAll("_", " ");
  const line = (text) => grb.h("div", { class: "slot" }, grb.h("h4", {}, name), grb.h("p", {}, text));
  if (Array.isArray(value)) return value.every((row) => row && typeof row === "object") && value.length ? rowsOf(name, value) : line(value.join("; ") || "none");
  if (value === null || typeof value !== "object") return line(String(value));
  if (slot === "context") return line(`${grb.plural(value.pieces, "piece")}, ${value.cut} cut; the final context is above`);
  if (Object.keys(value).join() === "length") return line(`${grb.count(value.length)} values`);
  if ("low" in value && "high" in value) return line(`${value.low.join(", ")}; themes: ${value.high.join(", ")}`);
  if ("sub_questions" in value) return rowsOf(name, value.sub_questions.map((one) => `${one.id} (${one.kind}): ${one.text}`));
  if ("rounds" in value) return grb.h("div", {}, rowsOf(`${name}, chosen`, value.chosen), value.rounds.map((rows, n) => rowsOf(`${name}, round ${n + 1}`, rows)));
  const lists = Object.entries(value).filter(([, rows]) => Array.isArray(rows) && rows.length);
  return lists.length ? grb.h("div", {}, lists.map(([part, rows]) => rowsOf(`${name}, ${part}`, rows))) : line(JSON.stringify(value));
}

/* A model call: its cost, messages and reply. */
function callOf(call) {
  const costs = [`${grb.count(call.prompt_tokens || 0)} + ${grb.count(call.completion_tokens || 0)} tokens`, call.cached ? "cached" : `${grb.number(call.seconds || 0, 2)} s`,
    call.retries ? grb.plural(call.retries, "retry").replace("retrys", "retries") : "", call.usd ? `${grb.number(call.usd, 6)} USD` : "", call.outcome].filter(Boolean);
  const head = grb.h("summary", {}, `call of ${call.model || "the model"}: ${costs.join(", ")}`);
  const message = (who, text) => grb.h("div", {}, grb.h("h4", {}, who), grb.h("pre", {}, text));
  if (!call.prompt) return grb.h("p", { class: "about" }, `${head.textContent}; prompt and reply are not in the cache`);
  return grb.h("details", { class: "call" }, head, call.prompt.map((one) => message(one.role, one.content)), message("reply", call.reply));
}

function stepOf(step, calls) {
  const usage = step.usage?.calls ? `${grb.plural(step.usage.calls, "LLM call")}, ${grb.count(step.usage.prompt_tokens || 0)} + ${grb.count(step.usage.completion_tokens || 0)} tokens` : "";
  const costs = [step.seconds === undefined ? "" : `${grb.number(step.seconds, 4)} s`, usage].filter(Boolean).join(", ");
  return grb.h("details", { class: "step" }, grb.h("summary", {}, grb.h("strong", {}, step.step), grb.h("span", { class: "about" }, ` ${costs}`)),
    step.reads?.length ? grb.h("p", { class: "about" }, `reads: ${step.reads.map((one) => one.replaceAll("_", " ")).join(", ")}`) : null,
    Object.entries(step.wrote).map(([slot, value]) => slotOf(slot, value)),
    (calls || []).map(callOf));
}

/* The context as sent; `marked(piece)`: the piece is in a second context too. */
grb.contextOf = function (question, marked = () => false) {
  if (!question.context.length) return grb.h("p", { class: "about" }, "The context is empty.");
  let sum = 0;
  return grb.h("div", {}, question.context.map((piece) => {
    sum += piece.tokens;
    const from = piece.kind === "chunk" ? [piece.id, ...(piece.also || [])] : piece.documents || [];
    const gold = from.some((id) => question.gold.evidence?.includes(id));
    return grb.h("details", { class: `piece${gold ? " gold" : ""}`, open: true }, grb.h("summary", {}, grb.h("strong", {}, `${piece.kind} ${piece.id}`),
      " ", gold ? grb.badge("right", "gold evidence") : null, marked(piece) ? grb.badge("plain", "in both") : null, grb.h("span", { class: "about" }, ` score ${grb.number(piece.score, 3)}, ${grb.plural(piece.tokens, "token")}, ${grb.count(sum)} so far`)),
    piece.text === null ? grb.h("p", { class: "about" }, "Text unknown: the data set is missing or has changed.") : grb.h("pre", {}, piece.text));
  }), question.cut.length ? grb.h("details", {}, grb.h("summary", {}, `${grb.plural(question.cut.length, "row")} cut by the budget`), grb.h("p", {}, question.cut.map((one) => one.join(" ")).join(", "))) : grb.h("p", { class: "about" }, "Nothing was cut."));
};

grb.evidenceOf = function (question) {
  const kinds = { c: "right", r: "open", m: "wrong" };
  const signs = Object.fromEntries(Object.entries(grb.places).map(([letter, [sign, place]]) => [place, [kinds[letter], sign]]));
  const rows = Object.entries(question.found).filter(([, names]) => names.length);
  return rows.length ? grb.h("ul", { class: "evidence" }, rows.map(([place, names]) => grb.h("li", {}, grb.badge(signs[place]?.[0] || "open", `${signs[place]?.[1] || ""} ${place}`), ` ${names.join(", ")}`))) : grb.h("p", { class: "about" }, "No gold evidence.");
};

/* A run of the page by id; a question of a run. */
grb.runOf = function (id) {
  const run = grb.index.runs.find((one) => one.id === id);
  if (!run) throw new Error(`This page has no run ${id}.`);
  return run;
};
grb.questionOf = async function ({ run, set, list }, place) {
  const part = await grb.load(`${run.id}/q${Math.floor(place / list.block)}`);
  return part.questions[set.id[list.at[place]]];
};

grb.views.question = async function (runId, placeText) {
  const run = grb.runOf(runId);
  const { set, list } = await grb.listOf(run);
  const place = Number(placeText);
  const at = list.at[place];
  if (at === undefined) throw new Error(`${run.title} has no question number ${placeText}.`);
  const question = await grb.questionOf({ run, set, list }, place);
  const outcome = grb.outcome(run, list.status[place], list.right[place]);
  const order = grb.filters?.run === run.id && grb.shownQuestions?.includes(place) ? grb.shownQuestions : list.at.map((_, n) => n);
  const where = order.indexOf(place);
  const turn = (by) => { const next = order[where + by]; return next === undefined ? null : `#question/${run.id}/${next}`; };
  const link = (href, text, id) => (href ? grb.h("a", { href, id, class: "button" }, text) : null);
  const every = await Promise.all(grb.index.runs.filter((one) => one.set === run.set).map(async (one) => [one, (await grb.listOf(one)).list.placeOf.get(at)]));
  const others = every.filter(([, there]) => there !== undefined);
  const beside = others.filter(([one]) => one !== run).map(([one]) => [one.id, one.title]);
  const scores = Object.entries(list.scores).filter(([, values]) => values[place] !== null).map(([name, values]) => `${name} ${grb.number(values[place], 2)}`);
  const usage = question.usage.calls ? `${grb.plural(question.usage.calls, "LLM call")}, ${grb.count(question.usage.prompt_tokens)} + ${grb.count(question.usage.completion_tokens)} tokens` : run.imported ? "calls unknown" : "no LLM call";
  const byStep = new Map();
  for (const call of question.calls) byStep.set(call.step, [...(byStep.get(call.step) || []), call]);
  const steps = question.steps.map((step) => { const calls = byStep.get(step.step); byStep.delete(step.step); return stepOf(step, calls); });
  const outside = [...byStep.values()].flat();
  const hops = set.hops[at] && !/hop/.test(set.type[at]) ? `, ${grb.plural(set.hops[at], "hop")}` : "";
  return [
    grb.h("div", { class: "fields" }, grb.h("a", { href: `#questions/${run.id}`, id: "back", class: "button" }, "← list"), link(turn(-1), "previous", "previous"), link(turn(1), "next", "next"),
      grb.choice("Run", others.map(([one]) => [one.id, one.title]), run.id, (value) => { location.hash = `#question/${value}/${others.find(([one]) => one.id === value)[1]}`; }, "question-run"),
      beside.length ? grb.choice("Compare with", [["", "no other run"], ...beside], "", (value) => { location.hash = `#pair/${run.id}/${value}/${place}`; }, "beside") : null),
    grb.h("h2", { id: "question" }, question.question),
    grb.h("p", { class: "about" }, `${set.id[at]}${set.type[at] ? `, ${set.type[at]}` : ""}${hops}; ${run.title} on ${run.dataset}`),
    grb.h("div", { class: "cards" },
      grb.h("div", { class: "card" }, grb.h("h3", {}, run.answers ? "Answer " : "Retrieval ", grb.outcomeBadge(outcome)), run.answers ? grb.h("p", { id: "answer", class: "text" }, question.answer ?? "(no answer)") : null,
        question.error ? grb.h("p", {}, `failed in ${question.error.step}: ${question.error.message}`) : null,
        question.fallbacks.map((reason) => grb.h("p", {}, grb.badge("fell", "fallback"), ` ${reason}`)), grb.h("p", { class: "about" }, `${usage}; ${grb.number(list.seconds[place], 3)} s`)),
      grb.h("div", { class: "card" }, grb.h("h3", {}, run.answers ? "Gold" : "Gold evidence"), run.answers ? grb.h("p", { class: "text" }, (question.gold.answers || []).join(" | ") || "(none)") : null, grb.evidenceOf(question), scores.length ? grb.h("p", { class: "about" }, scores.join(", ")) : null)),
    grb.section(run.answers ? "Graph of the answer" : "Graph of the retrieval", grb.answerGraph(question.graph)),
    run.imported ? grb.section("Context", grb.h("p", { class: "about" }, "Unknown: an imported run has no contexts.")) :
      grb.section(`Context: ${grb.plural(question.context.length, "piece")}, ${grb.plural(question.context.reduce((sum, one) => sum + one.tokens, 0), "token")}`, grb.contextOf(question)),
    grb.section("Steps", steps.length ? steps : grb.h("p", { class: "about" }, run.imported ? "An imported run has none." : "Not stored (trace=off)."),
      outside.length ? grb.h("div", {}, grb.h("h3", {}, "Calls outside these steps"), outside.map(callOf)) : null,
      question.without_names.length ? grb.h("p", { class: "about" }, `Without names: these artifacts were deleted: ${question.without_names.join(", ")}.`) : null),
  ];
};
