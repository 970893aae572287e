"""The page docs/parity.md, out of the results of the cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from parity.cases import Case, reasons
from parity.comparison import Difference, Kind, badge, kind_of


@dataclass(frozen=True)
class Result:
    """A case that was run: the engine's version, and every question's differences."""

    case: Case
    version: str
    differences: Mapping[str, Sequence[Difference]]
    prompts: Sequence[Mapping[str, Any]] = field(default=(), repr=False)

    @property
    def kinds(self) -> list[Kind]:
        """What each question is."""
        return [kind_of(found) for found in self.differences.values()]

    @property
    def badge(self) -> str:
        """same, same but ties, or differs."""
        return badge(self.kinds)

    def first(self) -> list[Difference]:
        """The first difference of every stage and kind, by question in the order asked."""
        found: dict[tuple[str, str], Difference] = {}
        for differences in self.differences.values():
            for one in differences[:1]:
                found.setdefault((one.stage, one.kind), one)
        return list(found.values())

    def line(self) -> str:
        """The case on one line."""
        counts = Counter(self.kinds)
        said = ", ".join(f"{counts[kind]} {kind}" for kind in KINDS if counts[kind])
        return f"{self.case.name}: {self.badge}; {said} of {len(self.kinds)} questions"


KINDS: tuple[Kind, ...] = ("same", "ties", "follows", "differs")


def unexplained(results: Sequence[Result]) -> list[str]:
    """The case, stage and question of every first difference without a reason."""
    held = reasons()
    return [
        f"{result.case.name}, {one.stage} of {one.question}: place {one.place}, ours {one.ours}, "
        f"theirs {one.theirs} ({one.kind})"
        for result in results
        for one in result.first()
        if one.stage not in held.get(result.case.name, {})
    ]


def page(results: Sequence[Result]) -> str:
    """The whole page."""
    return "\n".join(_lines(results)) + "\n"


def _lines(results: Sequence[Result]) -> Iterator[str]:
    for result in results:
        yield result.line()
