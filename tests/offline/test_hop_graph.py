"""What a passage raises leads to the passage that answers it, by hand and against all pairs."""

import numpy as np
import pytest

from graphrag_bench.columns import Texts, incidence
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.pseudo_questions import PseudoQuestions
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.offline.hop_graph import hop
from graphrag_bench.progress import Progress

A, B, C = range(3)
QUESTIONS = [
    (0, True, "Who is a?", [A], 0),
    (0, False, "Where is b?", [B], 0),
    (1, True, "Where was b?", [B], 90),
    (1, False, "Why?", [], 60),
    (2, True, "When did c stop?", [C], 60),
]
"""Chunk, whether it answers, text, names and angle of each question."""


def made(given=QUESTIONS, n_chunks=3, n_names=3, **settings) -> Graph:
    chunks, answered, texts, names, degrees = zip(*given, strict=True)
    questions = PseudoQuestions(
        Texts.of(list(texts)),
        np.array(chunks, np.int64),
        np.array(answered, bool),
        Texts.of([f"name{number}" for number in range(n_names)]),
        incidence(names, n_names),
    )
    angles = np.deg2rad(degrees)
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    return hop(
        pseudo_questions=questions,
        question_index=VectorIndex(vectors),
        chunk_table=ChunkTable.of([(str(row), "", f"Text {row}") for row in range(n_chunks)]),
        progress=Progress(quiet=True),
        **settings,
    )


def edges(graph: Graph) -> list[tuple[int, int, str, str, float]]:
    assert graph.facts is not None and graph.keywords is not None
    ends = zip(graph.source.tolist(), graph.target.tolist(), strict=True)
    told = zip(graph.facts, graph.keywords, np.round(graph.weight, 6).tolist(), strict=True)
    return [(*pair, *rest) for pair, rest in zip(ends, told, strict=True)]


def test_a_question_leads_to_the_passage_that_answers_the_most_similar_one():
    """Names decide for chunk 0: (1 + 0) / 2 beats (0 + 0.5) / 2; the vectors for chunk 1."""
    assert edges(made()) == [
        (0, 1, "Where was b?", "name1", 0.5),
        (1, 2, "When did c stop?", "name2", 0.5),
    ]


def test_frequent_names_propose_nothing():
    """Two answered questions name b: chunk 1's, and chunk 2's, which is nearer by its vector."""
    given = [*QUESTIONS[:4], (2, True, "Where is b now?", [B], 80), (3, True, "Who is c?", [C], 0)]
    assert edges(made(given, 4))[0] == (0, 2, "Where is b now?", "name1", 0.586824)
    assert edges(made(given, 4, max_df=1))[0] == (0, 3, "Who is c?", "name1; name2", 0.5)


def test_the_most_similar_edges_are_kept_and_ties_go_to_the_lower_passages():
    assert [edge[:2] for edge in edges(made(edges_per_chunk=0.34))] == [(0, 1)]


def test_of_several_edges_between_two_passages_the_most_similar_is_kept():
    again = (0, False, "What is b?", [B], 90)
    assert edges(made([*QUESTIONS, again]))[0] == (0, 1, "Where was b?", "name1", 1.0)


def test_one_passage_leads_nowhere():
    with pytest.raises(UserError, match="No passage leads"):
        made(QUESTIONS[:2], n_chunks=1)


def test_the_match_is_the_best_of_all_pairs():
    rng = np.random.default_rng(3)
    given = [
        (chunk, answered, f"{chunk} {answered} {number}", rng.permutation(30)[:2].tolist(), degree)
        for chunk in range(60)
        for answered in (True, False)
        for number, degree in enumerate(rng.integers(0, 180, 3).tolist())
    ]
    wanted: dict[tuple[int, int], float] = {}
    for chunk, answered, _, names, degree in given:
        if answered:
            continue
        best = (0.0, -1)
        for other, answers, _, held, angle in given:
            if answers and other != chunk:
                jaccard = len({*names} & {*held}) / len({*names} | {*held})
                similarity = round((jaccard + np.cos(np.deg2rad(degree - angle))) / 2, 5)
                best = max(best, (similarity, -other))
        pair = chunk, -best[1]
        wanted[pair] = max(wanted.get(pair, 0.0), best[0])
    graph = made(given, n_chunks=60, n_names=30, edges_per_chunk=60.0, max_df=None)
    found = {edge[:2]: round(edge[4], 5) for edge in edges(graph)}
    assert sum(wanted.values()) == pytest.approx(sum(found.values()), abs=1e-3)
    assert found.keys() == wanted.keys()
