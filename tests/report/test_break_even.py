"""When an index pays: arithmetic by hand, what is not known, and costs from a run's ledgers."""

from collections.abc import Mapping
from typing import Any

import pytest

from graphrag_bench.report.costs import Price, break_even, break_even_table


@pytest.mark.parametrize(
    ("price", "base", "said"),
    [
        ((1000, 60), (0, 100), "26"), ((1000, 59), (0, 100), "25"), ((40, 60), (0, 100), "2"),
        ((30, 60), (0, 100), "from the first"), ((0, 60), (0, 100), "from the first"),
        ((1000, 100), (0, 100), "never"), ((1000, 140), (0, 100), "never"),
        ((0, 100), (0, 100), "never"), ((None, 60), (0, 100), "unknown"),
        ((None, 100), (0, 100), "never"), ((0, 20), (100, 10), "up to 9"),
        ((0, 10), (100, 10), "from the first"), ((5, 10), (None, 20), "unknown"),
    ],
)  # fmt: skip
def test_an_index_pays_once_it_and_the_questions_cost_less_than_the_baselines(
    price: tuple[float | None, float], base: tuple[float | None, float], said: str
) -> None:
    """1000 + 25 * 60 = 25 * 100: 25 questions are even, 26 pay; 40 + 60 = 100 is even too.

    A cheaper index with dearer questions is cheaper at first: 0 + 9 * 20 < 100 + 9 * 10, 10 are
    even.
    """
    assert break_even(Price(*price), Price(*base)) == said


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
    assert found == ("raptor", "vanilla", "1,000", "1.0000", "60", "0.060000", "26", "26")


@pytest.mark.parametrize(
    ("fields", "index", "tokens", "even"),
    [
        ({"extraction": "openie_file"}, "unknown", "60", "unknown"),
        ({"settings": {"graph.import_from": "graph.graphml"}}, "unknown", "60", "unknown"),
        ({"estimate": {"extraction": {"stage": "build", "calls": 20}}}, "unknown", "60", "unknown"),
        ({"extraction": "nlp"}, "0", "60", "from the first"),
        ({"index": 500, "settings": {"graph.per": "partition"}}, "0", "110", "never"),
    ],
)
def test_an_index_made_elsewhere_is_unknown_and_one_for_each_scope_is_paid_by_questions(
    fields: dict[str, Any], index: str, tokens: str, even: str
) -> None:
    """500 tokens for ten questions' indices are 50 each: 60 + 50 is more than 100."""
    found = row(VANILLA, run("raptor", 60.0, **fields))
    assert (found[2], found[4], found[6]) == (index, tokens, even)
    assert index != "unknown" or found[3] == found[7] == "unknown"


def test_floor_ceiling_and_runs_without_answers_have_no_row() -> None:
    rest = [run("oracle", 60.0, role="ceiling"), run("raptor", 60.0, answered=0)]
    assert break_even_table([VANILLA, *rest], "vanilla") is None
    assert break_even_table([run("raptor", 60.0)], "vanilla") is None
