"""HopRAG's searches and hops, by hand; the model's replies are planned."""

from dataclasses import replace

import numpy as np
import pytest
from by_hand import Planted, angle, at, replying
from scipy.sparse import csr_matrix

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import Texts
from graphrag_bench.contract import alone
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.values import Mentions, Question, Ranked
from methods.hoprag.hop_graph import PseudoQuestions
from methods.hoprag.hops import chosen, helpful, hybrid, judged, judged_nearest, nearest

ZERO = Question("q", "0")
ENTRY = Ranked(np.array([0, 4]), np.array([0.9, 0.8]))
"""Rows 0 and 4, which end in passages 1 and 2."""


@pytest.fixture
def graph() -> Graph:
    """0 -> 1, 0 -> 2, 1 -> 2, 2 -> 0, 3 -> 2; row 1 is nearer to the question than row 0."""
    base = Graph.from_arrays([0, 0, 1, 2, 3], [1, 2, 2, 0, 2], node_chunk=np.eye(4))
    return replace(
        base,
        descriptions=Texts.of([f"Passage {row}" for row in range(4)]),
        facts=Texts.of([f"Question {row}?" for row in range(5)]),
        keywords=Texts.of(["ada; norvik", "ada", "tarn", "", "mira"]),
    )


def library(graph: Graph) -> dict[str, object]:
    return {"graph": graph, "relationship_index": at(90, 30, 60, 60, 0), "embedder": Planted(angle)}


def items(ranked: Ranked) -> list[tuple[int, float]]:
    return [(row, round(score, 6)) for row, score in ranked.items()]


def test_edges_are_ranked_by_vectors_and_names_and_hops_follow_the_nearest(graph: Graph) -> None:
    """Row 1: (1 + 0.866) / 2; row 0: (0.5 + 0) / 2, which ties with rows 2 and 3."""
    result = alone(hybrid)(ZERO, Mentions(("Ada",)), **library(graph))
    assert items(result) == [(1, 0.933013), (4, 0.5), (0, 0.25), (2, 0.25), (3, 0.25)]
    # Visits: 1 and 2; then 2 from 1 and 0 from 2; then 2 from 0.
    assert items(nearest(ZERO, ENTRY, **library(graph))) == [(2, 0.6), (0, 0.2), (1, 0.2)]


def test_the_model_says_where_to_go_and_a_reply_without_a_question_follows_none(
    graph: Graph,
) -> None:
    """From 1 to 2, from 2 to 0, and from 0 by its first question to 1."""
    llm = replying("1", "Number: 1", "1")
    assert items(chosen(ZERO, ENTRY, graph=graph, llm=llm)) == [(1, 0.4), (2, 0.4), (0, 0.2)]
    stopped = replying("0", "0")
    assert items(chosen(ZERO, ENTRY, graph=graph, llm=stopped)) == [(1, 0.5), (2, 0.5)]
    assert (llm.meter.fallbacks, stopped.meter.fallbacks) == (0, 0)
    llm = replying("nowhere", "7")
    assert items(chosen(ZERO, ENTRY, graph=graph, llm=llm)) == [(1, 0.5), (2, 0.5)]
    assert llm.meter.fallbacks == 2


def test_helpful_passages_are_similar_and_visited() -> None:
    """Passage 0: (0.2 + 1) / 2; passage 2: (0.6 + 0.5) / 2."""
    visited = Ranked(np.array([2, 0, 1]), np.array([0.6, 0.2, 0.2]))
    index = at(0, 90, 60)
    result = alone(helpful)(ZERO, visited, chunk_index=index, embedder=Planted(angle), top_k=2)
    assert items(result) == [(0, 0.6), (2, 0.55)]


@pytest.fixture
def names() -> PseudoQuestions:
    """Passage 0 names Ada, 1 Ada and Norvik, 2 nothing, 3 Mira."""
    named = csr_matrix(np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], bool))
    chunk, answered = np.array([0, 1, 1, 3]), np.array([True, True, False, True])
    of = Texts.of(["ada", "norvik", "mira"])
    return PseudoQuestions(Texts.of(list("abcd")), chunk, answered, of, named)


def by_similarity(graph: Graph, names: PseudoQuestions, **settings) -> Ranked:
    return judged_nearest(
        ZERO, Mentions(("Ada",)), ENTRY, graph=graph, pseudo_questions=names,
        chunk_index=at(0, 90, 30, 80), embedder=Planted(angle), **settings,
    )  # fmt: skip


def test_passages_that_help_are_counted_up_others_down_as_far_and_wide_as_said(
    graph, names
) -> None:
    """1 begins with 2 visits, 2 with 1. Both, then 0, 1, 2 and 3, then the same, nothing new.

    2 (30 degrees) helps and is there three times: 1 + 3. 0 helps twice. 1 and 3 do not help.
    """
    result = by_similarity(graph, names)
    assert items(result) == [(2, 4.0), (0, 3.0), (1, 0.5), (3, 0.0)]
    # One hop judges the ends alone; width 1 begins at 1, and visits 0 and 2 after it.
    assert items(by_similarity(graph, names, n_hops=1)) == [(2, 2.0), (1, 0.5)]
    assert items(by_similarity(graph, names, n_hops=2, width=1)) == [(0, 2.0), (2, 1.0), (1, 0.5)]


def test_the_model_judges_each_passage_once(graph, names) -> None:
    """Passage 2 alone helps; what is neither yes nor no is a fallback."""
    llm = Scripted(answer=lambda chat: "Yes." if "Passage 2" in chat[-1].content else "so")
    result = judged(ZERO, Mentions(("Ada",)), ENTRY, graph=graph, pseudo_questions=names, llm=llm)
    assert items(result) == [(2, 4.0), (0, 1.0), (1, 0.5), (3, 0.0)]
    assert (len(llm.prompts), llm.meter.fallbacks) == (4, 3)
