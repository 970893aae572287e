"""Think-on-Graph's context and answers, worked out by hand; the model's replies are planned."""

from dataclasses import replace

import pytest
from by_hand import replying

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.path_values import Exploration, Hop
from graphrag_bench.columns import Texts
from graphrag_bench.embedding.tokenizer import BytePairs
from graphrag_bench.llm.calls import CallFailed
from graphrag_bench.prompts import UNBOUNDED, ContextBudget
from graphrag_bench.values import Answer, Context, Piece, Question
from methods.tog.answering import exploration_context, from_triples, if_enough

ASKED = Question("q", "On which mountain does the town stand that Ada founded?")
TWO = Context(
    (
        Piece("relationship", "0", "ada, founded, norvik", 1.0, 5),
        Piece("relationship", "1", "norvik, stands on, tarn", 1.0, 6),
    )
)


def hop(row: int, score: float) -> Hop:
    return Hop(row, True, score)


def test_triples_stand_in_the_order_found_each_once_as_far_as_the_budget_goes() -> None:
    # Ada founded Norvik (row 0), which stands on Tarn (row 1).
    base = Graph.from_arrays([0, 1], [1, 2], names=["ada", "norvik", "tarn"])
    graph = replace(base, relations=Texts.of(["founded", "stands on"]))
    explored = Exploration((), ((hop(1, 0.5),), (hop(0, 0.25), hop(1, 0.75))))
    found = exploration_context(
        explored, graph=graph, tokenizer=BytePairs(), context_budget=UNBOUNDED
    )
    assert [(piece.id, piece.text, piece.score) for piece in found.pieces] == [
        ("1", "norvik, stands on, tarn", 0.5),
        ("0", "ada, founded, norvik", 0.25),
    ]
    explored = Exploration((), ((hop(0, 0.5), hop(1, 0.5)),))
    small = BytePairs().count("ada, founded, norvik")
    found = exploration_context(
        explored, graph=graph, tokenizer=BytePairs(), context_budget=ContextBudget(small)
    )
    assert [piece.id for piece in found.pieces] == ["0"]
    assert found.cut == (("relationship", "1"),)


def test_the_model_sees_the_triples_of_the_context_or_none_and_a_failed_call_is_raised() -> None:
    llm = replying("{Yes} {Tarn}")
    assert if_enough(ASKED, TWO, llm=llm) == Answer("Tarn")
    shown = llm.asked[0][-1].content
    assert "(ada, founded, norvik)\n(norvik, stands on, tarn)" in shown
    assert ASKED.text in shown
    assert from_triples(ASKED, Context(()), llm=replying(" Tarn ")) == Answer("Tarn")
    with pytest.raises(CallFailed):
        from_triples(ASKED, TWO, llm=replying(CallFailed("refused", "no")))


@pytest.mark.parametrize("said", ["{No}", "The triples say nothing.", "{Yes}"])
def test_without_a_yes_and_an_answer_the_exploration_goes_on(said: str) -> None:
    assert if_enough(ASKED, TWO, llm=replying(said)) is None
