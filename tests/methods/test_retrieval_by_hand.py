"""Retrieval operators of single methods, by hand."""

from dataclasses import replace

import numpy as np
import pytest
from builds import QUIET, Words, dense
from by_hand import Planted, alone, check, ranked, replying
from scipy.sparse import csr_matrix

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.path_values import (
    Exploration,
    Hop,
    RankedPaths,
    ReasoningSteps,
    StepNodes,
)
from graphrag_bench.columns import Texts
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.tokenizer import OpenAIEncoding
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.errors import UserError
from graphrag_bench.llm.calls import CallFailed
from graphrag_bench.prompts import UNBOUNDED, ContextBudget
from graphrag_bench.values import (
    Answer,
    ChunkScores,
    Context,
    Keywords,
    NodeScores,
    Path,
    Piece,
    Query,
    Question,
)
from methods.hipporag2.facts import filter_llm, link
from methods.lightrag import pick
from methods.linearrag.activation import TriGraph, activate, activated, tri_graph
from methods.pathcorag.steps import by_step, members
from methods.pathrag.paths import by_keyword
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


def vector_in(text: str) -> list[float]:
    return [float(part) for part in text.replace(",", " ").split()[-3:]]


def nodes_at(*vectors: tuple[float, float, float]) -> dict[str, object]:
    index = VectorIndex(np.array(vectors, np.float32))
    return {"node_index": index, "embedder": Planted(vector_in)}


def test_keywords_take_turns():
    """X prefers 0, 1, 2; Y prefers 1 (.96), 2 (.8), 0 (.6): X takes 0, Y 1, X 2, Y 3."""
    three, question = nodes_at((1, 0, 0), (0.8, 0.6, 0), (0, 1, 0), (0, 0, 1)), Question("q", "")
    x, y = "1 0 0", "0.6 0.8 0"
    result = alone(by_keyword)(question, Keywords((x, y), ()), top_k=4, **three)
    check(result, [0, 1, 2, 3], [1.0, 0.96, 0.0, 0.0])
    turned = alone(by_keyword)(question, Keywords((y, x), ()), top_k=3, **three)
    assert turned.ids.tolist() == [1, 0, 2]


def steps_of(assigned: StepNodes) -> dict[int, int]:
    return dict(zip(assigned.ids.tolist(), assigned.steps.tolist(), strict=True))


def test_a_node_belongs_to_its_most_similar_step_or_best_rank():
    six = nodes_at((1, 0, 0), (0.8, 0.6, 0), (0, 1, 0), (0, 0.6, 0.8), (0, 0, 1), (0.6, 0, 0.8))
    queries = (("1 0 0", "0.8 0.6 0"), ("0 1 0", "0 0.8 0.6"), ("0 0 1", "0.6 0 0.8"))
    assigned = by_step(ReasoningSteps(("one", "two", "three"), queries), **six)
    assert steps_of(assigned) == {0: 1, 1: 1, 2: 2, 4: 3, 5: 3, 3: 2}
    assert assigned.scores.tolist() == pytest.approx([1, 1, 1, 1, 1, 0.96], abs=1e-6)
    assert (assigned.n_steps, assigned.of(2)[0].tolist()) == (3, [2, 3])
    # Node 0 has .8, the best, in step 1, and .96 in step 2, where node 1 has 1; node 1 has .6.
    near = nodes_at((0.8, 0.6, 0), (0.6, 0.8, 0))
    steps = ReasoningSteps(("one", "two"), (("1 0 0",), ("0.6 0.8 0",)))
    assert steps_of(by_step(steps, **near)) == {1: 2, 0: 2}
    by_rank = by_step(steps, assign="rank", **near)
    assert steps_of(by_rank) == {1: 2, 0: 1}
    assert by_rank.scores.tolist() == pytest.approx([1, 0.8])


def test_members_of_paths_in_order_of_first_appearance():
    two = RankedPaths((Path((C, D), (3,), 0.9, 1), Path((A, C, D), (1, 3), 0.8, 1)))
    nodes, rows = members(two)
    assert nodes.items() == [(C, 0.9), (D, 0.9), (A, 0.8)]
    assert rows.items() == [(3, 0.9), (1, 0.8)]
    # D-E of the second transition is better than A-C-D of the first.
    three = RankedPaths(
        (Path((D, E), (5,), 0.9, 2), Path((A, C), (1,), 0.8, 1), Path((A, C, D), (1, 3), 0.7, 1))
    )
    nodes, rows = members(three, order="transition")
    assert nodes.items() == [(A, 0.8), (C, 0.8), (D, 0.9), (E, 0.9)]
    assert rows.items() == [(1, 0.8), (3, 0.7), (5, 0.9)]


WHO = Question("q", "Who built the lighthouse?")
FACTS = replace(
    Graph.from_arrays([0, 1, 2, 0], [1, 2, 3, 3], names=["ada", "norvik", "tarn", "ostra"]),
    synonym=np.array([False, True, False, False]),
)
"""Three facts and a synonymy edge."""


def test_fact_scores_are_min_max_normalised():
    """Cosines to the question 0, 0.6 and 1, to `north` 1, 0.8 and 0; the synonymy edge has 0."""
    needs = {
        "graph": FACTS,
        "relationship_index": VectorIndex(
            np.array([[0, 1], [0, 0], [0.6, 0.8], [1, 0]], np.float32)
        ),
        "embedder": Planted(lambda text: (0, 1) if text == "north" else (1, 0)),
    }
    check(alone(link)(WHO, **needs), [3, 2, 0], [1.0, 0.6, 0.0])
    result = alone(link)(WHO, Query(("north",)), top_k=4, **needs)
    assert result.ids.tolist() == [0, 2, 3]


