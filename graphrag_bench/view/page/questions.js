"use strict";
/* The filtered list of a run's questions; only visible rows are elements. */
const ROW_HEIGHT = 64;

/* Load a run's list and the texts of its data set. */
grb.listOf = async function (run) {
  const [set, list] = await Promise.all([grb.load(run.set), grb.load(`${run.id}/list`)]);
  if (!list.placeOf) list.placeOf = new Map(list.at.map((at, place) => [at, place]));
  return { run, set, list };
};

/* The higher of two values: "a", "b", "same", or null if one is missing. */
grb.winner = function (first, second) {
  if (first === null || second === null || first === undefined || second === undefined) return null;
  return first > second ? "a" : first < second ? "b" : "same";
};

grb.views.questions = async function (runId) {
  const runs = grb.index.runs;
  const run = runs.find((one) => one.id === runId) || runs[0];
  const loaded = await grb.listOf(run);
  const { set, list } = loaded;
  const peers = runs.filter((one) => one.set === run.set && one.id !== run.id);
  const state = grb.filters = (grb.filters && grb.filters.run === run.id) ? grb.filters
    : { run: run.id, text: "", outcome: "", fallback: "", lost: "", evidence: "", hops: "", type: "", peer: "", verdict: "", metric: "", top: 0 };
  let other = null;
  let shown = [];
  const metrics = Object.keys(list.scores);
  state.metric ||= metrics.includes("accuracy") ? "accuracy" : metrics.find((one) => one.startsWith("all_evidence")) || metrics[0] || "";

  const status = grb.h("p", { class: "about", id: "shown", "aria-live": "polite" });
  const space = grb.h("div", { class: "space" });
  const frame = grb.h("div", { class: "list", id: "list", tabindex: "0", role: "listbox", "aria-label": `Questions of ${run.title}` }, space);
  let active = -1;

  function matches(place) {
    const at = list.at[place];
    const right = list.right[place];
    if (state.text && !`${set.id[at]} ${set.text[at]} ${list.answer[place]} ${run.answers ? set.gold[at].join(" ") : ""}`.toLowerCase().includes(state.text)) return false;
    if (state.outcome && grb.outcome(run, list.status[place], right)?.[0] !== state.outcome) return false;
    if (state.fallback === "any" && !list.fallbacks[place].length) return false;
    if (state.fallback && state.fallback !== "any" && !list.fallbacks[place].includes(state.fallback)) return false;
    if (state.lost && (list.lost[place] === "" ? "nothing" : list.lost[place]) !== state.lost) return false;
    if (state.evidence === "all" && !(list.evidence[place] && /^c+$/.test(list.evidence[place]))) return false;
    if (state.evidence === "missed" && !list.evidence[place].includes("m")) return false;
    if (state.evidence === "cut" && !list.evidence[place].includes("r")) return false;
    if (state.hops && String(set.hops[at]) !== state.hops) return false;
    if (state.type && set.type[at] !== state.type) return false;
    if (other && state.verdict) {
      const there = other.list.placeOf.get(at);
      const winner = there === undefined ? null : grb.winner(list.scores[state.metric]?.[place], other.list.scores[state.metric]?.[there]);
      if (winner !== state.verdict) return false;
    }
    return true;
  }

  function row(number) {
    const place = shown[number];
    const at = list.at[place];
    const outcome = grb.outcome(run, list.status[place], list.right[place]);
    const score = list.scores[state.metric]?.[place];
    const element = grb.h("a", {
      class: `question${number === active ? " active" : ""}`, role: "option", id: `row-${number}`, tabindex: "-1",
      "aria-selected": number === active ? "true" : "false", href: `#question/${run.id}/${place}`,
    },
    grb.h("span", { class: "line" }, grb.outcomeBadge(outcome), grb.h("span", { class: "id" }, set.id[at]), grb.h("span", { class: "question-text" }, set.text[at])),
    grb.h("span", { class: "line small" },
      grb.h("span", { class: "answer" }, run.answers ? (list.answer[place] ? `→ ${list.answer[place]}` : `(${list.status[place]})`) : score === null || score === undefined ? "" : `${state.metric} ${grb.number(score, 2)}`),
      list.evidence[place] ? grb.h("span", { class: "places" }, [...list.evidence[place]].map((one) => grb.places[one][0]).join("")) : null,
      list.fallbacks[place].length ? grb.h("span", { class: "badge fell" }, "fallback") : null));
    element.style.top = `${number * ROW_HEIGHT}px`;
    return element;
  }

  function draw() {
    const first = Math.max(0, Math.floor(frame.scrollTop / ROW_HEIGHT) - 4);
    const last = Math.min(shown.length, first + Math.ceil((frame.clientHeight || 800) / ROW_HEIGHT) + 8);
    space.replaceChildren(...Array.from({ length: last - first }, (_, n) => row(first + n)));
    if (active >= 0) frame.setAttribute("aria-activedescendant", `row-${active}`);
    state.top = frame.scrollTop;
  }

  function filter() {
    shown = list.at.map((_, place) => place).filter(matches);
    active = shown.length ? 0 : -1;
    grb.shownQuestions = shown;
    space.style.height = `${shown.length * ROW_HEIGHT}px`;
    frame.scrollTop = 0;
    status.textContent = `${grb.count(shown.length)} of ${grb.plural(list.at.length, "question")}`;
    draw();
  }

  frame.addEventListener("scroll", draw);
  frame.addEventListener("keydown", (event) => {
    const page = Math.max(1, Math.floor(frame.clientHeight / ROW_HEIGHT) - 1);
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[event.key];
    if (step !== undefined) {
      active = Math.min(shown.length - 1, Math.max(0, active + step));
      const top = active * ROW_HEIGHT;
      if (top < frame.scrollTop) frame.scrollTop = top;
      if (top + ROW_HEIGHT > frame.scrollTop + frame.clientHeight) frame.scrollTop = top + ROW_HEIGHT - frame.clientHeight;
      draw();
      event.preventDefault();
    } else if (event.key === "Enter" && active >= 0) {
      location.hash = `#question/${run.id}/${shown[active]}`;
    }
  });

  const change = (name) => (value) => { state[name] = value; filter(); };
  const values = (column) => [...new Set(column)].filter((one) => one !== null && one !== undefined && one !== "").sort((a, b) => (a > b ? 1 : -1));
  const search = grb.h("input", { type: "search", id: "text-filter", value: state.text, oninput: () => { state.text = search.value.toLowerCase(); filter(); } });
  const outcomes = [["", "any"], ...[["right", "right"], ["wrong", "wrong"], ["failed", "failed"], ["open", "no answer or gold"]].filter(([kind]) => run.answers || kind === "failed")];
  const reasons = values(list.fallbacks.flat());
  const stages = run.funnel ? run.funnel.stages.map((one) => [one.stage, `not ${new Map(grb.index.stages).get(one.stage)}`]) : [];
  const verdicts = grb.h("div", { class: "fields" });

  async function compare(peer) {
    state.peer = peer;
    other = peer ? await grb.listOf(runs.find((one) => one.id === peer)) : null;
    if (!peer) state.verdict = "";
    verdicts.replaceChildren(...(peer ? [
      grb.choice("By", metrics.map((one) => [one, one]), state.metric, change("metric"), "metric-filter"),
      grb.choice("Show", [["", "all"], ["a", "higher in this run"], ["b", "higher in the other run"], ["same", "equal"]], state.verdict, change("verdict"), "verdict-filter"),
    ] : []));
    filter();
  }

  const fields = grb.h("div", { class: "fields", id: "filters" },
    grb.choice("Run", runs.map((one) => [one.id, `${one.title} (${one.dataset})`]), run.id, (value) => { location.hash = `#questions/${value}`; }, "run-choice"),
    grb.h("label", { class: "field" }, grb.h("span", {}, run.answers ? "Text, answer or id" : "Text or id"), search),
    outcomes.length === 2 && !run.failed ? null : grb.choice("Outcome", outcomes, state.outcome, change("outcome"), "outcome-filter"),
    grb.choice("Evidence", [["", "any"], ["all", "all in the context"], ["missed", "some missed"], ["cut", "some retrieved, not in the context"]], state.evidence, change("evidence"), "evidence-filter"),
    stages.length ? grb.choice("First lost", [["", "any"], ["nothing", "nothing lost"], ...stages], state.lost, change("lost"), "lost-filter") : null,
    reasons.length ? grb.choice("Fallback", [["", "any"], ["any", "some fallback"], ...reasons.map((one) => [one, one])], state.fallback, change("fallback"), "fallback-filter") : null,
    values(set.hops).length ? grb.choice("Hops", [["", "any"], ...values(set.hops).map((one) => [one, one])], state.hops, change("hops"), "hops-filter") : null,
    values(set.type).length > 1 ? grb.choice("Type", [["", "any"], ...values(set.type).map((one) => [one, one])], state.type, change("type"), "type-filter") : null,
    peers.length ? grb.choice("Against", [["", "no other run"], ...peers.map((one) => [one.id, one.title])], state.peer, compare, "peer-filter") : null);
  const top = state.top;
  requestAnimationFrame(() => compare(state.peer).then(() => { frame.scrollTop = top; }));
  const legend = list.evidence.some(Boolean) ? grb.h("ul", { class: "legend" }, grb.h("li", {}, "gold evidence:"), Object.values(grb.places).map(([sign, text]) => grb.h("li", {}, grb.h("span", { class: "sign" }, sign), text))) : null;
  return [grb.section("Questions", fields, verdicts, status, legend, frame)];
};
