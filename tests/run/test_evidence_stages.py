"""Rows held against a graph of five nodes and three chunks, verdict by verdict.

Chunk 0 (document a) states "0 - 1", chunk 1 (document b) states "1 - 2", chunk 2 (document c)
states nothing but names node 3; nodes 0 and 4 are synonyms.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.dataset import Gold
from graphrag_bench.explain.funnel import Built, fates, fates_of
from graphrag_bench.explain.stages import STAGES

CHUNKS = ChunkTable.of([("a", "", "first"), ("b", "", "second"), ("c", "", "third")])
NODE_CHUNK = [[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]
GRAPH = replace(
    Graph.from_arrays([0, 1, 0], [1, 2, 4], NODE_CHUNK, [[1, 0, 0], [0, 1, 0], [0, 0, 0]]),
    synonym=np.array([False, False, True]),
)
BUILT = Built(
    frozenset("abc"), CHUNKS, GRAPH, frozenset({"retrieve.0 node.link"}), frozenset(STAGES)
)


def row(**more: Any) -> dict[str, Any]:
    return {"question": "q", "status": "answered", "documents": [], **more}


def linking(*nodes: int) -> dict[str, Any]:
    wrote = {"nodes": {"ids": list(nodes), "scores": [1.0] * len(nodes)}}
    return {"step": "retrieve.0 node.link", "wrote": wrote}


def verdicts(stage: str, given: dict[str, Any], built: Built = BUILT) -> list[bool | None]:
    """What the stage says of the documents a, b and c."""
    return [one.verdicts.get(stage) for one in fates(given, ["a", "b", "c"], built, True)]


def test_a_document_is_extracted_when_its_chunk_states_a_relationship() -> None:
    assert verdicts("extracted", row()) == [True, True, False]


def test_nodes_are_enough_where_chunks_state_no_relationships() -> None:
    graph = Graph.from_arrays([], [], NODE_CHUNK, n_nodes=5)
    assert verdicts("extracted", row(), replace(BUILT, graph=graph)) == [True, True, True]


def test_a_passage_that_nothing_is_joined_to_is_a_node_all_the_same() -> None:
    """The nodes are the chunks; what joins 0 and 1 is no statement, and no node of the other."""
    joined = Graph.from_arrays([0], [1], np.eye(3), [[1, 1, 0]], n_nodes=3)
    built = replace(BUILT, graph=joined)
    assert verdicts("extracted", row(), built) == [True, True, True]
    assert verdicts("linked", row(trace=[linking(0)]), built) == [True, True, False]
    found = fates(row(trace=[linking(0)]), ["b", "c"], built, True)
    assert [one.verdicts["linked"] for one in found] == [False, False]


def test_a_start_node_links_what_the_relationships_of_the_evidence_join_it_to() -> None:
    assert verdicts("linked", row(trace=[linking(0)])) == [True, True, False]
    assert verdicts("linked", row(trace=[linking(3)])) == [False, False, False]
    assert verdicts("linked", row(trace=[linking()])) == [False, False, False]


def test_a_synonym_of_a_node_links_as_the_node_does() -> None:
    assert verdicts("linked", row(trace=[linking(4)])) == [True, True, False]


def test_a_relationship_that_only_other_documents_state_joins_nothing_outside_the_evidence() -> (
    None
):
    """Of the documents b and c alone: node 0 is no node of theirs, so starting there misses."""
    found = fates(row(trace=[linking(0)]), ["b", "c"], BUILT, True)
    assert [one.verdicts["linked"] for one in found] == [False, False]


def test_linking_is_not_known_when_the_row_holds_no_trace() -> None:
    assert verdicts("linked", row()) == [None, None, None]


def test_without_ranked_chunks_ranked_relationships_retrieve_what_states_them() -> None:
    given = row(trace=[{"step": "x", "wrote": {"relationships": {"ids": [1], "scores": [1.0]}}}])
    del given["documents"]
    assert verdicts("retrieved", given) == [False, True, False]


def piece(kind: str, name: str, *documents: str) -> dict[str, Any]:
    return {"kind": kind, "id": name, "documents": list(documents)}


def context(*pieces: dict[str, Any], cut: tuple[tuple[str, str], ...] = ()) -> dict[str, Any]:
    return {"pieces": list(pieces), "cut": [list(one) for one in cut]}


def test_a_row_of_the_graph_in_the_prompt_says_what_its_document_says() -> None:
    held = piece("relationship", "0+1", "a", "b")
    given = row(documents=["c"], context=context(held, cut=(("chunk", "c"),)))
    assert verdicts("prompt", given) == [True, True, False]
    assert verdicts("cut", given) == [True, True, False]
    assert verdicts("retrieved", given) == [True, True, True]


def test_paths_are_in_the_prompt_unless_the_budget_cut_them() -> None:
    """Numbered best first: path 0 is over relationship 1, path 1 over relationship 0."""
    paths = [
        {"nodes": [0, 1], "relationships": [0], "score": 0.2, "transition": 0},
        {"nodes": [1, 2], "relationships": [1], "score": 0.9, "transition": 0},
    ]
    held = context(piece("path", "0", "b"), cut=(("path", "1"),))
    given = row(context=held, trace=[{"step": "x", "wrote": {"paths": paths}}])
    assert verdicts("prompt", given) == [False, True, False]
    assert verdicts("cut", given) == [False, True, None]


def test_a_piece_without_a_text_of_a_document_is_no_evidence_of_it_whatever_its_row_joins() -> None:
    given = row(context=context(piece("node", "node 1", "b"), piece("community", "0")))
    assert verdicts("prompt", given) == [False, True, False]


def test_of_a_piece_that_names_no_documents_it_is_not_known_what_it_is_from() -> None:
    given = row(context=context({"kind": "own", "id": "0"}, {"kind": "chunk", "id": "a"}))
    assert verdicts("prompt", given) == [True, None, None]


def test_two_documents_with_the_same_text_are_both_in_the_prompt() -> None:
    chunks = ChunkTable.of([("a", "", "same"), ("b", "", "same")])
    built = replace(BUILT, chunks=chunks, graph=None)
    of_both = {"kind": "chunk", "id": "a", "also": ["b"]}
    given = row(documents=["a", "b"], context={"pieces": [of_both], "cut": []})
    found = fates(given, ["a", "b"], built, True)
    assert [one.verdicts["prompt"] for one in found] == [True, True]


def test_after_a_failure_what_was_written_before_is_still_told() -> None:
    failed = {"question": "q", "status": "failed", "trace": [linking(0)]}
    assert verdicts("linked", failed) == [True, True, False]
    assert verdicts("retrieved", failed) == [None, None, None]
    found = fates(failed, ["a", "b", "c"], BUILT, None)
    assert [one.lost for one in found] == ["replied", "replied", "extracted"]


def test_a_file_has_come_as_far_as_any_of_its_parts() -> None:
    gold = Gold(evidence=("notes.md", "c"), parts=(("notes.md", ("a", "c")),))
    found = fates_of(row(documents=["a"]), gold, BUILT, True)
    assert [one.document for one in found] == ["notes.md", "c"]
    assert [one.verdicts["extracted"] for one in found] == [True, False]
    assert [one.verdicts["retrieved"] for one in found] == [True, False]