def test_the_filter_keeps_numbered_facts_or_all_after_unreadable_replies():
    llm = replying('{"useful": [2, 1, 9]}')
    rows = ranked(3, 0, 2, scores=(0.9, 0.8, 0.7))
    assert filter_llm(WHO, rows, graph=FACTS, llm=llm).items() == [(3, 0.9), (0, 0.8)]
    llm = replying("well", "it depends")
    assert filter_llm(WHO, rows, graph=FACTS, llm=llm).ids.tolist() == [3, 0, 2]
    assert (len(llm.prompts), llm.meter.fallbacks) == (2, 1)


def weights(result) -> dict[int, float]:
    return dict(zip(result.ids.tolist(), result.scores.round(6).tolist(), strict=True))


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

    def active(rounds: int, **settings):
        return alone(activate)(ranked(A), ASKED, rounds=rounds, **settings, **needs)

    result, scores = active(1)
    assert weights(result) == {A: 1.8, B: 0.8}  # A is in its own sentence
    assert scores.values.round(6).tolist() == [1.0, 0.4, 0.0, 0.0]  # 0.8 / 2
    # B passes 0.8 * 0.96 = 0.768 to B and D; A passes 0.8 * 0.6 = 0.48, which is too little.
    result, scores = active(2)
    assert weights(result) == {A: 1.8, B: 1.568, D: 0.768}
    assert scores.values.round(6).tolist() == [1.0, 0.4, 0.0, 0.256]  # 0.768 / 3
    needs["graph"] = Graph.from_arrays([], [], n_nodes=3)
    with pytest.raises(UserError, match="build.graph=entities"):
        active(1)


def test_a_chunk_gains_by_mentions_of_active_nodes():
    """Chunk 0: 1.5 * 1 + ln(1 + 1 ln 2) = 2.026589; chunk 1: ln(1 + ln 4 + 0.5 ln 2) = 1.005352."""
    # A is named once in chunk 0 and three times in chunk 1, B once in chunk 1.
    counts = csr_matrix(np.array([[1, 3], [0, 1]], np.int64))
    mentions = TriGraph(Texts.of(["a", "b"]), Texts.of([]), csr_matrix((2, 0), dtype=bool), counts)
    similar, active = ChunkScores(np.array([1.0, 0.0])), NodeScores(np.array([1.0, 0.5]))
    result = alone(activated)(similar, active, tri_graph=mentions)
    np.testing.assert_allclose(result.values, [2.026589, 1.005352], atol=1e-6)


SPOKEN = ChunkTable.of([
    ("a", "", "Ada met Otto. Ada left. Nothing was said here."),
    ("b", "Velia", "Otto came. ada met Otto."),
])  # fmt: skip


SPEAKERS = Words(counts="Nothing", apart=True)


def test_tri_graph_counts_entities_in_sentences_and_chunks() -> None:
    graph = tri_graph(chunk_table=SPOKEN, nlp=SPEAKERS, progress=QUIET)
    assert list(graph.names) == ["ada", "otto"]
    assert list(graph.sentences) == ["Ada met Otto", "Ada left", "Otto came", "ada met Otto"]
    assert dense(graph.entity_sentence) == [[1, 1, 0, 0], [1, 0, 1, 1]]
    assert dense(graph.sentence_entity) == [[1, 1], [1, 0], [0, 1], [0, 1]]
    assert dense(graph.entity_chunk) == [[2, 0], [1, 2]]


def test_a_corpus_without_a_name_is_refused() -> None:
    nothing = ChunkTable.of([("a", "", "nothing here")])
    with pytest.raises(UserError, match="no entities"):
        tri_graph(chunk_table=nothing, nlp=SPEAKERS, progress=QUIET)


TOWN = Question("q", "On which mountain does the town stand that Ada founded?")
TWO = Context((Piece("relationship", "1", "norvik, stands on, tarn", 1.0, 6),))


def test_triples_in_order_of_discovery_within_the_budget() -> None:
    # Ada founded Norvik (row 0), which stands on Tarn (row 1).
    base = Graph.from_arrays([0, 1], [1, 2], names=["ada", "norvik", "tarn"])
    graph = replace(base, relations=Texts.of(["founded", "stands on"]))
    explored = Exploration((), ((Hop(1, True, 0.5),), (Hop(0, True, 0.25), Hop(1, True, 0.75))))
    result = exploration_context(
        explored, graph=graph, tokenizer=OpenAIEncoding(), context_budget=UNBOUNDED
    )
    assert [(piece.id, piece.text, piece.score) for piece in result.pieces] == [
        ("1", "norvik, stands on, tarn", 0.5),
        ("0", "ada, founded, norvik", 0.25),
    ]
    explored = Exploration((), ((Hop(0, True, 0.5), Hop(1, True, 0.5)),))
    small = OpenAIEncoding().count("ada, founded, norvik")
    result = exploration_context(
        explored, graph=graph, tokenizer=OpenAIEncoding(), context_budget=ContextBudget(small)
    )
    assert [piece.id for piece in result.pieces] == ["0"]
    assert result.cut == (("relationship", "1"),)


def test_yes_gives_the_answer_and_a_failed_call_is_raised() -> None:
    llm = replying("{Yes} {Tarn}")
    assert if_enough(TOWN, TWO, llm=llm) == Answer("Tarn")
    with pytest.raises(CallFailed):
        if_enough(TOWN, TWO, llm=replying(CallFailed("refused", "no")))


def test_without_yes_and_an_answer_the_exploration_continues() -> None:
    for reply in ("{No}", "The triples say nothing.", "{Yes}"):
        assert if_enough(TOWN, TWO, llm=replying(reply)) is None
