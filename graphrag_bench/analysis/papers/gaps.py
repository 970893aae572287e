"""What a printed cell lacks: the questions, runs, timings and verdicts that would fill it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from graphrag_bench.analysis.papers.candidates import ORDER, Candidate, pair_candidate, pairs
from graphrag_bench.analysis.papers.filled_cells import Filled
from graphrag_bench.analysis.papers.grading import grade
from graphrag_bench.analysis.papers.offered import Offered, conditions, evaluator, fitting, opposite
from graphrag_bench.analysis.papers.printed import PaperTable, Part, Printed
from graphrag_bench.data.dataset import QUESTIONS

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
    """What fills the gaps of a cell: the settings of its runs, and the commands around them.

    A run that is there and lacks the metric is scored; runs that nobody has compared are
    compared; a win rate takes the runs of both sides and a judge.
    """
    metric = table.metric(cell)
    if metric.criteria:
        return _judging(table, cell, offered, found)
    if metric.time or metric.seconds:
        found = [gap if gap.run else _stored(table, cell, offered, gap.part) for gap in found]
    stored = [gap.run.run.folder.path for gap in found if gap.run]
    own = [table.settings_of_paper(cell, gap.part.own) for gap in found if not gap.run]
    runs = tuple(dict.fromkeys(settings for settings in own if settings))
    if metric.metric and stored:
        wanted = metric.metric.split("|")[0]
        return Filled(after=f"graphrag-bench score {stored[0]} --metrics {wanted}")
    after = ""
    if (metric.time or metric.seconds) and not runs:
        return Filled(reason=_SERIAL)
    if metric.judged_answer:
        runs = runs or tuple(filter(None, [table.settings_of_paper(cell)]))
        after = f"graphrag-bench judge RUN {' '.join(judge_words(table, cell))}"
    return Filled(before=_before(table, cell, runs), runs=runs, after=after)


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
    stored = []
    runs: dict[tuple[str, ...], None] = {}
    for gap in found:
        there = pairs(table, cell, gap.part, offered)
        if there:
            held = [pair_candidate(table, cell, gap.part, pair) for pair in there]
            best = min(held, key=ORDER)
            assert best.other is not None
            stored.append((str(best.run.folder.path), str(best.other.folder.path)))
            continue
        sides = [(cell, gap.part.own), (opposite(cell), gap.part.other)]
        for side, part in sides:
            if settings := table.settings_of_paper(side, part):
                runs[settings] = None
    words = (*judge_words(table, cell), "--criteria", ",".join(_criteria(table)))
    after = f"graphrag-bench compare RUN_A RUN_B {' '.join(words)}" if runs else ""
    before = _before(table, cell, tuple(runs))
    return Filled(None, before, tuple(runs), after, tuple(stored), words)


def _before(table: PaperTable, cell: Printed, runs: Sequence[tuple[str, ...]]) -> str:
    folder = table.paper.datasets[cell.dataset].made
    asked = any(f"dataset.questions={folder}" in settings for settings in runs)
    return table.making(cell.dataset) if asked and not (Path(folder) / QUESTIONS).is_file() else ""


def _criteria(table: PaperTable) -> tuple[str, ...]:
    """The criteria of all win rates of a table, so that one comparison fills it."""
    metrics = dict.fromkeys(cell.metric for cell in table.cells)
    found = (table.paper.metrics[name].criteria for name in metrics)
    return tuple(dict.fromkeys(criterion for held in found for criterion in held))


def judge_words(table: PaperTable, cell: Printed) -> tuple[str, ...]:
    """The settings of the paper's judge."""
    model = table.paper.llms[evaluator(table, cell)]
    return tuple(text.replace("llm", "llm_judge", 1) for text in model.run)
