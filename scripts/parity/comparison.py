"""The cases of parity, and the comparison of two answers to one question, list by list.

A list is ids in order, each with the key that ordered it (numbers, higher first), or without keys.
Ids whose keys differ by at most `CLOSE` are tied: their order says nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal, get_args

import yaml

CLOSE = 1e-6
Kind = Literal["same", "ties", "follows", "differs"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Key = tuple[float, ...]


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


@dataclass(frozen=True)
class Ranking:
    """Ids in order, with their sort keys; no keys if the order is not by score."""

    ids: tuple[int, ...]
    keys: tuple[Key, ...] = ()

    def head(self, n: int | None) -> "Ranking":
        """Return the first `n` ids; None returns all."""
        return Ranking(self.ids[:n], self.keys[:n])

    def at(self, place: int) -> str:
        """Return the id at a place with its key as text; `nothing` after the end."""
        if place >= len(self.ids):
            return "nothing"
        key = ", ".join(f"{value:.7g}" for value in self.keys[place]) if self.keys else ""
        return f"{self.ids[place]} ({key})" if key else str(self.ids[place])


@dataclass(frozen=True)
class Difference:
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
        pairs = zip_longest(mine.ids, other.ids)
        place = next((place for place, (one, two) in enumerate(pairs) if one != two), None)
        if place is None:
            continue
        kind: Kind = "ties" if only_ties(mine, other) else "differs"
        if kind == "differs" and result and all(one.kind in ("ties", "follows") for one in result):
            kind = "follows"
        result.append(Difference(question, stage, kind, place + 1, mine.at(place), other.at(place)))
    return result


def only_ties(ours: Ranking, theirs: Ranking) -> bool:
    """Return whether two lists of equal length differ only in the order of ids with equal keys.

    If the cut falls into the last group of tied ids, its members may differ, provided that our own
    keys are tied too.
    """
    if not theirs.keys or len(ours.ids) != len(theirs.ids):
        return False
    begins = [0, *(p for p in range(1, len(theirs.ids)) if not _tied(theirs.keys, p - 1, p))]
    for begin, end in zip(begins, [*begins[1:], len(theirs.ids)], strict=True):
        mine, other = set(ours.ids[begin:end]), set(theirs.ids[begin:end])
        if mine == other:
            continue
        last = end == len(theirs.ids)
        if not last or not ours.keys:
            return False
        if not all(_tied(ours.keys, begin, place) for place in range(begin, end)):
            return False
    return True


def _tied(keys: Sequence[Key], one: int, other: int) -> bool:
    pairs = zip(keys[one], keys[other], strict=True)
    return all(abs(a - b) <= CLOSE * max(1.0, abs(a), abs(b)) for a, b in pairs)


def worst_kind(differences: Sequence[Difference]) -> Kind:
    """Return the kind of a question: the gravest of its lists."""
    return max((one.kind for one in differences), key=KINDS.index, default="same")


def badge(kinds: Sequence[Kind]) -> str:
    """Return same, same but ties, or differs; `differs` for no question."""
    if not kinds or "differs" in kinds:
        return "differs"
    return "same" if set(kinds) == {"same"} else "same but ties"
