"""HopRAG's graph, searches and hops by hand, with scripted replies."""

import json
from dataclasses import replace

import numpy as np
import pytest
from builds import QUIET, Known, ends, unit
from builds import texts as table_of
from by_hand import Planted, alone, angle, at, replying
from scipy.sparse import csr_matrix

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import Texts, incidence
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.errors import UserError
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.values import Mentions, Question, Ranked
from methods.hoprag.hop_graph import PseudoQuestions, hop, llm_questions, nlp_questions
from methods.hoprag.hops import hops_llm, hops_nearest, hybrid, judged_llm, judged_nearest

ZERO = Question("q", "0")
ENTRY = Ranked(np.array([0, 4]), np.array([0.9, 0.8]))
"""Rows 0 and 4, whose targets are passages 1 and 2."""


@pytest.fixture
def graph() -> Graph:
    """Edges 0 -> 1, 0 -> 2, 1 -> 2, 2 -> 0, 3 -> 2; row 1 is nearer to the question than 0."""
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


def test_edges_rank_by_vectors_and_names_and_hops_follow_the_most_similar(graph: Graph) -> None:
    """Row 1 has (1 + 0.866) / 2; row 0 has (0.5 + 0) / 2, as rows 2 and 3."""
    result = alone(hybrid)(ZERO, Mentions(("Ada",)), **library(graph))
    assert items(result) == [(1, 0.933013), (4, 0.5), (0, 0.25), (2, 0.25), (3, 0.25)]
    # Visits: 1 and 2; then 2 from 1 and 0 from 2; then 2 from 0.
    assert items(hops_nearest(ZERO, ENTRY, **library(graph))) == [(2, 0.6), (0, 0.2), (1, 0.2)]


def test_the_model_chooses_hops_and_an_invalid_reply_follows_none(graph: Graph) -> None:
    """The hops lead from 1 to 2, from 2 to 0, and from 0 by its first question to 1."""
    llm = replying("1", "Number: 1", "1")
    assert items(hops_llm(ZERO, ENTRY, graph=graph, llm=llm)) == [(1, 0.4), (2, 0.4), (0, 0.2)]
    stopped = replying("0", "0")
    assert items(hops_llm(ZERO, ENTRY, graph=graph, llm=stopped)) == [(1, 0.5), (2, 0.5)]
    assert (llm.meter.fallbacks, stopped.meter.fallbacks) == (0, 0)
    llm = replying("nowhere", "7")
    assert items(hops_llm(ZERO, ENTRY, graph=graph, llm=llm)) == [(1, 0.5), (2, 0.5)]
    assert llm.meter.fallbacks == 2


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


def test_helpful_passages_gain_visits_within_hops_and_width(graph, names) -> None:
    """Passage 1 starts with 2 visits, 2 with 1. Hops judge 1 and 2, then 0 and 3, then nothing new.

    Passage 2 (30 degrees) helps at three hops: 1 + 3. Passage 0 helps at two. 1 and 3 do not help.
    """
    result = by_similarity(graph, names)
    assert items(result) == [(2, 4.0), (0, 3.0), (1, 0.5), (3, 0.0)]
    # One hop judges the ends alone; width 1 begins at 1, and visits 0 and 2 after it.
    assert items(by_similarity(graph, names, n_hops=1)) == [(2, 2.0), (1, 0.5)]
    assert items(by_similarity(graph, names, n_hops=2, width=1)) == [(0, 2.0), (2, 1.0), (1, 0.5)]


def test_the_model_judges_each_passage_once(graph, names) -> None:
    """Only passage 2 helps; a reply that is neither yes nor no is a fallback."""
    llm = Scripted(answer=lambda chat: "Yes." if "Passage 2" in chat[-1].content else "so")
    result = judged_llm(
        ZERO, Mentions(("Ada",)), ENTRY, graph=graph, pseudo_questions=names, llm=llm
    )
    assert items(result) == [(2, 4.0), (0, 1.0), (1, 0.5), (3, 0.0)]
    assert (len(llm.prompts), llm.meter.fallbacks) == (4, 3)


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
"""Chunk, whether the chunk answers it, text, names and angle of each question."""


def hopped(rows=QUESTIONS, n_chunks=3, n_names=3, **settings) -> Graph:
    chunks, answered, texts, names, degrees = zip(*rows, strict=True)
    known = Texts.of([f"name{number}" for number in range(n_names)])
    questions = PseudoQuestions(
        Texts.of(list(texts)), np.array(chunks, np.int64), np.array(answered, bool), known,
        incidence(names, n_names),
    )  # fmt: skip
    index = VectorIndex(unit(np.deg2rad(degrees)))
    return hop(pseudo_questions=questions, question_index=index, chunk_table=table_of(n_chunks),
               progress=QUIET, **settings)  # fmt: skip


def hops(graph: Graph) -> list[tuple[int, int, str, str, float]]:
    words = zip(graph.facts, graph.keywords, np.round(graph.weight, 6).tolist(), strict=True)
    return [(*pair, *rest) for pair, rest in zip(ends(graph), words, strict=True)]


def test_a_question_leads_to_the_passage_that_answers_the_most_similar_one():
    """For chunk 0 names decide, (1 + 0) / 2 against (0 + 0.5) / 2; for chunk 1 vectors do."""
    assert hops(hopped()) == [
        (0, 1, "Where was b?", "name1", 0.5),
        (1, 2, "When did c stop?", "name2", 0.5),
    ]


def test_frequent_names_propose_no_match():
    """The answered questions of chunks 1 and 2 name b; that of chunk 2 has the higher cosine."""
    rows = [*QUESTIONS[:4], (2, True, "Where is b now?", [B], 80), (3, True, "Who is c?", [C], 0)]
    assert hops(hopped(rows, 4))[0] == (0, 2, "Where is b now?", "name1", 0.586824)
    assert hops(hopped(rows, 4, max_df=1))[0] == (0, 3, "Who is c?", "name1; name2", 0.5)


NONSENSE = "I would rather not."


def question_rows(those: PseudoQuestions) -> list[tuple[int, bool, str, list[str]]]:
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


def test_an_unreadable_reply_gives_no_question_and_only_such_replies_are_refused():
    chunks = titled_table(("", "Ada Marsh sang."), ("", "Norvik stands."))
    answered = [NONSENSE, reply("Where does Norvik stand?"), NONSENSE]
    raised = [reply("Who is Ada Marsh?"), reply("Who founded Norvik?")]
    result = [row[:2] for row in by_model(*answered, *raised, chunks=chunks)]
    assert result == [(0, False), (1, True), (1, False)]
    with pytest.raises(UserError, match="questions answered"):
        by_model(chunks=chunks)
