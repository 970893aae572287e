"""HopRAG's graph, searches and hops by hand, with scripted replies."""

import json
from dataclasses import replace

import numpy as np
import pytest
from builds import QUIET, Known, ends, unit
from builds import texts as table_of
from by_hand import Planted, angle, at, replying

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import Texts, incidence
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.errors import UserError
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.values import Mentions, Question, Ranked
from methods.hoprag.hop_graph import PseudoQuestions, hop, llm_questions
from methods.hoprag.hops import hops_llm, judged_llm, judged_nearest

ZERO, ADA = Question("q", "0"), Mentions(("Ada",))
ENTRY = Ranked(np.array([0, 4]), np.array([0.9, 0.8]))
"""Rows 0 and 4, whose targets are passages 1 and 2."""
# edges 0 -> 1, 0 -> 2, 1 -> 2, 2 -> 0, 3 -> 2
GRAPH = replace(
    Graph.from_arrays([0, 0, 1, 2, 3], [1, 2, 2, 0, 2], node_chunk=np.eye(4)),
    descriptions=Texts.of([f"Passage {row}" for row in range(4)]),
    facts=Texts.of([f"Question {row}?" for row in range(5)]),
    keywords=Texts.of(["ada; norvik", "ada", "tarn", "", "mira"]),
)
# passage 0 names Ada, 1 Ada and Norvik, 2 nothing, 3 Mira
JUDGED = {"graph": GRAPH, "pseudo_questions": PseudoQuestions(
    Texts.of(list("abcd")), np.array([0, 1, 1, 3]), np.array([True, True, False, True]),
    Texts.of(["ada", "norvik", "mira"]), incidence([[0], [0], [1], [2]], 3),
)}  # fmt: skip


def items(ranked: Ranked) -> list[tuple[int, float]]:
    return [(row, round(score, 6)) for row, score in ranked.items()]


def test_the_model_chooses_hops_and_an_invalid_reply_follows_none() -> None:
    """The hops lead from 1 to 2, from 2 to 0, and from 0 by its first question to 1."""
    for replies, n_fallbacks, expected in (
        (("1", "Number: 1", "1"), 0, [(1, 0.4), (2, 0.4), (0, 0.2)]),
        (("0", "0"), 0, [(1, 0.5), (2, 0.5)]),
        (("nowhere", "7"), 2, [(1, 0.5), (2, 0.5)]),
    ):
        llm = replying(*replies)
        assert items(hops_llm(ZERO, ENTRY, graph=GRAPH, llm=llm)) == expected
        assert llm.meter.fallbacks == n_fallbacks


def test_helpful_passages_gain_visits_within_hops_and_width() -> None:
    """Passage 1 starts with 2 visits, 2 with 1. Hops judge 1 and 2, then 0 and 3, then nothing new.

    Passage 2 (30 degrees) helps at three hops: 1 + 3. Passage 0 helps at two. 1 and 3 do not help.
    """
    for settings, expected in (
        ({}, [(2, 4.0), (0, 3.0), (1, 0.5), (3, 0.0)]),
        ({"n_hops": 1}, [(2, 2.0), (1, 0.5)]),  # the ends alone
        ({"n_hops": 2, "width": 1}, [(0, 2.0), (2, 1.0), (1, 0.5)]),  # begins at 1
    ):
        inputs = {**JUDGED, "chunk_index": at(0, 90, 30, 80), "embedder": Planted(angle)}
        assert items(judged_nearest(ZERO, ADA, ENTRY, **inputs, **settings)) == expected


def test_the_model_judges_each_passage_once() -> None:
    """Only passage 2 helps; a reply that is neither yes nor no is a fallback."""
    llm = Scripted(answer=lambda chat: "Yes." if "Passage 2" in chat[-1].content else "so")
    result = judged_llm(ZERO, ADA, ENTRY, **JUDGED, llm=llm)
    assert items(result) == [(2, 4.0), (0, 1.0), (1, 0.5), (3, 0.0)]
    assert (len(llm.prompts), llm.meter.fallbacks) == (4, 3)


A, B, C = range(3)
QUESTIONS = [
    (0, True, "Who is a?", [A], 0),
    (0, False, "Where is b?", [B], 0),
    (1, True, "Where was b?", [B], 90),
    (1, False, "Why?", [], 60),
    (2, True, "When did c stop?", [C], 60),
]
"""Chunk, whether the chunk answers it, text, names and angle of each question."""


def hopped(rows=QUESTIONS, n_chunks=3, **settings) -> Graph:
    chunks, answered, texts, names, degrees = zip(*rows, strict=True)
    known, arrays = Texts.of(["name0", "name1", "name2"]), (np.array(chunks), np.array(answered))
    questions = PseudoQuestions(Texts.of(texts), *arrays, known, incidence(names, 3))
    index = VectorIndex(unit(np.deg2rad(degrees)))
    return hop(pseudo_questions=questions, question_index=index, chunk_table=table_of(n_chunks),
               progress=QUIET, **settings)  # fmt: skip


def test_a_question_leads_to_the_passage_that_answers_the_most_similar_one():
    """For chunk 0 names decide, (1 + 0) / 2 against (0 + 0.5) / 2; for chunk 1 vectors do.

    In `more`, the answered questions of chunks 1 and 2 name b; that of chunk 2 has the higher
    cosine. With `max_df=1` the frequent name b proposes no match.
    """
    more = [*QUESTIONS[:4], (2, True, "Where is b now?", [B], 80), (3, True, "Who is c?", [C], 0)]
    for graph, n, expected in (
        (hopped(), 2, [((0, 1), "Where was b?", "name1", 0.5),
                       ((1, 2), "When did c stop?", "name2", 0.5)]),
        (hopped(more, 4), 1, [((0, 2), "Where is b now?", "name1", 0.586824)]),
        (hopped(more, 4, max_df=1), 1, [((0, 3), "Who is c?", "name1; name2", 0.5)]),
    ):  # fmt: skip
        weights = np.round(graph.weight, 6).tolist()
        result = zip(ends(graph), graph.facts, graph.keywords, weights, strict=True)
        assert list(result)[:n] == expected


def by_model(*replies: str) -> PseudoQuestions:
    model, nlp = replying(*replies, *["no"] * 9), Known({"Norvik": "GPE", "Ada": "PERSON"})
    return llm_questions(chunk_table=table_of(2), llm_build=model, nlp=nlp, progress=QUIET)


def test_an_unreadable_reply_gives_no_question_and_only_such_replies_are_refused():
    where, who, why = (json.dumps({"questions": [f"{word} Norvik?"]}) for word in "abc")
    result = by_model("no", where, "no", who, why)  # the first is asked twice
    assert (result.chunk.tolist(), result.answered.tolist()) == ([0, 1, 1], [False, True, False])
    with pytest.raises(UserError, match="questions answered"):
        by_model()
