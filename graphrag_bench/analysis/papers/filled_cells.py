"""What is shown next to a printed cell: a figure of ours, or what would give one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from graphrag_bench.analysis.papers.grading import MISSING, Grade
from graphrag_bench.analysis.papers.printed import Printed


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
    """What is shown next to a printed cell: a figure, or what gives one, or why none does.

    `before` is the command that makes the questions, `runs` are the settings of the runs that are
    lacking, `after` is the command that follows them; `compare` are the folders of pairs of runs
    that a judge has still to compare, `judge` its settings. A figure that is a mean over several
    runs may have such gaps too. `failure` is the error of a row that was run and ended with one.
    """

    figure: Figure | None = None
    before: str = ""
    runs: tuple[tuple[str, ...], ...] = ()
    after: str = ""
    compare: tuple[tuple[str, str], ...] = ()
    judge: tuple[str, ...] = ()
    reason: str = ""
    failure: str = ""


Cells = Mapping[Printed, Filled]


def difference(cell: Printed, filled: Cells) -> str:
    """Ours minus the paper's, signed, for grades A and B; "–" otherwise."""
    figure = filled[cell].figure
    if figure is None or not figure.grade.comparable or cell.value is None:
        return MISSING
    return f"{figure.value - cell.value:+.1f}"
