"use strict";
/* The overview: table of runs, scores against tokens, evidence funnels, costs and estimates. */
grb.usual = ["accuracy", "f1", "hit@1", "list_f1"];

/* The main metrics of some runs, the metric with most questions first. */
grb.mainMetrics = function (runs) {
  const names = new Set(runs.flatMap((run) => Object.keys(run.metrics)));
  const cuts = [...names].filter((one) => one.startsWith("evidence_recall@"))
    .sort((a, b) => Number(a.split("@")[1]) - Number(b.split("@")[1]));
  const cut = cuts.includes("evidence_recall@5") ? "evidence_recall@5" : cuts[cuts.length - 1];
  const n = (name) => runs.reduce((sum, run) => sum + (run.metrics[name]?.n || 0), 0);
  return [...grb.usual, "evidence_in_context", cut].filter((one) => names.has(one)).sort((a, b) => n(b) - n(a));
};

const sumOf = (cost, names) => ["paid", "cached"].reduce((sum, part) => sum + names.reduce((n, name) => n + (cost[part][name] || 0), 0), 0);
const tokensOf = (cost) => sumOf(cost, ["prompt_tokens", "completion_tokens"]);

grb.views.overview = function () {
  const { index } = grb;
  const main = grb.mainMetrics(index.runs);
  const sets = [...new Set(index.runs.map((run) => run.set))];
  const score = (run) => run.metrics[main[0]]?.mean ?? -Infinity;
  const runs = [...index.runs].sort((a, b) => sets.indexOf(a.set) - sets.indexOf(b.set) || score(b) - score(a));
  const meanings = new Map(index.metrics.map((one) => [one.name, one.meaning]));
  const about = (name) => meanings.get(name) || meanings.get(name.replace(/@.*/, "@k")) || "";
  let wanted = "";
  const metric = (name) => ({
    head: name, about: about(name), order: (run) => run.metrics[name]?.mean ?? null,
    cell: (run) => (run.metrics[name] ? grb.range(run.metrics[name], run.n) : "–"),
  });
  const plain = (head, value, digits, meaning) => ({
    head, about: meaning, order: value, spare: true,
    cell: (run) => { const x = value(run); return x === null || x === undefined ? "–" : digits ? grb.number(x, digits) : grb.count(x); },
  });
  const columns = [
    { head: "run", name: true, order: (run) => run.title, cell: (run) => grb.h("a", { href: `#questions/${run.id}` }, run.title) },
    ...main.map(metric),
    { head: "data set", text: true, order: (run) => run.dataset, cell: (run) => run.dataset },
    plain("n", (run) => run.n),
    plain("context tokens", (run) => run.usage.context_tokens_per_question, 0, "mean context tokens per question"),
    plain("LLM tokens", (run) => run.usage.tokens_per_question, 0, "prompt and completion tokens per question"),
    plain("seconds", (run) => run.usage.seconds_per_question, 3, "seconds per question over all steps, as measured in the run"),
    plain("all tokens", (run) => run.spent.tokens, 0, "tokens of all calls, including the build; cached calls count like paid calls"),
    plain("USD", (run) => run.spent.usd, 4, "price of all calls, including the build; cached calls count like paid calls"),
    plain("failed", (run) => run.failed, 0, "failed questions, which are not in the means"),
    plain("fallbacks", (run) => run.fell_back, 0, "questions for which the method used a fallback"),
  ];
  const table = grb.table(`${grb.plural(runs.length, "run")}; means with 95 % intervals`, columns, runs, {
    heads: true, by: sets.length === 1 && main.length ? 1 : null, filter: (run) => `${run.title} ${run.dataset} ${run.method} ${run.key}`.toLowerCase().includes(wanted),
  });
  const search = grb.h("input", { type: "search", id: "run-filter", placeholder: "method, data set, key", oninput: () => { wanted = search.value.toLowerCase(); table.redraw(); } });
  grb.repaint = grb.plots.repaint;
  return [
    grb.section("Runs", grb.h("div", { class: "fields" }, grb.h("label", { class: "field" }, grb.h("span", {}, "Show runs with"), search)), table, notes(runs)),
    scores(runs, main),
    funnels(runs),
    costs(runs),
    estimates(runs),
  ];
};

