"""Stages of the funnel on a graph of five nodes and three chunks.

Chunk 0 (document a) states "0 - 1", chunk 1 (document b) states "1 - 2", chunk 2 (document c)
states nothing but names node 3; nodes 0 and 4 are synonyms.
"""

from dataclasses import replace

import numpy as np

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.dataset import Gold
from graphrag_bench.explain.funnel import STAGES, FunnelArtifacts, evidence_documents

CHUNKS = ChunkTable.of([("a", "", "first"), ("b", "", "second"), ("c", "", "third")])
NODE_CHUNK = [[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]
GRAPH = replace(
    Graph.from_arrays([0, 1, 0], [1, 2, 4], NODE_CHUNK, [[1, 0, 0], [0, 1, 0], [0, 0, 0]]),
    synonym=np.array([False, False, True]),
)
BUILT = FunnelArtifacts(
    frozenset("abc"), CHUNKS, GRAPH, frozenset({"retrieve.0 node.link"}), frozenset(STAGES)
)


def row(**more):
    return {"question": "q", "status": "answered", "documents": [], **more}


def linking(node):
    return {"step": "retrieve.0 node.link", "wrote": {"nodes": {"ids": [node], "scores": [1.0]}}}


def piece(kind, name, *documents):
    return {"kind": kind, "id": name, "documents": documents}


def packed(*pieces, cut=(), **more):
    return row(context={"pieces": pieces, "cut": cut}, **more)


RANKED = {"step": "x", "wrote": {"relationships": {"ids": [1], "scores": [1.0]}}}
NAMED_ALONE = replace(BUILT, graph=Graph.from_arrays([], [], NODE_CHUNK, n_nodes=5))
CHUNK_NODES = replace(BUILT, graph=Graph.from_arrays([0], [1], np.eye(3), [[1, 1, 0]], n_nodes=3))
"""The nodes are the chunks; the relationship 0 - 1 is no statement of a chunk."""
SAME = replace(BUILT, chunks=ChunkTable.of([("a", "", "same"), ("b", "", "same")]), graph=None)
PACKED = packed(piece("relationship", "0+1", "a", "b"), cut=(("chunk", "c"),), documents=["c"])
PATHS = [{"nodes": [0, 1], "relationships": [0], "score": 0.2, "transition": 0},
         {"nodes": [1, 2], "relationships": [1], "score": 0.9, "transition": 0}]  # fmt: skip
"""Pieces are numbered by score: path 0 has relationship 1, path 1 relationship 0."""
TRACE = [{"step": "x", "wrote": {"paths": PATHS}}]
PATH_PACKED = packed(piece("path", "0", "b"), cut=(("path", "1"),), trace=TRACE)


def test_funnel_stage_lists_documents_that_pass():
    signs = {"+": True, "-": False, "?": None}
    for stage, line, built, expected in (
        # a relationship that a chunk states; a node where chunks state none
        ("extracted", row(), BUILT, "++-"), ("extracted", row(), NAMED_ALONE, "+++"),
        ("extracted", row(), CHUNK_NODES, "+++"),
        # what the relationships of the evidence, and synonymy, join to a start node
        ("linked", row(trace=[linking(0)]), BUILT, "++-"),
        ("linked", row(trace=[linking(4)]), BUILT, "++-"),
        ("linked", row(trace=[linking(0)]), CHUNK_NODES, "++-"),
        ("linked", row(), BUILT, "???"),
        # node 0 is no node of the documents b and c, and only a states what joins it to node 1
        ("linked", row(trace=[linking(0)]), BUILT, " --"),
        # ranked relationships retrieve what states them
        ("retrieved", {"question": "q", "status": "answered", "trace": [RANKED]}, BUILT, "-+-"),
        # a text of a document is in the context, or was cut from it
        ("prompt", packed(piece("node", "node 1", "b"), piece("community", "0")), BUILT, "-+-"),
        ("prompt", packed({"kind": "own", "id": "0"}, {"kind": "chunk", "id": "a"}), BUILT, "+??"),
        ("prompt", PACKED, BUILT, "++-"), ("cut", PACKED, BUILT, "++-"),
        ("prompt", PATH_PACKED, BUILT, "-+-"), ("cut", PATH_PACKED, BUILT, "-+?"),
        # two documents with the same text
        ("prompt", packed({"kind": "chunk", "id": "a", "also": ["b"]}), SAME, "++ "),
    ):  # fmt: skip
        passed = {"abc"[n]: signs[sign] for n, sign in enumerate(expected) if sign in signs}
        documents = evidence_documents(line, Gold(evidence=tuple(passed)), built, True)
        assert {one.document: one.passed.get(stage) for one in documents} == passed, line


def test_file_passes_a_stage_if_any_part_does():
    gold = Gold(evidence=("notes.md", "c"), parts=(("notes.md", ("a", "c")),))
    documents = evidence_documents(row(documents=["a"]), gold, BUILT, True)
    passed = [(one.document, one.passed["extracted"], one.passed["retrieved"]) for one in documents]
    assert passed == [("notes.md", True, True), ("c", False, False)]
