"""A table of judged values: a row for each run, metric and judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphrag_bench.evaluation.statistics import mean_with_interval
from graphrag_bench.report.tables import MISSING, Table

Values = Mapping[str, Mapping[str, Mapping[str, float | None]]]
"""Judge, then metric, then question to value."""


def judged_table(runs: Sequence[tuple[str, Values]]) -> Table:
    """A row for each (title, values); means are over the answers that have a value."""
    heads = ("method", "metric", "n", "missing", "mean [95 %]", "judge")
    rows = []
    for title, values in runs:
        for judge, metrics in values.items():
            for metric, held in metrics.items():
                known = [value for value in held.values() if value is not None]
                cells = [title, metric, str(len(known)), str(len(held) - len(known))]
                rows.append((*cells, _mean(known), judge))
    notes = (
        "missing: answers whose judgement failed, could not be read, or had nothing to judge; "
        "they are in no mean",
        "intervals are 95 % bootstrap; a judge of the same family as the reader tends to favour it",
    )
    return Table("judged answers", heads, tuple(rows), notes, texts=("method", "metric", "judge"))


def _mean(values: Sequence[float]) -> str:
    if not values:
        return MISSING
    found = mean_with_interval(values)
    return f"{found.mean:.3f} [{found.low:.2f}, {found.high:.2f}]"
