"""When an index pays: arithmetic by hand, what is not known, and costs from a run's ledgers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from graphrag_bench.report.costs import Price, break_even, break_even_table

BASE = Price(0, 100)


@pytest.mark.parametrize(
    ("price", "said"),
    [
        (Price(1000, 60), "26"),
        (Price(1000, 59), "25"),
        (Price(30, 60), "from the first"),
        (Price(40, 60), "2"),
        (Price(0, 60), "from the first"),
        (Price(1000, 100), "never"),
        (Price(1000, 140), "never"),
        (Price(0, 100), "never"),
        (Price(None, 60), "unknown"),
        (Price(None, 100), "never"),
    ],
)
def test_an_index_pays_once_it_and_the_questions_cost_less_than_the_baselines(
    price: Price, said: str
) -> None:
    """1000 + 25 * 60 = 25 * 100: 25 questions are even, 26 pay; 40 + 60 = 100 is even too."""
    assert break_even(price, BASE) == said


def test_a_cheaper_index_with_dearer_questions_is_cheaper_at_first() -> None:
    """0 + 9 * 20 < 100 + 9 * 10 for 9 questions; 10 are even."""
    assert break_even(Price(0, 20), Price(100, 10)) == "up to 9"
    assert break_even(Price(0, 10), Price(100, 10)) == "from the first"
    assert break_even(Price(5, 10), Price(None, 20)) == "unknown"


def stage(prompt: int, completion: int, usd: float = 0.0) -> Mapping[str, Any]:
    part = {"calls": 1, "prompt_tokens": prompt, "completion_tokens": completion, "usd": usd}
    empty = dict.fromkeys(part, 0)
    return {"paid": part, "cached": empty}


def run(method: str, a_question: float, index: int = 0, **fields: Any) -> dict[str, Any]:
    """A run of ten questions whose index and questions cost so many tokens, a dollar a thousand."""
    stages = {"generate": stage(int(a_question * 10), 0, a_question / 100)}
    if index:
        stages["build"] = stage(index, 0, index / 1000)
    return {
        "title": method, "method": method, "role": "", "dataset": "toy", "settings": {},
        "key": method, "answered": 10, "n": 10, "extraction": "", "estimate": {},
        "usage": {"tokens_per_question": a_question},
        "cost": {"stages": stages, "steps": dict.fromkeys(stages)},
        **fields,
    }  # fmt: skip


def row(*runs: dict[str, Any]) -> tuple[str, ...]:
    made = break_even_table(runs, "vanilla")
    assert made is not None
    (only,) = made.rows
    return only


VANILLA = run("vanilla", 100.0, role="baseline")


def test_a_row_holds_index_question_and_break_even_in_tokens_and_dollars() -> None:
    found = row(VANILLA, run("raptor", 60.0, index=1000))
    assert found == (
        "raptor", "vanilla", "1,000", "1.0000", "60", "0.060000", "26", "26",
    )  # fmt: skip


def test_an_index_made_elsewhere_is_unknown_and_not_free() -> None:
    for fields in (
        {"extraction": "openie_file"},
        {"settings": {"graph.import_from": "graph.graphml"}},
        {"estimate": {"extraction": {"stage": "build", "calls": 20}}},
    ):
        found = row(VANILLA, run("hipporag", 60.0, **fields))
        assert found[2] == found[3] == found[6] == found[7] == "unknown"


def test_an_index_without_a_call_costs_nothing() -> None:
    found = row(VANILLA, run("hipporag", 60.0, extraction="nlp"))
    assert (found[2], found[6]) == ("0", "from the first")


def test_where_each_scope_has_its_index_a_question_pays_for_it() -> None:
    """500 tokens for ten questions' indices are 50 each: 60 + 50 is more than 100."""
    scoped = {"settings": {"graph.per": "partition"}}
    found = row(VANILLA, run("raptor", 60.0, index=500, **scoped))
    assert (found[2], found[4], found[6]) == ("0", "110", "never")


def test_floor_ceiling_and_runs_without_answers_have_no_row() -> None:
    rest = [run("oracle", 60.0, role="ceiling"), run("raptor", 60.0, answered=0)]
    assert break_even_table([VANILLA, *rest], "vanilla") is None
    assert break_even_table([run("raptor", 60.0)], "vanilla") is None
