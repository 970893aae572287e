"""Relationships in contexts: what a budget cuts, in which order the rest stand."""

from typing import Any

import numpy as np
import pytest

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.prompts import ContextBudget
from graphrag_bench.values import Context, Piece, Ranked
from operators.context.fitting import fitting
from operators.context.rows import relationships_context

GRAPH = Graph.from_arrays([0, 1, 2, 3], [1, 2, 3, 4])


class Words:
    """A tokenizer to which every line is ten tokens."""

    identity = "ten"

    def count(self, text: str) -> int:
        return 10


def given(*scored: tuple[int, float]) -> Ranked:
    return Ranked(np.array([row for row, _ in scored]), np.array([score for _, score in scored]))


BEST_LAST = given((2, 0.1), (0, 0.3), (3, 0.3), (1, 0.9))


def packed(
    relationships: Ranked, held: Context | None = None, budget: int | None = None, **settings: Any
) -> Context:
    bound = ContextBudget(budget)
    return relationships_context(
        relationships, held, graph=GRAPH, tokenizer=Words(), context_budget=bound, **settings
    )


def rows(context: Context) -> list[str]:
    return [piece.id for piece in context.pieces]


def test_the_last_are_cut_unless_the_lowest_are_asked_for():
    last = packed(BEST_LAST, budget=25)
    assert (rows(last), last.cut) == (["2", "0"], (("relationship", "3"), ("relationship", "1")))
    lowest = packed(BEST_LAST, budget=25, cut="lowest")
    assert rows(lowest) == ["0", "1"]
    assert lowest.cut == (("relationship", "3"), ("relationship", "2"))


@pytest.mark.parametrize("budget", [5, 25, 40])
def test_those_that_fit_are_those_that_the_context_would_keep(budget: int):
    held = Context((Piece("node", "n", "x", 1.0, 10),), (), 0.5)
    ways: dict[str, Any] = {"share": 0.5, "top_k": 3}
    bound = ContextBudget(budget)
    found = fitting(BEST_LAST, held, graph=GRAPH, tokenizer=Words(), context_budget=bound, **ways)
    assert [str(row) for row in found.ids] == rows(packed(BEST_LAST, held, budget, **ways))[1:]
    assert found.scores.tolist() == BEST_LAST.scores[: len(found)].tolist()


def test_a_block_with_tokens_of_its_own_takes_no_more_and_hands_none_on():
    """Of 100 tokens the first block may take 35 and takes 10; half of the rest is 50, not 75."""
    first = packed(given((0, 1.0)), budget=100, share=35)
    assert (first.n_tokens, first.share) == (10, 0.1)
    after = packed(given(*((row, 1.0) for row in (0, 1, 2, 3, 0, 1))), first, budget=100, share=0.5)
    assert after.n_tokens == 60
    assert packed(BEST_LAST, after, budget=100, share=20).n_tokens == 80
    assert packed(BEST_LAST, after, budget=70, share=20).n_tokens == 70
    assert packed(BEST_LAST, share=20).n_tokens == 20
