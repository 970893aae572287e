"""PankRAG by hand: plans in the forms that models write, and reranking."""

import json

import numpy as np
import pytest
from by_hand import Planted, check

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.errors import UnreadableReply
from graphrag_bench.llm.json_replies import read_json
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.question_plan import Dependencies, SubQuestionKind
from graphrag_bench.text import count_tokens
from graphrag_bench.values import Question, Ranked
from methods.pankrag import planning
from methods.pankrag.planning import PlanReply, placeholders, plan, plan_of, rephrase
from operators.answer.generation import Points

ORIGINAL = "Which film won the prize that Ada Marsh founded?"


def hop(name, text, *needs):
    return {"hop_id": name, "sub_query": text, "if_abstract": False, "dependencies": list(needs)}


def reply(*hops, prefix="1", final=None):
    closing = {"final_query": "Which film?", "if_abstract": False, "dependencies": ["1-2"]}
    sequences = [{"sequence_id": prefix, "hop": list(hops)}]
    path = {"sequences": sequences, "final_query": [closing] if final is None else final}
    return {"query": ORIGINAL, "path": path}


def read(text, *, cut=False):
    text = text if isinstance(text, str) else json.dumps(text)
    return plan_of(read_json(text, PlanReply, repair=not cut), ORIGINAL)


def needs(result):
    return {one.id: one.dependencies for one in result.sub_questions}


TWO_HOPS = hop("1-1", "Which {prize}?"), hop("1-2", "Who won?", "1-1")
GOOD = reply(*TWO_HOPS)
WHOLE = json.dumps(GOOD)


