"""Tables of several runs, made from the `metrics.json` of each run."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.report import comparisons, rendering, rows
from graphrag_bench.report.comparisons import Comparison
from graphrag_bench.report.notes import context_of_rows, corpus_notes, headline_notes, run_notes
from graphrag_bench.report.rendering import MISSING, Table, format_n, format_part, p_column
from graphrag_bench.report.rows import RunMetrics, Runs, in_table_order, regime_of, usual_metrics
from graphrag_bench.text import model_name, short

RunColumn = tuple[str, Callable[[RunMetrics], str]]
COLUMNS = ("main", "all")
"""Values of `columns=`: only the headline table, or all tables with all columns."""
ABOUT = "docs/metrics.md explains the columns"
MORE = "columns=all shows all columns, costs and notes; docs/metrics.md explains the columns"
_TITLE: RunColumn = ("method", lambda run: str(run["title"]))
_FAILED: RunColumn = ("failed", lambda run: str(run["failed"]))
_ANSWERS = {"accuracy": "accuracy", "f1": "F1", "exact_match": "EM", "hit@1": "Hit@1",
            "list_f1": "list F1", "hit@1_in_graph": "Hit@1 in graph"}  # fmt: skip


def run_table(runs: Runs) -> Table:
    """Return a table with a row for each run and all columns that are not empty.

    `!` marks the means of a run with failed questions, and `±` a standard deviation over repeats.
    """
    ordered = in_table_order(runs)
    names = {name for run in ordered for name in run["metrics"] if name.startswith(rows.EVIDENCE)}
    cuts = sorted(int(name.removeprefix(rows.EVIDENCE)) for name in names if name[-1].isdigit())
    evidence = [_metric(f"{rows.EVIDENCE}{k}", f"evidence@{k}") for k in cuts]
    of_rows = any(map(context_of_rows, ordered))
    evidence.insert(0 if of_rows else len(evidence), _metric(rows.IN_CONTEXT, "in context"))
    if "answer_in_context" in usual_metrics(name for run in ordered for name in run["metrics"]):
        evidence.append(_metric("answer_in_context", "answer in context"))

    def answered(run: RunMetrics) -> str:
        return f"{run['answered']} ({run['metrics'].get('accuracy', {}).get('n', 0)})"

    def tokens(run: RunMetrics) -> str:
        n_tokens = run["usage"]["tokens_per_question"]
        return f"{n_tokens:.0f}" if run["answered"] and n_tokens is not None else MISSING

    columns = [_TITLE, ("n", format_n), _FAILED, *evidence, _metric("evidence_cut", "cut")]
    columns.append(("context", lambda run: _context_tokens(run, ".0f")))
    if any(run["answered"] for run in ordered):
        columns += [("answered", answered), *(_metric(*one) for one in _ANSWERS.items())]
        columns += [*_cut_answers(ordered), ("tokens", tokens)]
    columns.append(("faults", lambda run: _share(run, "failed", "unreadable")))
    columns.append(("fallback calls", lambda run: _share(run, "fallbacks")))
    if any(run.get("fallbacks") for run in ordered):
        fell_back = ("fallback questions", lambda run: f"{run['fell_back'] / max(run['n'], 1):.1%}")
        columns.append(fell_back)
    columns.append(("regime", lambda run: regime_of(run) or MISSING))
    return _table(ordered, columns, map(str, run_notes(ordered)), ABOUT)


def _table(runs: Runs, columns: Sequence[RunColumn], notes: Iterable[str], advice: str) -> Table:
    cells = {head: [cell(run) for run in runs] for head, cell in columns}
    filled = {head: of for head, of in cells.items() if {*of} != {MISSING}}
    lines, n = tuple(zip(*filled.values(), strict=True)), rows.n_references(runs)
    texts = caption(runs), tuple(filled), lines, tuple(notes)
    return Table(*texts, n_separate=n, advice=(advice,))


def _context_tokens(run: RunMetrics, form: str) -> str:
    n_tokens = run["usage"]["context_tokens_per_question"]
    return f"{n_tokens:{form}}" if n_tokens else MISSING


def _cut_answers(runs: Runs) -> list[RunColumn]:
    def share(run: RunMetrics) -> str:
        return f"{run.get('answers_cut', 0):.1%}" if run["answered"] else MISSING

    return [("answers cut", share)] if any(run.get("answers_cut") for run in runs) else []


def _metric(name: str, head: str) -> RunColumn:
    def mean_of(run: RunMetrics) -> str:
        mean, marks = run["metrics"].get(name), "!" * bool(run["failed"])
        repeated = run.get("repeats", {}).get("metrics", {}).get(name)
        if mean and repeated and repeated["n"] == mean["n"]:
            mean, marks = repeated, f"{marks} ±{repeated['spread']:.3f}"
        return rendering.format_mean(mean, run["n"], marks)

    return f"{head} [95 %]", mean_of


def _share(run: RunMetrics, *names: str) -> str:
    """Return the percentage of calls with these faults, including calls during index building."""
    rates = [*{**run.get("build_rates", {}), **run["rates"]}.values()]
    calls = sum(rate["calls"] for rate in rates)
    n = sum(rate[name] * rate["calls"] for rate in rates for name in names)
    return f"{n / calls:.1%}" if calls else MISSING


def caption(runs: Runs) -> str:
    """Return the caption of a table: data sets, regimes, limits, splits and context budgets."""

    def every(values: Iterable[Any]) -> str:
        return ", ".join(sorted({str(value) for value in values}))

    splits = every(run.get("split", "all") for run in runs)
    split = "" if splits == "all" else f", split: {splits}"
    packed = [run for run in runs if run["usage"]["context_tokens_per_question"]]
    budgets = dict.fromkeys((run.get("budget_context"), regime_of(run)) for run in packed)
    shown = {"published": "at most {:,} tokens"}
    texts = [shown.get(of, "{:,} tokens for all").format(n) if n else "native" for n, of in budgets]
    contexts = f"; context budgets: {', '.join(texts)}" if packed else ""
    limits = every(run["limit"] or "all" for run in runs)
    regimes = every(regime_of(run) or "imported" for run in runs)
    about = f"regime: {regimes}; limit: {limits}{split}{contexts}"
    return f"{every(run['dataset'] for run in runs)} ({about})"


def metrics_table(runs: Runs) -> Table:
    """Return a table with a row for each metric and a column for each run: mean, interval and n."""

    def by_cut(name: str) -> tuple[str, int]:
        stem, _, number = name.partition("@")
        return (stem, int(number)) if number.isdecimal() else (name, 0)

    def cell(mean: Mapping[str, Any] | None) -> str:
        if not mean:
            return MISSING
        interval = rendering.format_interval(mean["low"], mean["high"], mean["n"], ".3f")
        return f"{mean['mean']:.3f}{interval} ({mean['n']})"

    ordered = in_table_order(runs)
    names = sorted({name for run in ordered for name in run["metrics"]}, key=by_cut)
    lines = tuple((name, *(cell(run["metrics"].get(name)) for run in ordered)) for name in names)
    notes = ["mean [95 % interval] (questions)"]
    packages = sorted({package for run in ordered for package in run.get("computed_by", ())})
    notes += [f"computed by {'; '.join(packages)}"] if packages else []
    for run in ordered:
        missing = ", ".join(f"{name} {n}" for name, n in run.get("missing", {}).items())
        notes += [f"{run['title']}: unread judgements: {missing}"] if missing else []
        notes += [f"{run['title']}: {flag}" for flag in run.get("flags", ())]
    heads = ("metric", *(str(run["title"]) for run in ordered))
    return Table("all metrics", heads, lines, tuple(notes), texts=("metric",))


def main_metric(runs: Runs) -> str:
    """Return the metric of `usual_metrics` that has values for the most questions.

    Ties are broken in this order: accuracy, F1, Hit@1, list F1, then the metric of retrieval. If a
    context has no chunks, evidence in context comes before evidence recall.
    """
    names = usual_metrics(name for run in runs for name in run["metrics"])
    of_rows = any(map(context_of_rows, runs))

    def place(name: str) -> tuple[int, bool, bool]:
        n = sum(run["metrics"].get(name, {}).get("n", 0) for run in runs)
        return -n, name not in _ANSWERS, of_rows and name != rows.IN_CONTEXT

    return min(names, key=place, default="accuracy")


def headline_table(runs: Runs, gaps: Sequence[Comparison] = (), metric: str | None = None) -> Table:
    """Return a table of the main metric, its difference from the baseline, and the cost."""
    ordered = in_table_order([{**run, "place": place} for place, run in enumerate(runs)])
    name = metric or main_metric(ordered)
    shown = [one for one in gaps if one.metric == name]
    in_usd = any(rows.tokens_and_usd(run)[1] for run in ordered)

    def cost(run: RunMetrics) -> str:
        n_tokens, usd = rows.tokens_and_usd(run)
        if in_usd:
            return MISSING if run.get("imported") else f"{usd:.4f}"
        return f"{n_tokens:,.0f}" if n_tokens else MISSING

    columns = [_TITLE, ("n", format_n), *[_FAILED] * any(run["failed"] for run in ordered)]
    columns.append(_metric(name, name))
    if shown:
        baseline = "/".join(dict.fromkeys(one.baseline_title for one in shown))
        ps = {one.place: rendering.format_p(one.p) for one in shown}
        means = {one.place: f"{one.difference.mean:+.3f}{format_part(one.difference.n, one.n)}"
                for one in shown}  # fmt: skip
        columns.append((f"minus {baseline}", lambda run: means.get(run["place"], MISSING)))
        p_head = p_column(one.n_tests for one in shown)
        columns.append((p_head, lambda run: ps.get(run["place"], MISSING)))
    columns += _cut_answers(ordered)
    columns.append(("context tokens", lambda run: _context_tokens(run, ",.0f")))
    columns.append(("cost, USD" if in_usd else "cost, tokens", cost))
    notes = [*comparisons.selection_notes(shown), *headline_notes(ordered, name)]
    return _table(ordered, columns, notes, MORE)


def cost_table(runs: Runs) -> Table:
    """Return a table with the estimated, paid and cached calls of each step of each run."""
    heads = ("method", "step", "calls at most", "tokens at most", "paid calls", "paid tokens",
             "paid USD", "cached calls", "cached tokens", "cut", "retries")  # fmt: skip

    def load(part: Mapping[str, Any] | None) -> tuple[str, str]:
        if not part:
            return MISSING, MISSING
        return f"{part['calls']:,}", f"{part['prompt_tokens']:,} + {part['completion_tokens']:,}"

    lines = tuple(
        (
            str(run["title"]), step, *load(run["estimate"].get(step)), *load(cost["paid"]),
            f"{cost['paid']['usd']:.4f}", *load(cost["cached"]), str(cost["truncated"]),
            str(cost["paid"]["retries"]),
        )
        for run in in_table_order(runs) for step, cost in run["cost"]["steps"].items()
    )  # fmt: skip
    note = "all calls for these questions; tokens: prompt + completion; cut: reached max_tokens"
    return Table("costs of the runs", heads, lines, (note,), texts=heads[:2])


def checked_columns(name: str) -> str:
    """Return the value of `columns=` if it is `main` or `all`, or else raise UserError."""
    if name not in COLUMNS:
        raise UserError(f"Unknown columns '{name}'. {did_you_mean(name, COLUMNS)}")
    return name


def select_tables(
    runs: Runs, gaps: Sequence[Comparison], *, columns: str = COLUMNS[0], metric: str | None = None
) -> list[Table]:
    """Return the headline table of runs and differences, or all tables if `columns` is "all"."""
    if columns == COLUMNS[0]:
        return [headline_table(runs, gaps, metric)]
    tables = [run_table(runs), comparisons.comparison_table(gaps), cost_table(runs)]
    return [table for table in tables if table is not None and table.rows]


@dataclass(frozen=True)
class ListedRun:
    """Stored run in the list that `runs ls` prints; `metrics` is empty if the run is not scored."""

    dataset: str
    method: str
    key: str
    n_rows: int
    changed: str
    n_bytes: int
    metrics: Mapping[str, Any]


def runs_table(caption: str, runs: Sequence[ListedRun]) -> Table:
    """Return the table of `runs ls`, with a row for each run."""
    scored = [run for run in runs if run.metrics]
    metrics = [run.metrics for run in scored]
    groups = [(run.dataset, run.method) for run in scored]
    details = iter(rows.parameter_details(groups, metrics))
    notes = list(map(str, corpus_notes(metrics)))
    corpus = ("corpus",) if notes else ()
    lines = []
    for run in runs:
        own, changed = run.metrics, next(details) if run.metrics else ""
        reader = model_name(str(own.get("llm") or "")) if own.get("answered") else ""
        fingerprints = [rows.short_corpus(own) or MISSING] * len(corpus)
        lines.append((
            run.dataset, *fingerprints, f"{own.get('method', run.method)} {changed}".strip(),
            run.key, format_n(own) if own else str(run.n_rows),
            *(str(own.get(name, MISSING)) for name in ("failed", "answered")), run.changed,
            short(reader, 22) or MISSING if own else "not scored", f"{run.n_bytes / 1e6:.1f}",
        ))  # fmt: skip
    if len(scored) < len(runs):
        notes.append("not scored: the run was stopped; repeat its command to resume")
    heads = ("data set", *corpus, "method", "key", "n", "failed", "answered", "changed", "model",
             "MB")  # fmt: skip
    texts = tuple(head for head in heads if head not in ("n", "failed", "answered", "MB"))
    return Table(caption, heads, tuple(lines), tuple(notes), texts=texts)


def run_sheet(runs: Runs, settings: Sequence[Mapping[str, Any]]) -> Table:
    """Return a table for CSV with the settings, counts, metrics and costs of each run."""
    metrics = usual_metrics(name for run in runs for name in run["metrics"])
    lines: list[dict[str, Any]] = []
    for run, of_run in zip(runs, settings, strict=True):
        row = {name: run.get(name) for name in ("key", "dataset", "method", "title")}
        row |= {**of_run, "n": run["n"], "failed": run["failed"]}
        for name in metrics:
            row |= interval(run, name)
        lines.append(row | spending(run) | {name: run.get(name) for name in ("commit", "folder")})
    heads = tuple(dict.fromkeys(head for row in lines for head in row))
    cells = (("" if row[head] is None else str(row[head]) for head in heads) for row in lines)
    return Table("", heads, tuple(map(tuple, cells)), ())


def interval(run: RunMetrics, name: str) -> dict[str, float | None]:
    """Return the columns of a metric, e.g. `f1`, `f1_n`, `f1_low`, `f1_high`; None if unknown."""
    mean, ends = run["metrics"].get(name, {}), ("", "_n", "_low", "_high")
    return {f"{name}{end}": mean.get(end.strip("_") or "mean") for end in ends}


def spending(run: RunMetrics) -> dict[str, float | None]:
    """Return context tokens per question, calls and US dollars; None for an imported run."""
    if run.get("imported"):
        return dict.fromkeys(("context_tokens", "calls", "usd"))
    return {
        "context_tokens": run["usage"]["context_tokens_per_question"],
        "calls": sum(int(rows.total_of(one, "calls")) for one in run["cost"]["steps"].values()),
        "usd": round(rows.tokens_and_usd(run)[1], 6),
    }
