"""PankRAG by hand: plans in the forms that models write, and reranking."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from by_hand import Planted, at, check
from scipy.sparse import csr_matrix

from graphrag_bench.algorithms.communities import Communities, Reports
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import Texts
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.errors import UnreadableReply
from graphrag_bench.llm.json_replies import read_json
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.question_plan import Dependencies, Plan, SubQuestionKind
from graphrag_bench.text import count_tokens
from graphrag_bench.values import Question, Ranked
from methods.pankrag.planning import (
    PlanReply,
    bounded_reply,
    leaf_or_theme,
    mean_similarity,
    placeholders,
    plan,
    plan_of,
    rephrase,
    rerank_chunks,
    rerank_points,
)
from operators.answer.generation import Points

ORIGINAL = "Which film won the prize that Ada Marsh founded?"


def hop(name: Any, text: str, *needs: Any, abstract: Any = False) -> dict[str, Any]:
    return {"hop_id": name, "sub_query": text, "if_abstract": abstract, "dependencies": list(needs)}


def reply(*sequences: Any, final: Any = None) -> dict[str, Any]:
    closing = {"final_query": "Which film?", "if_abstract": False, "dependencies": ["1-2"]}
    path = {"sequences": list(sequences), "final_query": [closing] if final is None else final}
    return {"query": ORIGINAL, "path": path}


GOOD = reply(
    {"sequence_id": "1", "hop": [hop("1-1", "Which {prize}?"), hop("1-2", "Who won?", "1-1")]}
)


def read(text: str, *, cut: bool = False) -> Plan:
    return plan_of(read_json(text, PlanReply, repair=not cut), ORIGINAL)


def needs(result: Plan) -> dict[str, tuple[str, ...]]:
    return {one.id: one.dependencies for one in result.sub_questions}


WHOLE = json.dumps(GOOD)


def test_a_damaged_plan_is_read_alike() -> None:
    for text in (
        WHOLE,
        f"```json\n{WHOLE}\n```",
        f"Here is my plan, with {{braces}} in it:\n{WHOLE}",
        WHOLE.replace("]}}", "],}}", 1),
        WHOLE.replace('"1-1"', '"1.1"').replace('"1-2"', '"1.2"'),
        WHOLE.replace('"1-1"', '"SubQ1.1"').replace('"1-2"', '"A1-2"'),
        WHOLE.replace('"hop":', '"hops":'),
        WHOLE.replace('"sequence_id": "1"', '"sequence_id": 1'),
        WHOLE.replace("false", '"no"'),
        json.dumps(GOOD["path"] | {"query": ORIGINAL}),
    ):  # fmt: skip
        result = read(text)
        assert needs(result) == {"1-1": (), "1-2": ("1-1",)}
        assert result.final.dependencies == ("1-2",)
        assert result.sub_questions[0].text == "Which {prize}?"


def test_no_sequences_in_any_spelling_is_an_empty_plan() -> None:
    for nothing in ("null", '"none"', "none", "None", "[]", '""'):
        text = '{"query": "q", "path": {"sequences": %s, "final_query": "Which film?"}}' % nothing
        result = read(text)
        assert (
            len(result) == 0 and result.final.text == ORIGINAL and result.final.dependencies == ()
        )


def test_ids_and_dependencies_are_normalised() -> None:
    final = read(json.dumps(reply(*GOOD["path"]["sequences"], final="?"))).final
    assert final.dependencies == ("1-2",)
    sequence = {"sequence_id": "2", "hop": [hop(None, "a?"), hop("2-1", "b?"), hop("2-1", "c?")]}
    result = read(json.dumps(reply(sequence)))
    assert list(needs(result)) == ["2-1", "2-1.2", "2-1.3"]
    assert any("two sub-questions are called 2-1" in fix for fix in result.fixes)
    sequences = [
        {"sequence_id": "1", "hop": [hop("1-1", "Which prize?")]},
        {"sequence_id": "2", "hop": [hop("2-1", "When was <A1-1> founded? See [A7-7].")]},
    ]
    result = read(json.dumps(reply(*sequences)))
    assert needs(result)["2-1"] == ("1-1",)
    assert "2-1 speaks of 1-1 and depends on it now" in result.fixes
    sequence = {"sequence_id": "1", "hop": [
        hop("1-1", "a?", "1-2", "3-9", "1-1"), hop("1-2", "b?", "1-1"), hop("1-3", ""),
    ]}  # fmt: skip
    result = read(json.dumps(reply(sequence, {"sequence_id": "3", "hop": []})))
    assert needs(result) == {"1-1": (), "1-2": ("1-1",)}
    assert len(result.fixes) == 4


def test_placeholders_in_every_bracket_but_not_citations() -> None:
    for text, named in (
        ("for <A1-1>?", ["1-1"]), ("for < a1.2 >?", ["1-2"]), ("for <1-1>?", ["1-1"]),
        ("for [A1.1]?", ["1-1"]), ("for {A2-1} and (A0-1)?", ["2-1", "0-1"]),
        ("as [1.1] says", []), ("for <A1-1]", []), ("plain", []),
    ):  # fmt: skip
        assert [name for _, name in placeholders(text)] == named


LLM = Scripted({
    "Which film won": WHOLE, "Broken": "no plan at all", "could not be read": "nor is this",
    "re:Question: Who won <A1-1>": "Who won the Marsh Prize?",
    "re:Question: Who won it": "Who won the prize?", "re:Question: Silent <A1-1>": " ",
})  # fmt: skip
KNOWN = Dependencies(
    ("1-1",), ("Which prize did Ada Marsh found?",), ("The Marsh Prize. It is old.",)
)


def test_a_schema_limits_lists_and_longer_lists_are_read() -> None:
    """The longest plan of the schema fits the 2,200 tokens of the reply with a margin."""
    one = hop("1-1", ("Which prize did the founder win? " * 9)[:200], *["1-1"] * 5)
    longest = reply(*[{"sequence_id": "1", "hop": [one] * 4}] * 4)
    assert count_tokens(json.dumps(longest, indent=2)) < 2000
    many = reply({"sequence_id": "1", "hop": [hop(f"1-{n}", f"{n}?") for n in range(1, 9)]})
    result = bounded_reply(1, 3).model_validate(many)
    assert len(plan_of(result, ORIGINAL).sub_questions) == 8


def test_a_truncated_plan_is_unreadable_and_becomes_an_empty_plan() -> None:
    with pytest.raises(UnreadableReply):
        read(WHOLE[:-60], cut=True)
    result = plan(Question("q", "Broken"), llm=LLM)
    assert len(result) == 0 and result.final.text == "Broken"


PART, WHOLE_QUESTION = SubQuestionKind("specific"), SubQuestionKind("specific", final=True)


def test_a_sub_question_is_rephrased_given_its_answers() -> None:
    marked, plain = Question("q", "Who won <A1-1>?"), Question("q", "Who won it?")
    assert rephrase(marked, KNOWN, PART, llm=LLM).text == "Who won the Marsh Prize?"
    assert rephrase(marked, KNOWN, PART, llm=LLM, when="never") == marked
    assert rephrase(plain, KNOWN, PART, llm=LLM) == plain
    assert rephrase(plain, KNOWN, PART, llm=LLM, when="always").text == "Who won the prize?"
    assert rephrase(plain, Dependencies(), PART, llm=LLM, when="always") == plain
    assert rephrase(plain, KNOWN, WHOLE_QUESTION, llm=LLM, when="always") == plain


ABSTRACT, SPECIFIC = (Question("q", "Broken", form=form) for form in ("paragraph", "short"))


def test_without_a_plan_the_question_keeps_its_kind() -> None:
    """Abstract questions read hierarchical communities (section 2.3)."""
    for question, kind in (
        (ABSTRACT, "abstract"),
        (SPECIFIC, "specific"),
        (replace(SPECIFIC, abstract=True), "abstract"),
        (replace(ABSTRACT, abstract=False), "specific"),
    ):
        llm = LLM.attached()
        unreadable = plan(question, llm=llm)
        assert (unreadable.final.kind, len(unreadable)) == (kind, 0)
        assert unreadable.fallback and (llm.meter.fallbacks, llm.meter.unreadable) == (1, 1)
        off = plan(question, llm=llm, planning="off")
        assert (off.final.kind, off.fallback) == (kind, "") and llm.meter.fallbacks == 1


VECTORS = np.array([[1, 0], [0, 1], [0.6, 0.8], [-1, 0]], np.float32)
RELEVANCE = np.array([0.9, 0.8, 0.5, 0.4])
NAMES = ("c1", "c2", "c3", "c4")
FIRST, SECOND = (0.6, 0.8), (1.0, 0.0)
ONE = Dependencies(("1-1",), ("?",), ("d1",))
TWO = Dependencies(("1-1", "1-2"), ("?", "?"), ("d1", "d2"))
PLANTED = {"d1": FIRST, "d2": SECOND, **dict(zip(NAMES, VECTORS.tolist(), strict=True))}


# node i is in chunk i alone, so that a chunk's relevance is the score of its node
GRAPH = Graph.from_arrays(source=[], target=[], node_chunk=np.eye(4), n_nodes=4)
CHUNKS, NODES = Ranked([0, 1, 2, 3], RELEVANCE), Ranked([0, 1, 2, 3], RELEVANCE)


def chunks(dependencies: Dependencies | None, **changes: Any) -> Ranked[Any]:
    return rerank_chunks(
        CHUNKS, NODES, dependencies, graph=GRAPH,
        chunk_index=VectorIndex(VECTORS), embedder=Planted(PLANTED), **changes,
    )  # fmt: skip


def test_chunks_are_reranked_as_in_the_worked_example() -> None:
    for dependencies, changes, scores, order in (
        (ONE, {}, [0.80, 0.78, 0.70, 0.24], [1, 0, 2, 3]),
        (ONE, {"alpha": 0.75}, [0.825, 0.80, 0.625, 0.30], [0, 1, 2, 3]),
        (TWO, {}, [0.86, 0.64, 0.62, 0.24], [0, 1, 2, 3]),
        (Dependencies(), {}, [0.9, 0.8, 0.5, 0.4], [0, 1, 2, 3]),
        (ONE, {"rerank": "off"}, [0.9, 0.8, 0.5, 0.4], [0, 1, 2, 3]),
    ):
        check(chunks(dependencies, **changes), order, scores)


def test_points_are_reranked_and_the_mean_is_clipped() -> None:
    points = Points(NAMES, (90, 80, 50, 40))
    result = rerank_points(points, ONE, embedder=Planted(PLANTED))
    assert result == points
    other = rerank_points(points, ONE, embedder=Planted(PLANTED), alpha=0.6)
    assert other.texts[:2] == ("c2", "c1")
    assert rerank_points(points, ONE, embedder=Planted(PLANTED), alpha=0.6, rerank="off") == points
    assert mean_similarity(VECTORS, TWO, Planted(PLANTED)) == pytest.approx(
        [0.8, 0.4, 0.8, 0], abs=1e-6
    )


# community 0 holds 1 and 2, and 2 holds 3 and 4; 5 is alone at the top; each is one chunk
LEVELS, PARENTS = np.array([0, 1, 1, 2, 2, 0]), np.array([-1, 0, 0, 2, 2, -1])
COMMUNITIES = Communities(LEVELS, PARENTS, csr_matrix(np.eye(6)), csr_matrix(np.eye(6)))


def test_communities_are_leaves_or_coarser_by_similarity() -> None:
    for degrees, changes, chosen in (
        ([0, 10, 20, 30, 40, 90], {}, [0, 5]),  # the theme speaks of the question most
        ([10, 20, 0, 30, 40, 90], {}, [1, 2, 5]),  # a part of it, and the other part beside it
        ([10, 20, 30, 0, 40, 90], {}, [1, 3, 4, 5]),  # a leaf below: its family in detail
        ([10, 20, 30, 0, 40, 90], {"level": 1}, [0, 5]),  # the leaf is too deep to be read
        ([10, 10, 10, 10, 10, 10], {}, [0, 5]),  # ties: the coarser
        ([0, 10, 20, 30, 40, 90], {"levels": "all"}, [0, 1, 2, 3, 4, 5]),
    ):
        result = leaf_or_theme(
            Question("q", "?"), communities=COMMUNITIES, community_index=at(*degrees),
            reports=Reports(*[Texts.of(["r"] * 6)] * 2, np.zeros(6)), embedder=Planted(), **changes,
        )  # fmt: skip
        check(result, chosen, [1.0] * len(chosen))


def test_a_community_without_a_report_is_replaced_by_its_children() -> None:
    texts = Texts.of(["", "r", "r", "r", "", "r"])
    reports = Reports(texts, texts, np.array([0, 0, 0, 5.5, 0, -1]))
    result = leaf_or_theme(
        Question("q", "?"), communities=COMMUNITIES, reports=reports,
        community_index=at(0, 20, 30, 10, 0, 0), embedder=Planted(),
    )  # fmt: skip
    check(result, [3, 1], [1.5, 1.0])
