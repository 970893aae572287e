"""Retrieval operators of single methods, by hand."""

import numpy as np
import pytest
from builds import QUIET, Words
from by_hand import Planted, alone, check, ranked, replying
from scipy.sparse import csr_matrix

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.path_values import Exploration, Hop
from graphrag_bench.columns import Texts
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.tokenizer import OpenAIEncoding
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.errors import UserError
from graphrag_bench.llm.calls import CallFailed
from graphrag_bench.prompts import UNBOUNDED, ContextBudget
from graphrag_bench.values import Answer, Context, Piece, Question
from methods.hipporag2.facts import filter_llm
from methods.lightrag import pick
from methods.linearrag.activation import TriGraph, activate, tri_graph
from methods.tog.answering import exploration_context, if_enough

A, B, C, D, E, F = range(6)
ASKED = Question("q", "asked")


def cosines(*values: float) -> VectorIndex:
    return VectorIndex(np.array([[c, np.sqrt(1 - c * c)] for c in values], np.float32))


def test_chunks_of_nodes_and_relationships_alternate_after_dense_ones(monkeypatch):
    graph = Graph.from_arrays(
        [A, B], [B, C],
        node_chunk=[[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]],
        relationship_chunk=[[0, 1, 0, 0], [0, 0, 1, 1]],
    )  # fmt: skip
    needs = {"graph": graph, "chunk_index": cosines(0.9, 0.5, 0.7, 0.1), "embedder": Planted()}

    def picked(operator, nodes, rows, **settings) -> list[int]:
        reads = ASKED, ranked(*nodes), ranked(*rows), ranked(3)
        return alone(operator)(*reads, **needs, **settings).ids.tolist()

    assert picked(pick.similar, [A, B], [0, 1]) == [0, 2, 1, 3]
    monkeypatch.setattr(pick, "PER_ROW", 1)
    assert picked(pick.similar, [A, B], [0]) == [0]
    # two rows with new chunks, 1 and 2, 3: 2 * 1 / 2 = 1 of these
    assert picked(pick.similar, [A, B], [0, 1]) == [0, 2]
    monkeypatch.setattr(pick, "MIN_COSINE", 0.6)
    assert picked(pick.similar_and_dense, [B], [], top_k=4) == [0, 2]


def test_the_filter_keeps_numbered_facts_or_all_after_unreadable_replies():
    facts = Graph.from_arrays([0, 1, 2, 0], [1, 2, 3, 3])
    rows = ranked(3, 0, 2, scores=(0.9, 0.8, 0.7))
    result = filter_llm(ASKED, rows, graph=facts, llm=replying('{"useful": [2, 1, 9]}'))
    assert result.items() == [(3, 0.9), (0, 0.8)]
    llm = replying("well", "it depends")
    assert filter_llm(ASKED, rows, graph=facts, llm=llm).ids.tolist() == [3, 0, 2]
    assert (len(llm.prompts), llm.meter.fallbacks) == (2, 1)


def test_activation_spreads_along_the_best_sentences():
    """Cosines to the question: `A B` 0.8, `A C` 0.6, `B D` 0.96."""
    named = csr_matrix(np.array([[1, 1, 0], [1, 0, 1], [0, 1, 0], [0, 0, 1]], bool))
    sentences, names = Texts.of(["A met B", "A met C", "B met D"]), ["a", "b", "c", "d"]
    once = csr_matrix(np.ones((4, 1), np.int64))
    needs = {
        "graph": Graph.from_arrays([], [], names=names),
        "tri_graph": TriGraph(Texts.of(names), sentences, named, once),
        "sentence_index": cosines(0.8, 0.6, 0.96),
        "embedder": Planted(),
    }

    def active(rounds: int):
        return alone(activate)(ranked(A), ASKED, rounds=rounds, **needs)

    result, scores = active(1)
    check(result, [A, B], [1.8, 0.8])  # A is in its own sentence
    assert scores.values.round(6).tolist() == [1.0, 0.4, 0.0, 0.0]  # 0.8 / 2
    # B passes 0.8 * 0.96 = 0.768 to B and D; A passes 0.8 * 0.6 = 0.48, which is too little.
    result, scores = active(2)
    check(result, [A, B, D], [1.8, 1.568, 0.768])
    assert scores.values.round(6).tolist() == [1.0, 0.4, 0.0, 0.256]  # 0.768 / 3
    needs["graph"] = Graph.from_arrays([], [], n_nodes=3)
    with pytest.raises(UserError, match="build.graph=entities"):
        active(1)


def test_a_corpus_without_a_name_is_refused() -> None:
    nothing = ChunkTable.of([("a", "", "nothing here")])
    with pytest.raises(UserError, match="no entities"):
        tri_graph(chunk_table=nothing, nlp=Words(), progress=QUIET)


def test_triples_in_order_of_discovery_within_the_budget() -> None:
    graph = Graph.from_arrays([0, 1], [1, 2], names=["ada", "norvik", "tarn"], relations="r")
    explored = Exploration((), ((Hop(1, True, 0.5),), (Hop(0, True, 0.25), Hop(1, True, 0.75))))
    first, second = ("1", "norvik, r, tarn", 0.5), ("0", "ada, r, norvik", 0.25)
    small = ContextBudget(OpenAIEncoding().count(first[1]))
    for budget, pieces, cut in (
        (UNBOUNDED, [first, second], ()), (small, [first], (("relationship", "0"),)),
    ):  # fmt: skip
        result = exploration_context(
            explored, graph=graph, tokenizer=OpenAIEncoding(), context_budget=budget
        )
        assert [(piece.id, piece.text, piece.score) for piece in result.pieces] == pieces
        assert result.cut == cut


def test_yes_gives_the_answer_and_a_failed_call_is_raised() -> None:
    found = Context((Piece("relationship", "1", "norvik, stands on, tarn", 1.0, 6),))
    for reply, answer in (
        ("{Yes} {Tarn}", Answer("Tarn")), ("{No}", None), ("The triples say nothing.", None),
        ("{Yes}", None),
    ):  # fmt: skip
        assert if_enough(ASKED, found, llm=replying(reply)) == answer
    with pytest.raises(CallFailed):
        if_enough(ASKED, found, llm=replying(CallFailed("refused", "no")))
