"""What is shown next to a printed cell: a figure of ours, or what would give one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from graphrag_bench.analysis.papers.grading import MISSING, Grade
from graphrag_bench.papers.printed import Printed


@dataclass(frozen=True)
class Figure:
    """Our figure in the unit of the paper, with its interval where there is one, over n questions.

    `failed` counts questions that are left out of the mean; `selected` is the mark of a run that
    was chosen on these questions (`selection.mark`).
    """

    value: float
    low: float | None
    high: float | None
    n: int
    failed: int
    dataset: str
    llm: str
    embedder: str
    profile: str
    fidelity: str
    run: str
    grade: Grade
    selected: str = ""


@dataclass(frozen=True)
class Filled:
    """What is shown next to a printed cell: a figure, or what it lacks, or why there is none.

    `runs` are the settings of the runs that are lacking, `lacks` says what else is. A figure that
    is a mean over several runs may lack some too. `failure` is the error of a run of which every
    question failed.
    """

    figure: Figure | None = None
    runs: tuple[tuple[str, ...], ...] = ()
    lacks: str = ""
    reason: str = ""
    failure: str = ""

    @property
    def missing(self) -> str:
        """What would fill the cell, in words."""
        return "; ".join(filter(None, [count_of_runs(len(self.runs)), self.lacks]))


def count_of_runs(n_runs: int) -> str:
    """The number of runs in words; "" for none."""
    return f"{n_runs} run{'s' if n_runs > 1 else ''}" if n_runs else ""


Cells = Mapping[Printed, Filled]


def difference(cell: Printed, filled: Cells) -> str:
    """Ours minus the paper's, signed, for grades A and B; "–" otherwise."""
    figure = filled[cell].figure
    if figure is None or not figure.grade.comparable or cell.value is None:
        return MISSING
    return f"{figure.value - cell.value:+.1f}"
