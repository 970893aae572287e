"""Win rates of two runs by a judge that saw both orders."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from graphrag_bench.evaluation.statistics import Mean, clusters_of, mean_with_interval, sign_flip_p


@dataclass(frozen=True)
class BothOrders:
    """One question: whether A won where it stood first, and where it stood second.

    None where the verdict is missing. `longer` is 1 where A's answer is the longer one, -1 where
    B's is, 0 where they are as long. `equal` answers are a tie, and no judge saw them.
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

    `rate` is the mean of points, so that a tie counts half. `flips` is the share of questions whose
    winner changes with the order, `first` the share of all verdicts for the answer shown first;
    equal answers are in neither, and both are None without others. `longer` is the share of points
    that the longer answer gets, None where none is longer.
    Intervals draw questions of one scope together, and `p` turns them together: it is that of
    `sign_flip_p` on the points of A less those of B, which is a sign test (mid-p) of wins against
    losses where no scope holds two questions.
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


def head_to_head(
    pairs: Sequence[BothOrders], *, scopes: Sequence[str | None] | None = None
) -> HeadToHead:
    """Return the win rates from the verdicts on the questions.

    `scopes` are those of the questions, in the same order.
    """
    every = scopes or [None] * len(pairs)
    known = [(one, of) for one, of in zip(pairs, every, strict=True) if one.points is not None]
    n = len(known)
    if not known:
        return HeadToHead(0, len(pairs))
    points = np.array([pair.points for pair, _ in known], float)
    lengths = np.array([pair.longer for pair, _ in known])
    drawn = [scope for _, scope in known]

    def mean(values: Iterable[float], scopes: Sequence[str | None] = drawn) -> Mean:
        return mean_with_interval([float(value) for value in values], scopes=scopes)

    wins, losses = int(np.sum(points == 1)), int(np.sum(points == 0))
    judged = [(pair, scope) for pair, scope in known if not pair.equal]
    longer = np.where(lengths == 1, points, 1 - points)[lengths != 0]
    of_longer = [scope for scope, one in zip(drawn, lengths, strict=True) if one]
    of_judged = [scope for _, scope in judged]
    first = [(bool(pair.forward) + (not pair.backward)) / 2 for pair, _ in judged]
    (p,) = sign_flip_p(2 * points - 1, clusters_of(drawn))
    return HeadToHead(
        n,
        len(pairs) - n,
        wins,
        n - wins - losses,
        losses,
        rate=mean(points),
        flips=mean((pair.points == 0.5 for pair, _ in judged), of_judged) if judged else None,
        first=mean(first, of_judged) if judged else None,
        longer=mean(longer, of_longer) if len(longer) else None,
        p=round(float(p), 6),
    )
