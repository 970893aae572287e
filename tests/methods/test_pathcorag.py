"""PathCoRAG's steps, plans and contexts, as models write them and as its release logs them."""

import ast
import csv
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from toy_runs import Capitals

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.path_values import RankedPaths, ReasoningSteps
from graphrag_bench.columns import Texts
from graphrag_bench.embedding.tokenizer import BytePairs
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.prompts import UNBOUNDED
from graphrag_bench.values import Path, Question
from methods.pathcorag.steps import members, reasoning_steps_llm, reasoning_steps_nlp
from operators.context.paths import paths_context
from operators.context.rows import node_pieces, relationship_pieces

SAMPLE_LOG = '''
[2025-01-01 00:00:00] Query: How did Norvik change comets?
High-level steps: ['What is Norvik?', 'Who watched comets?', 'What changed?']
Low-level queries: [['Where is Norvik?', 'Who built it?', 'Why?'], ['Who?', 'How?', 'When?'], ["What's new?", 'What is old?', 'What is left?']]
Context length: 1
Context:

        -----Reasoning paths----
        ```graph
        [S1:1] "ADA" → "NORVIK"
[S1:2] "OTTO" → "NORVIK" → "ADA"
[S2:1] "NORVIK" → "COMET"
        ```
        -----Entities-----
        ```csv
        "id","entity","type","description"
"0","""ADA""","""PERSON""","""Ada, who founded it."""
"1","""NORVIK""","""GEO""","""A place.""<SEP>""An observatory."""
"2","""OTTO""","""PERSON""","""Otto."""
"3","""COMET""","""CATEGORY""","""A comet."""

        ```
        -----Relationships-----
        ```csv
        "id","source","target","description","keywords"
"0","""NORVIK""","""COMET""","""It watched them.""","""watching"""
"1","""ADA""","""NORVIK""","""She founded it.""","""founding"""
"2","""OTTO""","""NORVIK""","""He worked there.""","""work, place"""
"3","""NORVIK""","""ADA""","""She founded it.""","""founding"""

        ```
        
================================================================================
'''  # noqa: E501, W293


@dataclass(frozen=True)
class Logged:
    """A question with its plan, the lines of its paths, and the rows of its two tables."""

    question: str
    steps: list[str]
    queries: list[list[str]]
    lines: list[str]
    nodes: list[list[str]]
    relationships: list[list[str]]


def logged(text: str) -> list[Logged]:
    """Every question of a log."""
    return [_logged(part) for part in re.split(r"\n\[[\d: -]+\] Query: ", text)[1:]]


def _logged(part: str) -> Logged:
    question, steps, queries = part.split("\n", 3)[:3]
    blocks = re.findall(r"```(?:graph|csv)\n(.*?)\n\s+```", part, re.S)
    nodes, relationships = (list(csv.reader(block.strip().splitlines())) for block in blocks[1:])
    return Logged(
        question,
        ast.literal_eval(steps.partition(": ")[2]),
        ast.literal_eval(queries.partition(": ")[2]),
        [line.strip() for line in blocks[0].splitlines()],
        nodes,
        relationships,
    )


