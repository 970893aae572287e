"""A table of judged values: a row for each run, metric and judge."""

from __future__ import annotations

from collections.abc import Sequence

from graphrag_bench.analysis.judging.verdicts import Scopes, Values, mean_of
from graphrag_bench.evaluation.statistics import Mean
from graphrag_bench.report.notes import drawn_over
from graphrag_bench.report.rendering import MISSING, Table, shown_interval


def judged_table(runs: Sequence[tuple[str, Values, Scopes]]) -> Table:
    """A row for each run, metric and judge; means are over the answers that have a value.

    Runs are (title, values, scopes); intervals draw the questions of one scope together.
    """
    heads = ("method", "metric", "n", "missing", "mean [95 %]", "judge")
    rows = []
    clusters: set[int] = set()
    for title, values, scopes in runs:
        for judge, metrics in values.items():
            for metric, held in metrics.items():
                mean = mean_of(held, scopes)
                n = mean.n if mean else 0
                clusters.add(mean.clusters if mean else 0)
                rows.append((title, metric, str(n), str(len(held) - n), _shown(mean), judge))
    notes = (
        "missing: answers whose judgement failed, could not be read, or had nothing to judge; "
        "they are in no mean",
        f"intervals are 95 % bootstrap over {drawn_over(clusters)}",
        "a judge of the same family as the reader tends to favour it",
    )
    return Table("judged answers", heads, tuple(rows), notes, texts=("method", "metric", "judge"))


def _shown(found: Mean | None) -> str:
    if found is None:
        return MISSING
    return f"{found.mean:.3f}{shown_interval(found.low, found.high, found.n)}"
