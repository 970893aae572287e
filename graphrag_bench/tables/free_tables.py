"""Free tables over runs: any field in rows and columns, the means of a metric in the cells."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphrag_bench.errors import UserError, unknown
from graphrag_bench.evaluation.statistics import Mean, mean_with_interval
from graphrag_bench.report.rendering import MISSING, Table, shown_interval
from graphrag_bench.report.rows import INFLATED, SHOWN, mark
from graphrag_bench.run.folder import METRICS
from graphrag_bench.run.stored import StoredRun, find_run, readable_runs, scores_of, stored_runs

FIELDS = (
    "method", "title", "dataset", "llm", "llm_build", "embedder", "extraction", "tokenizer",
    "profile", "fidelity", "limit", "key",
)  # fmt: skip
_MOST_NAMED = 4
_CHOSEN = "*"


@dataclass(frozen=True)
class PivotRun:
    """A run as a table sees it.

    `fields` are its names and settings by path, `scores` the metrics of each question, and
    `attributes` what the data set says of each question: hops, type, scope. `mark` says that it was
    chosen on these questions out of several configurations (`rows.mark`).
    """

    fields: Mapping[str, str]
    scores: Mapping[str, Mapping[str, float]]
    attributes: Mapping[str, Mapping[str, str]]
    mark: str = ""


@dataclass(frozen=True)
class Layout:
    """What rows, columns and cells show; `by` splits the questions of a cell over rows."""

    rows: str
    cols: str
    value: str
    by: str | None = None

    @property
    def leads(self) -> tuple[str, ...]:
        """The heads of the first columns."""
        return (self.rows, self.by) if self.by else (self.rows,)


def named_runs(names: list[str], home: str) -> list[StoredRun]:
    """Return the runs of folders, of beginnings of keys, or all below a home; each once, in order.

    A folder that is not a run gives all runs below it. Raises UserError where there is none.
    """
    runs = [] if names else stored_runs(home)
    for name in names:
        below = sorted(Path(name).glob(f"**/{METRICS}")) if Path(name).is_dir() else []
        runs += readable_runs(below) if below else [find_run(name, home)]
    if not runs:
        raise UserError(f"There is no run below {', '.join(names) or f'{home}/runs'}.")
    return list({run.folder.path.resolve(): run for run in runs}.values())


def pivot_run(run: StoredRun) -> PivotRun:
    """Return the fields, scores and question attributes of a run; only fields without its set.

    The scores are of the questions that its stored scoring is of: a run that is reported on
    split=test is not mixed with what it was tuned on.
    """
    metrics, dataset = run.metrics, run.dataset
    named = {name: metrics.get(name) for name in FIELDS}
    named["corpus"] = str(metrics.get("corpus") or "")[:SHOWN]
    fields = {name: str(value) for name, value in named.items() if value not in (None, "")}
    fields |= {path: str(value) for path, value in metrics["settings"].items() if value is not None}
    attributes = {}
    scopes = {one.id: one.scope for one in dataset.questions} if dataset else {}
    for question, gold in run.gold.items():
        values = {"hops": gold.hops, "type": gold.type, "scope": scopes.get(question)}
        attributes[question] = {name: str(value) for name, value in values.items() if value}
    return PivotRun(fields, scores_of(run), attributes, mark(metrics))


def pivot_table(runs: Sequence[PivotRun], layout: Layout) -> Table:
    """Return the mean of a metric with its 95 % bootstrap interval and n, by row and column.

    Questions that share a scope are drawn together. A cell with a run that was chosen on these
    questions has a `*`, and a note with the mark. Where several runs share a cell, a question
    counts with the mean of its scores over them, and the note says in what they differ. Rows and
    columns follow the order of the runs, numbers and the parts of a split sorted. Raises
    UserError, with the nearest names, for a field, metric or attribute that no run has.
    """
    import pandas

    places = ["line", "part", "column"]
    heads = [*places, "run", "question", "score", "scope"]
    scores = pandas.DataFrame(_scores(runs, layout), columns=heads)
    parts = sorted(set(scores["part"]), key=_in_order)
    columns = _values(runs, layout.cols)
    orders = _values(runs, layout.rows), parts, columns
    for place, order in zip(places, orders, strict=True):
        scores[place] = pandas.Categorical(scores[place], order, ordered=True)
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    groups = []
    for keys, group in scores.groupby(places, observed=True):
        line, part, column = map(str, keys)
        of_question = group.groupby("question", sort=False).agg({"score": "mean", "scope": "last"})
        scopes = [one if isinstance(one, str) else None for one in of_question["scope"]]
        mean = mean_with_interval(of_question["score"].tolist(), scopes=scopes)
        groups.append([runs[row] for row in group["run"].unique()])
        row = cells.setdefault((line, part)[: len(layout.leads)], {})
        row[column] = _text(mean, groups[-1])
    rows = tuple(
        (*lead, *(row.get(column, MISSING) for column in columns)) for lead, row in cells.items()
    )
    caption = f"{layout.value} by {', '.join((*layout.leads, layout.cols))}"
    notes = _notes(runs, groups, layout)
    return Table(caption, (*layout.leads, *columns), rows, notes, layout.leads)


def _scores(runs: Sequence[PivotRun], layout: Layout) -> Iterator[tuple[Any, ...]]:
    """Line, part, column, run, question, score and scope of each score of each run."""
    if not any(run.scores for run in runs):
        raise UserError("There is no run with a scored question; are the data sets at hand?")
    row_field, col_field = _field(runs, layout.rows), _field(runs, layout.cols)
    metrics = {name for run in runs for scores in run.scores.values() for name in scores}
    if layout.value not in metrics:
        raise unknown("metric", layout.value, metrics)
    known = {name for run in runs for one in run.attributes.values() for name in one}
    if layout.by and layout.by not in known:
        raise unknown("attribute of questions", layout.by, known)
    for place, run in enumerate(runs):
        line, column = (run.fields.get(name, MISSING) for name in (row_field, col_field))
        for question, scores in run.scores.items():
            if layout.value in scores:
                of_question = run.attributes.get(question, {})
                part = of_question.get(layout.by, MISSING) if layout.by else ""
                scope = of_question.get("scope")
                yield line, part, column, place, question, scores[layout.value], scope


def _field(runs: Sequence[PivotRun], name: str) -> str:
    known = {field for run in runs for field in run.fields}
    for field in (name, f"method.{name}"):
        if field in known:
            return field
    raise unknown("field of a run", name, (field.removeprefix("method.") for field in known))


def _values(runs: Sequence[PivotRun], name: str) -> list[str]:
    field = _field(runs, name)
    values = list(dict.fromkeys(run.fields.get(field, MISSING) for run in runs))
    numeric = _are_numbers(value for value in values if value != MISSING)
    return sorted(values, key=_in_order) if numeric else values


def _in_order(value: str) -> tuple[bool, bool, float, str]:
    if _are_numbers([value]):
        return False, False, float(value), ""
    return value == MISSING, True, 0.0, value


def _are_numbers(texts: Iterable[str]) -> bool:
    try:
        return all(map(math.isfinite, map(float, texts)))
    except ValueError:
        return False


def _text(mean: Mean, runs: Sequence[PivotRun]) -> str:
    chosen = _CHOSEN if any(run.mark for run in runs) else ""
    shared = f", {len(runs)} runs" if len(runs) > 1 else ""
    return (
        f"{mean.mean:.3f}{chosen}{shown_interval(mean.low, mean.high, mean.n)} n={mean.n}{shared}"
    )


def _notes(
    runs: Sequence[PivotRun], groups: Sequence[Sequence[PivotRun]], layout: Layout
) -> tuple[str, ...]:
    """The notes on cells, each of a group of runs."""
    notes = [
        "over questions that did not fail (those of one scope drawn together): mean, 95 % "
        "bootstrap interval, n"
    ]
    shown = {id(run) for group in groups for run in group}
    titles = [(run.fields.get("title", "a run"), run) for run in runs if id(run) in shown]
    marks = dict.fromkeys(f"{title} {run.mark}" for title, run in titles if run.mark)
    notes += [f"{_CHOSEN} {', '.join(marks)}; {INFLATED}"] if marks else []
    placed = {"key", _field(runs, layout.rows), _field(runs, layout.cols)}
    differing = {
        name
        for group in groups
        for name in {field for run in group for field in run.fields} - placed
        if len({run.fields.get(name) for run in group}) > 1
    }
    if differing:
        names = sorted(differing, key=lambda name: (name.count("."), name))
        more = f" and {len(names) - _MOST_NAMED} more" * (len(names) > _MOST_NAMED)
        listed = ", ".join(names[:_MOST_NAMED])
        notes.append(f"cells with several runs average over what differs in them: {listed}{more}")
    return tuple(notes)