def plain(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Rows with the names of nodes as they are without the log's quotation marks."""
    return [[cell.strip('"') for cell in row] for row in rows]


def check_plan(one: Logged) -> None:
    """Ours reads the steps and queries, by position and by the text of their step."""
    for inputs in (one.queries, dict(zip(one.steps, one.queries, strict=True))):
        reply = json.dumps({"reasoning_steps": one.steps, "extended_queries": inputs})
        read = reasoning_steps_llm(
            Question("q", one.question), llm=Scripted(answer=lambda chat, text=reply: text)
        )
        assert list(read.steps) == one.steps
        assert [list(queries) for queries in read.queries] == one.queries


def check_layout(one: Logged) -> None:
    """Ours lays the same paths and rows out alike; a row that is walked both ways is one."""
    (node_head, *nodes), (relationship_head, *rows) = plain(one.nodes), plain(one.relationships)
    names = [row[1] for row in nodes]
    ids = {name: place for place, name in enumerate(names)}
    pairs = {frozenset(row[1:3]): row for row in rows}
    place = {pair: at for at, pair in enumerate(pairs)}
    graph = Graph.from_arrays(
        [ids[row[1]] for row in pairs.values()], [ids[row[2]] for row in pairs.values()],
        names=names,
    )  # fmt: skip
    assert graph.n_relationships == len(pairs)
    columns = {
        "types": Texts.of([row[2] for row in nodes]),
        "descriptions": Texts.of([row[3] for row in nodes]),
        "facts": Texts.of([row[3] for row in pairs.values()]),
        "keywords": Texts.of([row[4] for row in pairs.values()]),
    }
    rich = replace(graph, **columns)
    paths = []
    for at, line in enumerate(one.lines):
        transition = int(line[2 : line.index(":")])
        walk = [name.strip('"') for name in line.partition("] ")[2].split(" → ")]
        hops = [place[frozenset(hop)] for hop in zip(walk, walk[1:], strict=False)]
        paths.append(Path(tuple(ids[n] for n in walk), tuple(hops), 1 - at / 100, transition))
    ranked = RankedPaths(tuple(paths))
    context = paths_context(
        ranked, graph=rich, tokenizer=BytePairs(), context_budget=UNBOUNDED, form="names"
    )
    assert [piece.text for piece in context.pieces] == one.lines
    on_paths, between = members(ranked, order="transition")
    shown = node_pieces(rich, BytePairs(), on_paths, "bare")
    ours = list(csv.reader(piece.text for piece in shown))
    assert (node_head, ours) == (["id", "entity", "type", "description"], nodes)
    shown = relationship_pieces(rich, BytePairs(), between, "bare")
    ours = list(csv.reader(piece.text for piece in shown))
    assert relationship_head == ["id", "source", "target", "description", "keywords"]
    assert [row[0] for row in ours] == [str(at) for at in range(len(pairs))]
    assert sorted(row[1:] for row in ours) == sorted(row[1:] for row in pairs.values())


def test_a_context_in_the_layout_of_the_log_is_rebuilt_from_its_rows() -> None:
    (one,) = logged(SAMPLE_LOG)
    assert len(one.lines) == 3 and len(one.relationships) == 5
    check_plan(one)
    check_layout(one)


QUESTION = Question("q", "How did Norvik change comets?")


def steps(reply: Any, **settings: Any) -> ReasoningSteps:
    text = reply if isinstance(reply, str) else json.dumps(reply)
    return reasoning_steps_llm(QUESTION, llm=Scripted(answer=lambda chat: text), **settings)


TWO = ReasoningSteps(("a", "b"), (("a1", "a2"), ("b1", "b2")))


@pytest.mark.parametrize(
    "reply",
    [
        {"reasoning_steps": ["a", "b"], "extended_queries": [["a1", "a2"], ["b1", "b2"]]},
        {"reasoning steps": ["a", "b"], "extended queries": {"b": ["b1", "b2"], "a": ["a1", "a2"]}},
        {"reasoningSteps": ["a", "b"], "ExtendedQueries": {"A ": ["a1", "a2"], "B": ["b1", "b2"]}},
        {"Reasoning_Steps": ["a", "b"], "extended_queries": {"one": ["a1", "a2"],
                                                            "two": ["b1", "b2"]}},
        {"reasoning_steps": ["a", "b", "c"], "extended_queries": [["a1", "a2", "a3"],
                                                                 ["b1", "b2"], []]},
    ],
    ids=["as asked", "by step", "camel case", "by place", "too many"],
)  # fmt: skip
def test_the_same_steps_in_many_forms(reply: Any) -> None:
    assert steps(reply, n_steps=2, n_queries=2) == TWO


def test_missing_queries_are_the_step_itself_and_few_steps_stay_few() -> None:
    result = steps({"reasoning_steps": ["a"], "extended_queries": [["a1"]]}, n_queries=3)
    assert result == ReasoningSteps(("a",), (("a1", "a", "a"),))


@pytest.mark.parametrize("reply", ["no steps", {"reasoning_steps": [], "extended_queries": []}])
def test_without_steps_the_question_is_the_only_one(reply: Any) -> None:
    assert steps(reply) == ReasoningSteps((QUESTION.text,), ((QUESTION.text,),))


def test_without_a_model_names_come_before_the_question() -> None:
    result = reasoning_steps_nlp(Question("q", "what of Norvik and Ostra?"), nlp=Capitals())
    assert result.queries == (("Norvik", "Ostra"), ("what of Norvik and Ostra?",))