def test_a_damaged_plan_is_read_alike() -> None:
    for text in (
        WHOLE,
        f"```json\n{WHOLE}\n```",
        f"Here is my plan, with {{braces}} in it:\n{WHOLE}",
        WHOLE.replace("]}}", "],}}", 1),
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
    with pytest.raises(UnreadableReply):
        read(WHOLE[:-60], cut=True)
    for nothing in ("null", '"none"', "none", "[]", '""'):
        result = read('{"path": {"sequences": %s, "final_query": "Which film?"}}' % nothing)
        assert (len(result), result.final.text, result.final.dependencies) == (0, ORIGINAL, ())


def test_ids_and_dependencies_are_normalised() -> None:
    assert read(reply(*TWO_HOPS, final="?")).final.dependencies == ("1-2",)
    result = read(reply(hop(None, "a?"), hop("2-1", "b?"), hop("2-1", "c?"), prefix="2"))
    assert list(needs(result)) == ["2-1", "2-1.2", "2-1.3"]
    result = read(reply(hop("1-1", "?"), hop("2-1", "When was <A1-1> founded? See [A7-7].")))
    assert needs(result)["2-1"] == ("1-1",) and len(result.fixes) == 2  # and the final question
    broken = hop("1-1", "a?", "1-2", "3-9", "1-1"), hop("1-2", "b?", "1-1"), hop("1-3", "")
    result = read(reply(*broken))
    assert needs(result) == {"1-1": (), "1-2": ("1-1",)} and len(result.fixes) == 4
    for text, named in (
        ("for <A1-1>?", ["1-1"]), ("for < a1.2 >?", ["1-2"]), ("for <1-1>?", ["1-1"]),
        ("for [A1.1]?", ["1-1"]), ("for {A2-1} and (A0-1)?", ["2-1", "0-1"]),
        ("as [1.1] says", []), ("for <A1-1]", []),
    ):  # fmt: skip
        assert [name for _, name in placeholders(text)] == named


def test_a_reply_without_a_kind_keeps_the_kind_of_the_question() -> None:
    """An empty text means no, as in a sub-question."""
    for given, kinds in ((None, "as"), (True, "aa"), ("yes", "aa"), ("", "ss"), ("none", "ss")):
        closing = [{"final_query": "Which film?", "if_abstract": given}]
        read_reply = PlanReply.model_validate(reply(*TWO_HOPS, final=closing))
        plans = [plan_of(read_reply, ORIGINAL, kind=kind) for kind in ("abstract", "specific")]
        assert "".join(one.final.kind[0] for one in plans) == kinds


def test_a_schema_limits_lists_and_longer_lists_are_read() -> None:
    """The longest plan of the schema fits the 2,200 tokens of the reply with a margin."""
    longest = reply(*[hop("1-1", "Which prize did the founder win? " * 6, *["1-1"] * 5)] * 16)
    assert count_tokens(json.dumps(longest, indent=2)) < 2000
    many = reply(*(hop(f"1-{n}", f"{n}?") for n in range(1, 9)))
    result = planning.bounded_reply(1, 3).model_validate(many)
    assert len(plan_of(result, ORIGINAL).sub_questions) == 8


LLM = Scripted({
    "Broken": "no plan at all", "could not be read": "nor is this",
    "re:Question: Who won <A1-1>": "Who won the Marsh Prize?",
    "re:Question: Who won it": "Who won the prize?", "re:Question: Silent <A1-1>": " ",
})  # fmt: skip
KNOWN = Dependencies(("1-1",), ("Which prize?",), ("The Marsh Prize. It is old.",))


def test_a_sub_question_is_rephrased_given_its_answers() -> None:
    for text, known, changes, expected in (
        ("Who won <A1-1>?", KNOWN, {}, "Who won the Marsh Prize?"),
        ("Who won <A1-1>?", KNOWN, {"when": "never"}, "Who won <A1-1>?"),
        ("Silent <A1-1>?", KNOWN, {}, "Silent The Marsh Prize?"),
        ("Who won it?", KNOWN, {}, "Who won it?"),
        ("Who won it?", KNOWN, {"when": "always"}, "Who won the prize?"),
        ("Who won it?", Dependencies(), {"when": "always"}, "Who won it?"),
        ("Who won it?", KNOWN, {"when": "always", "final": True}, "Who won it?"),
    ):
        kind = SubQuestionKind("specific", changes.pop("final", False))
        assert rephrase(Question("q", text), known, kind, llm=LLM, **changes).text == expected


@pytest.mark.parametrize(
    ("form", "abstract", "kind"),
    [("paragraph", None, "abstract"), ("short", None, "specific"), ("short", True, "abstract"),
     ("paragraph", False, "specific")],
)  # fmt: skip
def test_without_a_plan_the_question_keeps_its_kind(form, abstract, kind) -> None:
    """Abstract questions read hierarchical communities (section 2.3)."""
    llm, question = LLM.attached(), Question("q", "Broken", form=form, abstract=abstract)
    unreadable = plan(question, llm=llm)
    assert (unreadable.final.text, unreadable.final.kind, len(unreadable)) == ("Broken", kind, 0)
    assert unreadable.fallback and (llm.meter.fallbacks, llm.meter.unreadable) == (1, 1)
    off = plan(question, llm=llm, planning="off")
    assert (off.final.kind, off.fallback) == (kind, "") and llm.meter.fallbacks == 1


VECTORS = np.array([[1, 0], [0, 1], [0.6, 0.8], [-1, 0]], np.float32)
NAMES = ("c1", "c2", "c3", "c4")
RANKED = Ranked([0, 1, 2, 3], [0.9, 0.8, 0.5, 0.4])
ONE = Dependencies(("1-1",), ("?",), ("d1",))
TWO = Dependencies(("1-1", "1-2"), ("?", "?"), ("d1", "d2"))
PLANTED = {"d1": (0.6, 0.8), "d2": (1, 0), **dict(zip(NAMES, VECTORS.tolist(), strict=True))}


def test_chunks_and_points_are_reranked_as_in_the_worked_example() -> None:
    # node i is in chunk i alone, so that a chunk's relevance is the score of its node
    graph = Graph.from_arrays(source=[], target=[], node_chunk=np.eye(4), n_nodes=4)
    for dependencies, changes, scores, order in (
        (ONE, {}, [0.80, 0.78, 0.70, 0.24], [1, 0, 2, 3]),
        (ONE, {"alpha": 0.75}, [0.825, 0.80, 0.625, 0.30], [0, 1, 2, 3]),
        (TWO, {}, [0.86, 0.64, 0.62, 0.24], [0, 1, 2, 3]),  # c4: the mean -0.8 counts as 0
        (Dependencies(), {}, [0.9, 0.8, 0.5, 0.4], [0, 1, 2, 3]),
        (ONE, {"rerank": "off"}, [0.9, 0.8, 0.5, 0.4], [0, 1, 2, 3]),
    ):
        result = planning.rerank_chunks(
            RANKED, RANKED, dependencies, graph=graph, chunk_index=VectorIndex(VECTORS),
            embedder=Planted(PLANTED), **changes,
        )  # fmt: skip
        check(result, order, scores)
        settings = {"alpha": 0.6, **changes}
        points = planning.rerank_points(
            Points(NAMES, (90, 80, 50, 40)), dependencies, embedder=Planted(PLANTED), **settings
        )
        assert points.texts == tuple(NAMES[row] for row in order)
