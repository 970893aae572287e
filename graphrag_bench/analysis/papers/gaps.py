"""What a printed cell lacks: the runs, scores, timings and verdicts that would fill it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graphrag_bench.analysis.papers.candidates import ORDER, Candidate, pairs
from graphrag_bench.analysis.papers.filled_cells import Filled
from graphrag_bench.analysis.papers.grading import grade
from graphrag_bench.analysis.papers.offered import Offered, conditions, evaluator, fitting
from graphrag_bench.papers.printed import PaperTable, Part, Printed

_SERIAL = "seconds are of runs with workers=1 cache.mode=off"


@dataclass(frozen=True)
class Gap:
    """One part of a cell without a figure; `run` is a stored run that lacks the metric alone."""

    part: Part
    run: Candidate | None = None


def gaps(table: PaperTable, cell: Printed, picked: Candidate | None, *, known: bool) -> list[Gap]:
    """The parts of a cell that are lacking: all without a figure (`known`), else those not run."""
    parts = table.parts(cell)
    held = (picked.parts or (picked,)) if picked else [None] * len(parts)
    lacking = zip(parts, held, strict=True)
    return [Gap(part, one) for part, one in lacking if not known or one is None]


def lacking(
    table: PaperTable, cell: Printed, offered: Sequence[Offered], found: Sequence[Gap]
) -> Filled:
    """What fills the gaps of a cell: runs, and scores, timings or verdicts of stored ones.

    A win rate takes the runs of both sides and a judge.
    """
    metric = table.metric(cell)
    if metric.criteria:
        return _judging(table, cell, offered, found)
    if metric.time or metric.seconds or metric.judged_answer:
        found = [gap if gap.run else _stored(table, cell, offered, gap.part) for gap in found]
    own = [table.settings_of_paper(cell, gap.part.own) for gap in found if not gap.run]
    runs = tuple(dict.fromkeys(settings for settings in own if settings))
    stored = [gap.run.run.folder.path for gap in found if gap.run]
    if metric.metric and stored:
        wanted = metric.metric.split("|")[0]
        return Filled(lacks=f"{wanted} of {stored[0]} (graphrag-bench score)")
    if (metric.time or metric.seconds) and not runs:
        return Filled(reason=_SERIAL)
    if metric.judged_answer:
        verdicts = f"verdicts of {evaluator(table, cell)} (graphrag-bench judge)"
        return Filled(runs=runs, lacks=verdicts)
    return Filled(runs=runs)


def _stored(table: PaperTable, cell: Printed, offered: Sequence[Offered], part: Part) -> Gap:
    theirs = conditions(table, cell, part.own)
    held = [
        Candidate(one.run, grade(one.ours, theirs))
        for one in fitting(table, cell, offered, part.own)
    ]
    return Gap(part, min(held, key=ORDER, default=None))


def _judging(
    table: PaperTable, cell: Printed, offered: Sequence[Offered], found: Sequence[Gap]
) -> Filled:
    runs: dict[tuple[str, ...], None] = {}
    for gap in found:
        if pairs(table, cell, gap.part, offered):
            continue
        for side, part in ((cell, gap.part.own), (cell.opposite, gap.part.other)):
            if settings := table.settings_of_paper(side, part):
                runs[settings] = None
    metrics = [table.paper.metrics[name] for name in dict.fromkeys(c.metric for c in table.cells)]
    criteria = ", ".join(dict.fromkeys(one for metric in metrics for one in metric.criteria))
    verdicts = f"verdicts of {evaluator(table, cell)} on {criteria} (graphrag-bench compare)"
    return Filled(runs=tuple(runs), lacks=verdicts)