function notes(runs) {
  const rows = runs.flatMap((run) => [
    ...run.notes.filter((one) => one.startsWith("!")).map((one) => `${run.title}: ${one.slice(1).trim()}`),
    ...Object.entries(run.fallbacks || {}).map(([reason, n]) => `${run.title}: ${grb.plural(n, "question")} with a fallback: ${reason}`),
    ...(run.errors || []).map((one) => `${run.title}: failed: ${one}`),
  ]);
  if (!rows.length) return null;
  return grb.h("details", { class: "notes" }, grb.h("summary", {}, `${grb.plural(rows.length, "warning")}: fallbacks, failures, unequal contexts`),
    grb.h("ul", {}, rows.map((row) => grb.h("li", {}, row))));
}

function scores(runs, main) {
  const xs = { context: ["tokens of context", (run) => run.usage.context_tokens_per_question], tokens: ["LLM tokens per question", (run) => run.usage.tokens_per_question], all: ["tokens of all calls", (run) => run.spent.tokens] };
  let [x, y] = ["context", main[0] || Object.keys(runs[0].metrics)[0]];
  const names = [...new Set(runs.flatMap((run) => Object.keys(run.metrics)))].sort();
  const holder = grb.h("div", { id: "scatter" });
  function draw() {
    const points = runs.filter((run) => run.metrics[y] && !run.imported).map((run) => ({
      title: run.title, set: run.dataset, x: xs[x][1](run) || 0, y: run.metrics[y].mean, low: run.metrics[y].low, high: run.metrics[y].high, n: run.metrics[y].n,
    }));
    holder.replaceChildren(points.length ? grb.plots.scatter(points, xs[x][0], y) : grb.h("p", {}, "No run has this metric."));
  }
  draw();
  return grb.section("Scores against tokens", grb.h("div", { class: "fields" },
    grb.choice("Metric", names.map((one) => [one, one]), y, (value) => { y = value; draw(); }, "scatter-metric"),
    grb.choice("Against", Object.entries(xs).map(([name, [text]]) => [name, text]), x, (value) => { x = value; draw(); }, "scatter-tokens")), holder);
}

/* The funnels of all runs: gold documents left after each stage. */
function funnels(runs) {
  const rows = runs.filter((run) => run.funnel);
  const notes = runs.filter((run) => run.funnel_note).map((run) => grb.h("li", {}, `${run.title}: ${run.funnel ? "unknown: " : ""}${run.funnel_note}`));
  const about = notes.length ? grb.h("details", {}, grb.h("summary", {}, "What is unknown, and why"), grb.h("ul", {}, notes)) : null;
  if (!rows.length) return grb.section("Evidence funnel", grb.h("p", { class: "about" }, "No run has a funnel."), about);
  const at = (run, stage) => run.funnel.stages.find((one) => one.stage === stage);
  const stages = grb.index.stages.filter(([stage]) => rows.some((run) => at(run, stage)));
  const unknown = (one) => one.unknown && one.unknown === one.rest + one.lost;
  const cellText = (one) => (!one ? "–" : unknown(one) ? "unknown" : `${grb.count(one.rest)}${one.lost ? ` (−${grb.count(one.lost)})` : ""}${one.unknown ? `, ${grb.count(one.unknown)} unknown` : ""}`);
  const series = rows.map((run) => ({ title: run.title, set: run.dataset, values: stages.map(([stage, label]) => {
    const one = at(run, stage);
    return !one || one.unknown ? null : { size: (100 * one.rest) / (run.funnel.documents || 1), text: `${run.title}, ${label}: ${grb.count(one.rest)} of ${grb.plural(run.funnel.documents, "document")} left, ${grb.count(one.lost)} lost here` };
  }) }));
  return grb.section("Evidence funnel", grb.h("p", { class: "about" }, "Gold documents of the questions that are left after each stage."),
    grb.plots.lines(stages.map(([, label]) => label), series, "% of gold documents", "Gold documents left after each stage of each run; values are in the table below"),
    grb.table("Gold documents left after each stage (and lost there)", [
      { head: "run", name: true, order: (run) => run.title, cell: (run) => run.title },
      { head: "documents", order: (run) => run.funnel.documents, cell: (run) => grb.count(run.funnel.documents) },
      ...stages.map(([stage, label]) => ({ head: label, order: (run) => at(run, stage)?.rest ?? null, cell: (run) => cellText(at(run, stage)) })),
    ], rows, { heads: true }), about);
}

