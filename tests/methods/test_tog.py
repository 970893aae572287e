"""Think-on-Graph's context and answers, by hand; the model's replies are planned."""

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
from methods.tog.answering import exploration_context, if_enough

QUESTION = Question("q", "On which mountain does the town stand that Ada founded?")
TWO = Context((Piece("relationship", "1", "norvik, stands on, tarn", 1.0, 6),))


def test_triples_stand_in_the_order_found_each_once_as_far_as_the_budget_goes() -> None:
    # Ada founded Norvik (row 0), which stands on Tarn (row 1).
    base = Graph.from_arrays([0, 1], [1, 2], names=["ada", "norvik", "tarn"])
    graph = replace(base, relations=Texts.of(["founded", "stands on"]))
    explored = Exploration((), ((Hop(1, True, 0.5),), (Hop(0, True, 0.25), Hop(1, True, 0.75))))
    result = exploration_context(
        explored, graph=graph, tokenizer=BytePairs(), context_budget=UNBOUNDED
    )
    assert [(piece.id, piece.text, piece.score) for piece in result.pieces] == [
        ("1", "norvik, stands on, tarn", 0.5),
        ("0", "ada, founded, norvik", 0.25),
    ]
    explored = Exploration((), ((Hop(0, True, 0.5), Hop(1, True, 0.5)),))
    small = BytePairs().count("ada, founded, norvik")
    result = exploration_context(
        explored, graph=graph, tokenizer=BytePairs(), context_budget=ContextBudget(small)
    )
    assert [piece.id for piece in result.pieces] == ["0"]
    assert result.cut == (("relationship", "1"),)


def test_a_yes_gives_the_answer_and_a_failed_call_is_raised() -> None:
    llm = replying("{Yes} {Tarn}")
    assert if_enough(QUESTION, TWO, llm=llm) == Answer("Tarn")
    with pytest.raises(CallFailed):
        if_enough(QUESTION, TWO, llm=replying(CallFailed("refused", "no")))


@pytest.mark.parametrize("reply", ["{No}", "The triples say nothing.", "{Yes}"])
def test_without_a_yes_and_an_answer_the_exploration_goes_on(reply: str) -> None:
    assert if_enough(QUESTION, TWO, llm=replying(reply)) is None
