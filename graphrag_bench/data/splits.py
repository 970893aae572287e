"""The dev and the test part of a data set: which is which follows from the question's id alone."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal

from graphrag_bench.values import Question

Split = Literal["all", "dev", "test"]
DEV_SHARE = 0.5
"""The share of the questions that settings may be chosen on, unless `dev_share` says another."""


def is_dev(question_id: str, dev_share: float = DEV_SHARE) -> bool:
    """Whether a question is of the dev part; the others are of the test part.

    The first 8 bytes of the sha256 of the id, as a share of all that 8 bytes can hold, lie below
    `dev_share` (between 0 and 1). So a question stays where it is when others come or go, on every
    machine, and a larger dev part holds a smaller one.
    """
    first = hashlib.sha256(question_id.encode()).digest()[:8]
    return int.from_bytes(first, "big") < dev_share * 2**64


def within_split(
    questions: Sequence[Question], split: Split, dev_share: float = DEV_SHARE
) -> list[Question]:
    """The questions of a part, in their order; all of them for `all`."""
    if split == "all":
        return list(questions)
    return [one for one in questions if is_dev(one.id, dev_share) == (split == "dev")]
