"""Tables over several runs: a row per run with an interval after every mean, or every metric."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any

from graphrag_bench.report.arrange import arranged
from graphrag_bench.report.long_texts import with_cut_notes
from graphrag_bench.report.notes import context_of_rows, run_notes
from graphrag_bench.report.rendering import MISSING, Table, shown_interval, shown_n

Run = Mapping[str, Any]
Column = tuple[str, Callable[[Run], str]]
_COUNTS: tuple[Column, ...] = (
    ("method", lambda run: str(run["title"])),
    ("n", shown_n),
    ("failed", lambda run: str(run["failed"])),
)
_ANSWERS = {"accuracy": "accuracy", "f1": "F1", "exact_match": "EM"}
_LISTED = {"hit@1": "Hit@1", "list_f1": "list F1", "hit@1_in_graph": "Hit@1 in graph"}
"""Columns that a table has when a run has the metric."""
_CUT_AT, IN_CONTEXT = "evidence_recall@", "evidence_in_context"
_CUT_ANSWERS = "answers cut"
_OF_CALLS = "share of the LLM calls"
_ABOUT = {
    "in context [95 %]": "share of the evidence documents of which a text stands in the context",
    "cut [95 %]": "share of questions with evidence that the budget cut from the context",
    "context": "its mean tokens",
    _CUT_ANSWERS: "share that ended at its limit of tokens (answer_tokens)",
    "answered": "of them with gold answers in brackets",
    "faults": f"{_OF_CALLS} without a usable reply",
    "fallback calls": f"{_OF_CALLS} that a fallback replaced",
    "fallback questions": "share that went another way than the method's own",
}
"""What a column holds, by its head."""


def run_table(runs: Sequence[Run]) -> Table:
    """A row for each run: evidence first, answers next, then what went wrong.

    The floor comes first and the ceiling last. Every mean is followed by its interval, and by the
    spread over the repeats of a run that has any; it is marked with `!` while questions have
    failed. `_ABOUT` says what the other columns hold; LLM calls are those of building too. The
    table holds only what the configuration determines. Columns that no run fills are left out. Runs
    are what `metrics.json` holds.
    """
    ordered = arranged(runs)
    columns = [*_COUNTS, *_evidence(ordered)]
    if any(run["answered"] for run in ordered):
        columns += _answers(ordered)
    if any(_rates(run) for run in ordered):
        columns += [("faults", lambda run: _shares(_rates(run))[0])]
        columns += [("fallback calls", lambda run: _shares(_rates(run))[1])]
    if any(run.get("fallbacks") for run in ordered):
        columns.append(("fallback questions", _fell_back))
    rows = tuple(tuple(cell(run) for _, cell in columns) for run in ordered)
    heads = tuple(head for head, _ in columns)
    about = tuple((head, _ABOUT[head]) for head in heads if head in _ABOUT)
    notes = run_notes(ordered)
    table = Table(caption(ordered), heads, rows, notes, about=about)
    return without_missing(table)


def without_missing(table: Table) -> Table:
    """Leave out the columns of numbers that hold nothing in any row, and their explanations."""
    keep = [
        head in table.texts or {row[at] for row in table.rows} != {MISSING}
        for at, head in enumerate(table.heads)
    ]
    heads, *rows = [tuple(compress(row, keep)) for row in (table.heads, *table.rows)]
    about = tuple(one for one in table.about if one[0] in heads)
    return replace(table, heads=heads, rows=tuple(rows), about=about)


def _evidence(runs: Sequence[Run]) -> list[Column]:
    columns = [_metric(f"{_CUT_AT}{k}", f"evidence@{k}") for k in _cuts(runs)]
    if _any_has(runs, IN_CONTEXT):
        columns.insert(0 if any(map(context_of_rows, runs)) else len(columns), _IN_CONTEXT)
    if _any_has(runs, "evidence_cut"):
        columns.append(_metric("evidence_cut", "cut"))
    if any(run["usage"]["context_tokens_per_question"] for run in runs):
        columns.append(("context", _context))
    return columns


def _context(run: Run) -> str:
    n_tokens = run["usage"]["context_tokens_per_question"]
    return f"{n_tokens:.0f}" if n_tokens else MISSING


def _answers(runs: Sequence[Run]) -> list[Column]:
    def answered(run: Run) -> str:
        return f"{run['answered']} ({run['metrics'].get('accuracy', {}).get('n', 0)})"

    def tokens(run: Run) -> str:
        n_tokens = run["usage"]["tokens_per_question"]
        return f"{n_tokens:.0f}" if run["answered"] and n_tokens is not None else MISSING

    listed = {name: head for name, head in _LISTED.items() if _any_has(runs, name)}
    means = [_metric(name, head) for name, head in {**_ANSWERS, **listed}.items()]
    return [("answered", answered), *means, *cut_answers(runs), ("tokens", tokens)]


def cut_answers(runs: Sequence[Run]) -> list[Column]:
    """The column of the share of answers that ended at their limit, where any did."""
    if not any(run.get("answers_cut") for run in runs):
        return []

    def share(run: Run) -> str:
        return f"{run.get('answers_cut', 0):.1%}" if run["answered"] else MISSING

    return [(_CUT_ANSWERS, share)]


def _metric(name: str, head: str) -> Column:
    return f"{head} [95 %]", lambda run: with_interval(run, name)


_IN_CONTEXT = _metric(IN_CONTEXT, "in context")


def with_interval(run: Run, name: str) -> str:
    """The mean, the spread over repeats, and the interval over questions; of repeats their mean."""
    repeated = run.get("repeats", {}).get("metrics", {}).get(name)
    held = repeated or run["metrics"].get(name)
    if not held:
        return MISSING
    mark = "!" if run["failed"] else ""
    spread = f" ±{repeated['spread']:.3f}" if repeated else ""
    interval = shown_interval(held["low"], held["high"], run["metrics"][name]["n"])
    return f"{held['mean']:.3f}{mark}{spread}{interval}"


def _cuts(runs: Sequence[Run]) -> list[int]:
    names = {name for run in runs for name in run["metrics"] if name.startswith(_CUT_AT)}
    return sorted(int(name.removeprefix(_CUT_AT)) for name in names if name[-1].isdigit())


def _any_has(runs: Sequence[Run], name: str) -> bool:
    return any(name in run["metrics"] for run in runs)


def _rates(run: Run) -> Mapping[str, Mapping[str, float]]:
    return {**run.get("build_rates", {}), **run["rates"]}


def _shares(rates: Mapping[str, Mapping[str, float]]) -> tuple[str, str]:
    calls = sum(rate["calls"] for rate in rates.values())
    if not calls:
        return MISSING, MISSING
    bad = sum((rate["failed"] + rate["unreadable"]) * rate["calls"] for rate in rates.values())
    fallen = sum(rate["fallbacks"] * rate["calls"] for rate in rates.values())
    return f"{bad / calls:.1%}", f"{fallen / calls:.1%}"


def _fell_back(run: Run) -> str:
    return f"{run.get('fell_back', 0) / max(run['n'], 1):.1%}"


def caption(runs: Sequence[Run]) -> str:
    """The data sets of the runs, with limit, split and context budgets."""
    sets = sorted({run["dataset"] for run in runs})
    limits = sorted({str(run["limit"] or "all") for run in runs})
    parts = sorted({str(run.get("split", "all")) for run in runs})
    split = "" if parts == ["all"] else f", split: {', '.join(parts)}"
    packed = [run for run in runs if run["usage"]["context_tokens_per_question"]]
    budgets = dict.fromkeys(run.get("budget_context") or "native" for run in packed)
    said = [budget if budget == "native" else f"{budget:,} tokens for all" for budget in budgets]
    contexts = f"; context budgets: {', '.join(said)}" if packed else ""
    return f"{', '.join(sets)} (limit: {', '.join(limits)}{split}{contexts})"


def metrics_table(runs: Sequence[Run]) -> Table:
    """A row for each metric with its mean, interval and n in each run; runs as `metrics.json`.

    The notes give the rest: judgements that could not be read, the packages that metrics were
    computed by, and runs whose accuracy comes from long answers.
    """
    ordered = arranged(runs)
    names = sorted({name for run in ordered for name in run["metrics"]}, key=_place)
    rows = tuple((name, *(_cell(run["metrics"].get(name)) for run in ordered)) for name in names)
    titles = tuple(str(run["title"]) for run in ordered)
    notes = ["mean [95 % interval] (questions)"]
    computed = sorted({said for run in ordered for said in run.get("computed_by", ())})
    notes += [f"computed by {'; '.join(computed)}"] if computed else []
    for run in ordered:
        missing = [f"{name} {n}" for name, n in run.get("missing", {}).items()]
        notes += [f"{run['title']}: judgements not read: {', '.join(missing)}"] if missing else []
        notes += [f"{run['title']}: {said}" for said in run.get("flags", ())]
    table = Table("all metrics", ("metric", *titles), rows, tuple(notes), texts=("metric",))
    return with_cut_notes(table, ordered)


def _place(name: str) -> tuple[str, int]:
    stem, _, number = name.partition("@")
    return (stem, int(number)) if number.isdecimal() else (name, 0)


def _cell(held: Mapping[str, Any] | None) -> str:
    if not held:
        return MISSING
    return f"{held['mean']:.3f} [{held['low']:.3f}, {held['high']:.3f}] ({held['n']})"
