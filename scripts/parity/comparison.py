"""Two answers to one question compared list by list: the same, the same but for ties, or not.

A list is ids in order, each with the key that ordered it (numbers, higher first) or with none
where the order has another source. Ids whose keys are alike to `CLOSE` are tied: their order says
nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

CLOSE = 1e-6
Kind = Literal["same", "ties", "follows", "differs"]
Key = tuple[float, ...]
BADGES: Mapping[str, str] = {"same": "same", "ties": "same but ties", "differs": "differs"}


@dataclass(frozen=True)
class Ranking:
    """Ids in order, and the key of each; no keys where the order is not by score."""

    ids: tuple[int, ...]
    keys: tuple[Key, ...] = ()

    def head(self, n: int) -> "Ranking":
        """The first `n` ids."""
        return Ranking(self.ids[:n], self.keys[:n])

    def at(self, place: int) -> str:
        """The id at a place with its key, to be read; `nothing` behind the end."""
        if place >= len(self.ids):
            return "nothing"
        key = ", ".join(f"{value:.7g}" for value in self.keys[place]) if self.keys else ""
        return f"{self.ids[place]} ({key})" if key else str(self.ids[place])


@dataclass(frozen=True)
class Difference:
    """The first place at which two lists of a question differ, counted from 1."""

    question: str
    stage: str
    kind: Kind
    place: int
    ours: str
    theirs: str


def compare(
    question: str, ours: Mapping[str, Ranking], theirs: Mapping[str, Ranking]
) -> list[Difference]:
    """The first difference of every list of a question, in the order of the stages; none if equal.

    A difference behind a tie in an earlier list `follows` from it: what was found is searched on.
    Raises KeyError when the two have not the same lists.
    """
    if list(ours) != list(theirs):
        raise KeyError(f"{question}: ours has {list(ours)}, the engine {list(theirs)}")
    result: list[Difference] = []
    for stage, mine in ours.items():
        difference = first_difference(question, stage, mine, theirs[stage])
        if difference is None:
            continue
        before = {one.kind for one in result}
        if difference.kind == "differs" and before and before <= {"ties", "follows"}:
            difference = Difference(
                question, stage, "follows", difference.place, difference.ours, difference.theirs
            )
        result.append(difference)
    return result


def first_difference(
    question: str, stage: str, ours: Ranking, theirs: Ranking
) -> Difference | None:
    """The first place where two lists differ, None where they are equal."""
    pairs = zip_longest(ours.ids, theirs.ids)
    place = next((place for place, (mine, other) in enumerate(pairs) if mine != other), None)
    if place is None:
        return None
    kind: Kind = "ties" if only_ties(ours, theirs) else "differs"
    return Difference(question, stage, kind, place + 1, ours.at(place), theirs.at(place))


def only_ties(ours: Ranking, theirs: Ranking) -> bool:
    """Whether the lists differ only in the order of ids that the engine scores alike.

    Both are equally long. Where the cut falls into the last tied group, its members may differ as
    long as our own keys of those are alike too.
    """
    if not theirs.keys or len(ours.ids) != len(theirs.ids):
        return False
    begins = [0, *(p for p in range(1, len(theirs.ids)) if not _alike(theirs.keys, p - 1, p))]
    for begin, end in zip(begins, [*begins[1:], len(theirs.ids)], strict=True):
        mine, other = set(ours.ids[begin:end]), set(theirs.ids[begin:end])
        if mine == other:
            continue
        last = end == len(theirs.ids)
        if not last or not ours.keys:
            return False
        if not all(_alike(ours.keys, begin, place) for place in range(begin, end)):
            return False
    return True


def _alike(keys: Sequence[Key], one: int, other: int) -> bool:
    pairs = zip(keys[one], keys[other], strict=True)
    return all(abs(a - b) <= CLOSE * max(1.0, abs(a), abs(b)) for a, b in pairs)


def kind_of(differences: Sequence[Difference]) -> Kind:
    """What a question is: `differs` where any list does, else by its first difference."""
    kinds = [one.kind for one in differences]
    if "differs" in kinds:
        return "differs"
    return "follows" if "follows" in kinds else "ties" if kinds else "same"


def badge(kinds: Sequence[Kind]) -> str:
    """The badge of a method: same, same but ties, or differs; `differs` for no question."""
    worst = "differs" if not kinds or "differs" in kinds else "same"
    if worst == "same" and set(kinds) != {"same"}:
        worst = "ties"
    return BADGES[worst]