function costs(runs) {
  const priced = runs.filter((run) => Object.keys(run.cost.stages).length);
  if (!priced.length) return null;
  const stages = [...new Set(priced.flatMap((run) => Object.keys(run.cost.stages)))];
  const series = stages.map((stage, place) => ({ name: stage, place, values: priced.map((run) => {
    const cost = run.cost.stages[stage];
    return cost ? { size: tokensOf(cost), text: `${run.title}, ${stage}: ${grb.count(tokensOf(cost))} tokens in ${grb.plural(sumOf(cost, ["calls"]), "call")}` } : null;
  }) }));
  return grb.section("Cost of each stage", grb.h("p", { class: "about" }, "Tokens of LLM calls. Cached calls count like paid calls."),
    grb.plots.stacked(priced.map((run) => run.title), series, "tokens", "LLM tokens of each stage of each run; values by step are in the table below"));
}

function estimates(runs) {
  const rows = runs.flatMap((run) => [...new Set([...Object.keys(run.estimate), ...Object.keys(run.cost.steps), ...Object.keys(run.seconds)])].map((step) => ({
    run, step, expected: run.estimate[step], cost: run.cost.steps[step], seconds: run.seconds[step] ?? null,
  })));
  const pair = (one) => (one ? one.prompt_tokens + one.completion_tokens : null);
  const real = (row) => (row.cost ? tokensOf(row.cost) : null);
  const shown = (value) => (value === null || value === undefined ? "–" : grb.count(value));
  const calls = (row) => (row.cost ? row.cost.paid.calls + row.cost.cached.calls : null);
  return grb.section("Steps: estimated and actual cost", grb.table("Calls, tokens and seconds of each step", [
    { head: "run", name: true, order: (row) => row.run.title, cell: (row) => row.run.title },
    { head: "step", text: true, order: (row) => row.step, cell: (row) => row.step },
    { head: "seconds per question", order: (row) => row.seconds, cell: (row) => grb.number(row.seconds, 4) },
    { head: "expected calls", spare: true, order: (row) => row.expected?.calls ?? null, cell: (row) => shown(row.expected?.calls) },
    { head: "calls", spare: true, order: calls, cell: (row) => shown(calls(row)) },
    { head: "cached calls", spare: true, order: (row) => row.cost?.cached.calls ?? null, cell: (row) => shown(row.cost?.cached.calls) },
    { head: "expected tokens", spare: true, order: (row) => pair(row.expected), cell: (row) => shown(pair(row.expected)) },
    { head: "tokens", spare: true, order: real, cell: (row) => shown(real(row)) },
    { head: "actual / expected", spare: true, order: (row) => (real(row) && pair(row.expected) ? real(row) / pair(row.expected) : null),
      cell: (row) => (real(row) && pair(row.expected) ? grb.number(real(row) / pair(row.expected), 2) : "–") },
    { head: "USD", spare: true, order: (row) => (row.cost ? sumOf(row.cost, ["usd"]) : null), cell: (row) => (row.cost ? grb.number(sumOf(row.cost, ["usd"]), 4) : "–") },
  ], rows));
}
