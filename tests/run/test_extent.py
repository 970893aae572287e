"""Which of two scorings of a run is narrower than the other."""

from __future__ import annotations

from typing import Any

import pytest

from graphrag_bench.run.folder import is_narrower


def scoring(answered: int = 10, **changes: Any) -> dict[str, Any]:
    return {"split": "all", "dev_share": 0.5, "limit": None, "answered": answered, **changes}


@pytest.mark.parametrize(
    ("new", "held", "narrower"),
    [
        (scoring(2, limit=2), scoring(), True),
        (scoring(), scoring(2, limit=2), False),
        (scoring(), scoring(), False),
        (scoring(0), scoring(), True),
        (scoring(5, split="dev"), scoring(), True),
        (scoring(5, split="dev", limit=5), scoring(8, split="dev", limit=8), True),
        (scoring(5, split="test"), scoring(5, split="dev"), False),
        (scoring(3, split="dev", dev_share=0.3), scoring(5, split="dev"), False),
        (scoring(2, split="dev", limit=2), scoring(5, limit=5), False),
        (scoring(10, limit=10), scoring(5), False),
        (scoring(), {}, False),
    ],
)
def test_a_scoring_is_narrower_when_all_it_is_of_is_in_the_other(
    new: dict[str, Any], held: dict[str, Any], narrower: bool
) -> None:
    """The last but one has fewer questions and more answers, so that neither holds the other."""
    assert is_narrower(new, held) is narrower
