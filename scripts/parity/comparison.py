"""The cases of parity, the comparison of two answers to one question, and docs/parity.md.

A list is ids in order, each with the key that ordered it (numbers, higher first), or without keys.
Ids whose keys differ by at most `CLOSE` are tied: their order says nothing.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, zip_longest
from math import isclose
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import yaml

from graphrag_bench.report.rows import group_by
from scripts.markdown import ROOT, table, with_part

UNEXPLAINED = "**No reason is known.**"
PAGE = ROOT / "docs" / "parity.md"
CLOSE = 1e-6
Kind = Literal["same", "ties", "follows", "differs"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Case:
    """A method and the mode of an engine to compare it with, from `cases.yaml`.

    `distribution` is the name for pip; `reasons` explain the first difference of each list.
    """

    name: str
    method: str
    engine: str
    distribution: str
    mode: str
    stages: Mapping[str, int | None]
    notes: tuple[str, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)


def cases() -> dict[str, Case]:
    """Return the cases by name."""
    text = Path(__file__).with_name("cases.yaml").read_text(encoding="utf-8")
    return {name: Case(name, **fields) for name, fields in yaml.safe_load(text).items()}


class Ranking(NamedTuple):
    """Ids in order, with their sort keys; no keys if the order is not by score."""

    ids: tuple[int, ...]
    keys: tuple[tuple[float, ...], ...] = ()

    def at(self, place: int) -> str:
        """Return the id at a place with its key as text; `nothing` after the end."""
        if place >= len(self.ids):
            return "nothing"
        key = ", ".join(f"{value:.7g}" for value in self.keys[place]) if self.keys else ""
        return f"{self.ids[place]}" + f" ({key})" * bool(key)

    def tied(self, one: int, other: int) -> bool:
        """Return whether the keys at two places are equal up to `CLOSE`."""
        pairs = zip(self.keys[one], self.keys[other], strict=True)
        return all(isclose(a, b, rel_tol=CLOSE, abs_tol=CLOSE) for a, b in pairs)


class Difference(NamedTuple):
    """The first place, counted from 1, at which two lists of a question differ."""

    question: str
    stage: str
    kind: Kind
    place: int
    ours: str
    theirs: str


def compare(
    question: str, ours: Mapping[str, Ranking], theirs: Mapping[str, Ranking]
) -> list[Difference]:
    """Return the first difference of each list that differs, in the order of the stages.

    A difference behind a tie in an earlier list `follows` from it: later stages search on from it.
    Raises KeyError when the two do not have the same lists.
    """
    if list(ours) != list(theirs):
        raise KeyError(f"{question}: ours has {list(ours)}, the engine {list(theirs)}")
    result: list[Difference] = []
    for stage, mine in ours.items():
        other = theirs[stage]
        pairs = enumerate(zip_longest(mine.ids, other.ids))
        if (place := next((place for place, (one, two) in pairs if one != two), None)) is None:
            continue
        tied = result and all(one.kind in ("ties", "follows") for one in result)
        kind: Kind = "ties" if only_ties(mine, other) else "follows" if tied else "differs"
        result.append(Difference(question, stage, kind, place + 1, mine.at(place), other.at(place)))
    return result


def only_ties(ours: Ranking, theirs: Ranking) -> bool:
    """Return whether two lists of equal length differ only in the order of ids with equal keys.

    The members of the last group may differ if our keys are tied too: the cut falls into it.
    """
    n = len(theirs.ids)
    if not theirs.keys or len(ours.ids) != n:
        return False
    begins = [place for place in range(1, n) if not theirs.tied(place - 1, place)]
    for begin, end in pairwise([0, *begins, n]):
        same = set(ours.ids[begin:end]) == set(theirs.ids[begin:end])
        cut = end == n and ours.keys and all(ours.tied(begin, place) for place in range(begin, n))
        if not same and not cut:
            return False
    return True


def badge(kinds: Sequence[Kind]) -> str:
    """Return same, same but ties, or differs; `differs` for no question."""
    if not kinds or "differs" in kinds:
        return "differs"
    return "same" if set(kinds) == {"same"} else "same but ties"


@dataclass(frozen=True)
class Result:
    """The result of a case: the engine's version, and the differences of every question."""

    case: Case
    version: str
    differences: Mapping[str, Sequence[Difference]]

    def first(self) -> list[Difference]:
        """Return the first difference of every stage and kind, in the order of the questions."""
        firsts = (one for one, *_ in filter(None, self.differences.values()))
        return [one for one, *_ in group_by(firsts, lambda one: (one.stage, one.kind)).values()]

    def kinds(self) -> tuple[str, str]:
        """Return the badge, and the number of questions by the gravest kind of their lists."""
        found = ((one.kind for one in lists) for lists in self.differences.values())
        kinds = [max(kinds, key=KINDS.index, default="same") for kinds in found]
        counts = Counter(kinds)
        return badge(kinds), ", ".join(f"{counts[one]} {one}" for one in KINDS if counts[one])

    def unexplained(self) -> list[str]:
        """Return case, stage and question of each first difference without a reason."""
        return [
            f"{self.case.name}, {one.stage} of {one.question}: place {one.place}, ours {one.ours}, "
            f"theirs {one.theirs} ({one.kind})"
            for one in self.first()
            if one.stage not in self.case.reasons
        ]


def with_results(page: str, results: Sequence[Result]) -> str:
    """Return the page with the table of badges and the first differences between its markers."""
    rows, lines = [], []
    for result in results:
        case = result.case
        lists = ", ".join(f"{one} (first {n})" if n else one for one, n in case.stages.items())
        changed = "".join(f" {name}={value}" for name, value in case.settings.items())
        ours = f"`{case.method}`" + (f" with{changed}" if changed else "")
        engine = f"{case.distribution} {result.version}, {case.mode}"
        rows.append((case.name, ours, engine, lists, *result.kinds()))
        lines += [f"\n### {case.name}\n", *(f"- {note}" for note in case.notes)]
        lines += ["\nNo list of any question differs."] * (not result.first())
        for one in result.first():
            why = case.reasons.get(one.stage, UNEXPLAINED).strip()
            tied = " (a tie)" if one.kind == "ties" else ""
            item = "community" if one.stage == "communities" else one.stage.removesuffix("s")
            mine, other = (f"no {item}" if at == "nothing" else f"{item} {at}" for at in one[-2:])
            place = f"At place {one.place}, our list has {mine} and the engine's list has {other}."
            lines.append(f"\n**{one.stage}** of {one.question}{tied}: {place} {why}")
    badges = table(("case", "our method", "engine", "lists", "badge", "questions"), rows)
    page = with_part(page, "badges", "parity.py", badges)
    return with_part(page, "differences", "parity.py", lines)
