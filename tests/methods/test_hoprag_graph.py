"""HopRAG's graph: passages joined by what they raise and answer; and pseudo-questions."""

import json

import numpy as np
import pytest
from builds import QUIET, Known, ends, unit
from builds import texts as table_of
from by_hand import replying

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import Texts, incidence
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.errors import UserError
from methods.hoprag.hop_graph import PseudoQuestions, hop, llm_questions, nlp_questions

NAMES = Known({"Norvik": "GPE", "Ada Marsh": "PERSON", "Mira Holt": "PERSON", "1901": "DATE"})


def titled_table(*chunks: tuple[str, str]) -> ChunkTable:
    return ChunkTable.of([(f"d{row}", *chunk) for row, chunk in enumerate(chunks)])


A, B, C = range(3)
QUESTIONS = [
    (0, True, "Who is a?", [A], 0),
    (0, False, "Where is b?", [B], 0),
    (1, True, "Where was b?", [B], 90),
    (1, False, "Why?", [], 60),
    (2, True, "When did c stop?", [C], 60),
]
"""Chunk, whether it answers, text, names and angle of each question."""


def hopped(rows=QUESTIONS, n_chunks=3, n_names=3, **settings) -> Graph:
    chunks, answered, texts, names, degrees = zip(*rows, strict=True)
    questions = PseudoQuestions(
        Texts.of(list(texts)),
        np.array(chunks, np.int64),
        np.array(answered, bool),
        Texts.of([f"name{number}" for number in range(n_names)]),
        incidence(names, n_names),
    )
    return hop(
        pseudo_questions=questions,
        question_index=VectorIndex(unit(np.deg2rad(degrees))),
        chunk_table=table_of(n_chunks),
        progress=QUIET,
        **settings,
    )


def hops(graph: Graph) -> list[tuple[int, int, str, str, float]]:
    words = zip(graph.facts, graph.keywords, np.round(graph.weight, 6).tolist(), strict=True)
    return [(*pair, *rest) for pair, rest in zip(ends(graph), words, strict=True)]


def test_a_question_leads_to_the_passage_that_answers_the_most_similar_one():
    """Names decide for chunk 0: (1 + 0) / 2 beats (0 + 0.5) / 2; the vectors for chunk 1."""
    assert hops(hopped()) == [
        (0, 1, "Where was b?", "name1", 0.5),
        (1, 2, "When did c stop?", "name2", 0.5),
    ]


def test_frequent_names_propose_nothing():
    """Two answered questions name b: chunk 1's, and chunk 2's, which is nearer by its vector."""
    rows = [*QUESTIONS[:4], (2, True, "Where is b now?", [B], 80), (3, True, "Who is c?", [C], 0)]
    assert hops(hopped(rows, 4))[0] == (0, 2, "Where is b now?", "name1", 0.586824)
    assert hops(hopped(rows, 4, max_df=1))[0] == (0, 3, "Who is c?", "name1; name2", 0.5)


def test_of_a_pair_of_passages_the_most_similar_edge_is_kept():
    again = (0, False, "What is b?", [B], 90)
    assert hops(hopped([*QUESTIONS, again]))[0] == (0, 1, "Where was b?", "name1", 1.0)


def test_one_passage_leads_nowhere():
    with pytest.raises(UserError, match="No passage leads"):
        hopped(QUESTIONS[:2], n_chunks=1)


def test_the_match_is_the_best_of_all_pairs():
    rng = np.random.default_rng(3)
    rows = [
        (chunk, answered, f"{chunk} {answered} {number}", rng.permutation(30)[:2].tolist(), degree)
        for chunk in range(30)
        for answered in (True, False)
        for number, degree in enumerate(rng.integers(0, 180, 3).tolist())
    ]
    wanted: dict[tuple[int, int], float] = {}
    for chunk, answered, _, names, degree in rows:
        if answered:
            continue
        best = (0.0, -1)
        for other, answers, _, stored, angle in rows:
            if answers and other != chunk:
                jaccard = len({*names} & {*stored}) / len({*names} | {*stored})
                similarity = round((jaccard + np.cos(np.deg2rad(degree - angle))) / 2, 5)
                best = max(best, (similarity, -other))
        pair = chunk, -best[1]
        wanted[pair] = max(wanted.get(pair, 0.0), best[0])
    graph = hopped(rows, n_chunks=30, n_names=30, max_df=None)
    result = {edge[:2]: round(edge[4], 5) for edge in hops(graph)}
    assert sum(wanted.values()) == pytest.approx(sum(result.values()), abs=1e-3)
    assert result.keys() == wanted.keys()


NONSENSE = "I would rather not."


def question_rows(those: PseudoQuestions) -> list[tuple[int, bool, str, list[str]]]:
    """Chunk, whether it answers, text and names of every question."""
    names = [those.names.take(those.question_name[row].indices) for row in range(len(those))]
    columns = those.chunk.tolist(), those.answered.tolist(), those.texts, names
    return list(zip(*columns, strict=True))


def test_a_passage_answers_its_sentences_and_raises_its_other_names():
    chunks = titled_table(
        ("Norvik", "Ada Marsh founded Norvik. It stands. That was in 1901."),
        ("", "Ada Marsh sang. Nobody heard."),
    )
    assert question_rows(nlp_questions(chunk_table=chunks, nlp=NAMES, progress=QUIET)) == [
        (0, True, "Norvik: Ada Marsh founded Norvik.", ["norvik", "ada marsh"]),
        (0, True, "Norvik: It stands.", ["norvik"]),
        (0, True, "Norvik: That was in 1901.", ["norvik"]),
        (0, False, "What is Ada Marsh?", ["ada marsh"]),
        (1, True, "Ada Marsh sang.", ["ada marsh"]),
        (1, False, "What is Ada Marsh?", ["ada marsh"]),
    ]


def reply(*questions: str) -> str:
    return json.dumps({"questions": questions})


def by_model(*replies: str, chunks: ChunkTable) -> list[tuple[int, bool, str, list[str]]]:
    model = replying(*replies, *[NONSENSE] * 9)
    result = llm_questions(chunk_table=chunks, llm_build=model, nlp=NAMES, progress=QUIET)
    return question_rows(result)


def test_the_model_is_asked_for_what_a_passage_answers_and_for_what_it_raises():
    chunks = titled_table(("", "Ada Marsh founded Norvik."))
    result = by_model(
        reply("Who founded Norvik?", " "), reply("Where was Ada Marsh born?"), chunks=chunks
    )
    assert result == [
        (0, True, "Who founded Norvik?", ["norvik"]),
        (0, False, "Where was Ada Marsh born?", ["ada marsh"]),
    ]


def test_a_passage_without_a_readable_reply_has_no_question_and_all_without_one_are_refused():
    chunks = titled_table(("", "Ada Marsh sang."), ("", "Norvik stands."))
    answered = [NONSENSE, reply("Where does Norvik stand?"), NONSENSE]
    raised = [reply("Who is Ada Marsh?"), reply("Who founded Norvik?")]
    result = [row[:2] for row in by_model(*answered, *raised, chunks=chunks)]
    assert result == [(0, False), (1, True), (1, False)]
    with pytest.raises(UserError, match="questions answered"):
        by_model(chunks=chunks)
