"""Rows held against a graph of five nodes and three chunks, verdict by verdict.

Chunk 0 (document a) states "0 - 1", chunk 1 (document b) states "1 - 2", chunk 2 (document c)
states nothing but names node 3; nodes 0 and 4 are synonyms.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.dataset import Gold
from graphrag_bench.explain.funnel import STAGES, FunnelArtifacts, of_evidence

CHUNKS = ChunkTable.of([("a", "", "first"), ("b", "", "second"), ("c", "", "third")])
NODE_CHUNK = [[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]
GRAPH = replace(
    Graph.from_arrays([0, 1, 0], [1, 2, 4], NODE_CHUNK, [[1, 0, 0], [0, 1, 0], [0, 0, 0]]),
    synonym=np.array([False, False, True]),
)
BUILT = FunnelArtifacts(
    frozenset("abc"), CHUNKS, GRAPH, frozenset({"retrieve.0 node.link"}), frozenset(STAGES)
)


def row(**more: Any) -> dict[str, Any]:
    return {"question": "q", "status": "answered", "documents": [], **more}


def linking(*nodes: int) -> dict[str, Any]:
    wrote = {"nodes": {"ids": list(nodes), "scores": [1.0] * len(nodes)}}
    return {"step": "retrieve.0 node.link", "wrote": wrote}


def verdicts(stage: str, line: dict[str, Any], built: FunnelArtifacts = BUILT) -> list[bool | None]:
    """What the stage says of the documents a, b and c."""
    return [
        one.passed.get(stage)
        for one in of_evidence(line, Gold(evidence=("a", "b", "c")), built, True)
    ]


def piece(kind: str, name: str, *documents: str) -> dict[str, Any]:
    return {"kind": kind, "id": name, "documents": list(documents)}


def context(*pieces: dict[str, Any], cut: tuple[tuple[str, str], ...] = ()) -> dict[str, Any]:
    return {"pieces": list(pieces), "cut": [list(one) for one in cut]}


RANKED = {"step": "x", "wrote": {"relationships": {"ids": [1], "scores": [1.0]}}}
NAMED_ALONE = replace(BUILT, graph=Graph.from_arrays([], [], NODE_CHUNK, n_nodes=5))
CHUNK_NODES = replace(BUILT, graph=Graph.from_arrays([0], [1], np.eye(3), [[1, 1, 0]], n_nodes=3))
"""The nodes are the chunks; what joins 0 and 1 is no statement, and no node of the other."""


@pytest.mark.parametrize(
    ("stage", "line", "built", "expected"),
    [
        # a relationship that a chunk states; a node where chunks state none
        ("extracted", row(), BUILT, [True, True, False]),
        ("extracted", row(), NAMED_ALONE, [True, True, True]),
        ("extracted", row(), CHUNK_NODES, [True, True, True]),
        # what the relationships of the evidence, and synonymy, join to a start node
        ("linked", row(trace=[linking(0)]), BUILT, [True, True, False]),
        ("linked", row(trace=[linking(3)]), BUILT, [False, False, False]),
        ("linked", row(trace=[linking(4)]), BUILT, [True, True, False]),
        ("linked", row(trace=[linking(0)]), CHUNK_NODES, [True, True, False]),
        ("linked", row(), BUILT, [None, None, None]),
        # ranked relationships retrieve what states them
        ("retrieved", {"question": "q", "status": "answered", "trace": [RANKED]}, BUILT,
         [False, True, False]),
        # a text of a document stands in the context, whatever a row joins
        ("prompt", row(context=context(piece("node", "node 1", "b"), piece("community", "0"))),
         BUILT, [False, True, False]),
        ("prompt", row(context=context({"kind": "own", "id": "0"}, {"kind": "chunk", "id": "a"})),
         BUILT, [True, None, None]),
    ],
)  # fmt: skip
def test_a_stage_says_which_documents_passed_it(
    stage: str, line: dict[str, Any], built: FunnelArtifacts, expected: list[bool | None]
) -> None:
    assert verdicts(stage, line, built) == expected


def test_a_relationship_that_only_other_documents_state_joins_nothing_outside_the_evidence() -> (
    None
):
    """Of the documents b and c alone: node 0 is no node of theirs, so starting there misses."""
    for built in (BUILT, CHUNK_NODES):
        documents = of_evidence(row(trace=[linking(0)]), Gold(evidence=("b", "c")), built, True)
        assert [one.passed["linked"] for one in documents] == [False, False]


def test_a_row_of_the_graph_in_the_prompt_says_what_its_document_says() -> None:
    packed = piece("relationship", "0+1", "a", "b")
    line = row(documents=["c"], context=context(packed, cut=(("chunk", "c"),)))
    for stage in ("prompt", "cut"):
        assert verdicts(stage, line) == [True, True, False]
    assert verdicts("retrieved", line) == [True, True, True]


def test_paths_are_in_the_prompt_unless_the_budget_cut_them() -> None:
    """Numbered best first: path 0 is over relationship 1, path 1 over relationship 0."""
    paths = [{"nodes": [0, 1], "relationships": [0], "score": 0.2, "transition": 0},
             {"nodes": [1, 2], "relationships": [1], "score": 0.9, "transition": 0}]  # fmt: skip
    packed = context(piece("path", "0", "b"), cut=(("path", "1"),))
    line = row(context=packed, trace=[{"step": "x", "wrote": {"paths": paths}}])
    assert verdicts("prompt", line) == [False, True, False]
    assert verdicts("cut", line) == [False, True, None]


def test_two_documents_with_the_same_text_are_both_in_the_prompt() -> None:
    chunks = ChunkTable.of([("a", "", "same"), ("b", "", "same")])
    built = replace(BUILT, chunks=chunks, graph=None)
    of_both = {"kind": "chunk", "id": "a", "also": ["b"]}
    line = row(documents=["a", "b"], context={"pieces": [of_both], "cut": []})
    documents = of_evidence(line, Gold(evidence=("a", "b")), built, True)
    assert [one.passed["prompt"] for one in documents] == [True, True]


def test_a_file_has_come_as_far_as_any_of_its_parts() -> None:
    gold = Gold(evidence=("notes.md", "c"), parts=(("notes.md", ("a", "c")),))
    documents = of_evidence(row(documents=["a"]), gold, BUILT, True)
    assert [one.document for one in documents] == ["notes.md", "c"]
    assert [one.passed["extracted"] for one in documents] == [True, False]
    assert [one.passed["retrieved"] for one in documents] == [True, False]
