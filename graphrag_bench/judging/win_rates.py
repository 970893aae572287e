"""Win rates of two runs by a judge that saw both orders."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from graphrag_bench.evaluation.statistics import Mean, clusters_of, mean_with_interval, sign_flip_p


@dataclass(frozen=True)
class BothOrders:
    """One question: whether A won where it stood first, and second; None for no verdict.

    `longer` is 1 where A's answer is the longer one, -1 where B's is, 0 where they are as long.
    `equal` answers are a tie, and no judge saw them.
    """

    forward: bool | None
    backward: bool | None
    longer: int = 0
    equal: bool = False

    @property
    def points(self) -> float | None:
        """1 when A won in both orders, 0 when B did, 0.5 for a tie, None when missing."""
        if self.equal:
            return 0.5
        if self.forward is None or self.backward is None:
            return None
        return (self.forward + self.backward) / 2


@dataclass(frozen=True)
class HeadToHead:
    """A against B over `n` questions with a verdict in both orders; `missing` have not both.

    `names` are the titles of A and B, and the criterion. `rate` is the mean of points, so that a
    tie counts half. `flips` is the share of questions whose winner changes with the order, `first`
    the share of all verdicts for the answer shown first; equal answers are in neither. `longer` is
    the share of points that the longer answer gets. Each is None without questions of its kind.
    Intervals draw, and `p` (`sign_flip_p`) turns, the questions of one scope together.
    """

    n: int
    missing: int
    wins: int = 0
    ties: int = 0
    losses: int = 0
    rate: Mean | None = None
    flips: Mean | None = None
    first: Mean | None = None
    longer: Mean | None = None
    p: float = 1.0
    names: tuple[str, str, str] = ("", "", "")


def head_to_head(
    pairs: Sequence[BothOrders],
    *,
    scopes: Sequence[str | None] | None = None,
    names: tuple[str, str, str] = ("", "", ""),
) -> HeadToHead:
    """Return the win rates from the verdicts on questions, and their `scopes` in the same order."""
    every = list(zip(pairs, scopes or [None] * len(pairs), strict=True))
    known = [(points, one, of) for one, of in every if (points := one.points) is not None]
    if not known:
        return HeadToHead(0, len(pairs), names=names)
    of_a = np.array([value for value, *_ in known])
    judged = [row for row in known if not row[1].equal]
    wins, losses = int(np.sum(of_a == 1)), int(np.sum(of_a == 0))
    (p,) = sign_flip_p(2 * of_a - 1, clusters_of([of for *_, of in known]))
    return HeadToHead(
        len(known),
        len(pairs) - len(known),
        wins,
        len(known) - wins - losses,
        losses,
        rate=_mean((value, of) for value, _, of in known),
        flips=_mean((float(value == 0.5), of) for value, _, of in judged),
        first=_mean(((bool(one.forward) + (not one.backward)) / 2, of) for _, one, of in judged),
        longer=_mean(
            (value if one.longer == 1 else 1 - value, of) for value, one, of in known if one.longer
        ),
        p=round(float(p), 6),
        names=names,
    )


def _mean(scoped: Iterable[tuple[float, str | None]]) -> Mean | None:
    rows = list(scoped)
    if not rows:
        return None
    return mean_with_interval([value for value, _ in rows], scopes=[scope for _, scope in rows])
