"""Judges' verdicts on stored runs, read from the files of `judge` and `compare`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from graphrag_bench.analysis.judging.pairs import VERDICTS
from graphrag_bench.evaluation.statistics import Mean, mean_with_interval
from graphrag_bench.runs.folder import read_lines
from graphrag_bench.runs.judged import judged_rows, judged_values

Compared = tuple[str, str, str, str]
"""The keys of two runs, the criterion and the judge."""
Scopes = Mapping[str, str | None]
"""Question to scope."""
Values = Mapping[str, Mapping[str, Mapping[str, float | None]]]
"""Judge, then metric, then question to value."""


@dataclass
class StoredVerdicts:
    """The verdicts below a home: comparisons/*/verdicts.jsonl, and judged.jsonl of each run."""

    home: Path
    _judged: dict[Path, Values] = field(default_factory=dict)

    @cached_property
    def _won(self) -> dict[Compared, dict[str, dict[str, str]]]:
        held: dict[Compared, dict[str, dict[str, str]]] = {}
        for path in sorted(self.home.glob(f"comparisons/*/{VERDICTS}")):
            for row in read_lines(path):
                if row["winner"] is not None:
                    one, other = sorted((row["first"], row["second"]))
                    asked = held.setdefault((one, other, row["criterion"], row["judge"]), {})
                    asked.setdefault(row["question"], {})[row["first"]] = row["winner"]
        return held

    def judges(self, first: str, second: str, criterion: str) -> list[str]:
        """The judges, sorted, who compared two runs, given by key, by a criterion."""
        compared = [*sorted((first, second)), criterion]
        return sorted(judge for *asked, judge in self._won if asked == compared)

    def won(self, first: str, second: str, criterion: str, judge: str) -> dict[str, float]:
        """Question to what the first run won of it, 0..1; one win in two orders is half.

        Questions without a verdict in both orders are left out.
        """
        one, other = sorted((first, second))
        asked = self._won.get((one, other, criterion, judge), {})
        return {
            question: sum(winner == first for winner in orders.values()) / 2
            for question, orders in asked.items()
            if len(orders) == 2
        }

    def win_rate(self, compared: Sequence[Compared], scopes: Scopes) -> Mean | None:
        """The share of questions that the first runs won, 0..1; None when there is none.

        Of several comparisons (criteria, seeds) each question counts with the mean over those that
        it has. The interval draws questions of one scope together.
        """
        points: dict[str, list[float]] = {}
        for one in compared:
            for question, value in self.won(*one).items():
                points.setdefault(question, []).append(value)
        return mean_of(
            {question: sum(held) / len(held) for question, held in points.items()}, scopes
        )

    def judges_of(self, folder: Path, metric: str) -> list[str]:
        """The judges, sorted, who judged the answers of a run by a metric."""
        return sorted(
            judge
            for judge, held in self._of_run(folder).items()
            if any(value is not None for value in held.get(metric, {}).values())
        )

    def judged(self, folder: Path, metric: str, judge: str, scopes: Scopes) -> Mean | None:
        """The mean of the judged values, 0..1, over questions with one; None without any."""
        return mean_of(self._of_run(folder).get(judge, {}).get(metric, {}), scopes)

    def _of_run(self, folder: Path) -> Values:
        if folder not in self._judged:
            self._judged[folder] = judged_values(judged_rows(folder))
        return self._judged[folder]


def mean_of(values: Mapping[str, float | None], scopes: Scopes) -> Mean | None:
    """The mean over the questions that have a value, drawn by scope; None without any."""
    known = {question: value for question, value in values.items() if value is not None}
    if not known:
        return None
    return mean_with_interval(list(known.values()), scopes=[scopes.get(q) for q in known])
