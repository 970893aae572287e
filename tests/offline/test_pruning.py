"""Phrases that a graph does without, worked out by hand."""

import pytest

from graphrag_bench.graph.extraction import ChunkExtraction, Triple
from graphrag_bench.offline.extraction import pruned

ROWS = [
    ChunkExtraction(
        ("Ada Marsh", "a lamp", "the river", "a boat", "fog"),
        (Triple("Ada Marsh", "built", "a boat"), Triple("a boat", "crossed", "the river")),
    ),
    ChunkExtraction(
        ("Norvik", "fog", "the quay"),
        (Triple("Norvik", "has", "the quay"), Triple("fog", "hid", "the quay")),
    ),
    ChunkExtraction(("The Quay",), ()),
]
NAMED = [{"ada marsh"}, {"norvik"}, set()]


def kept(prune: str) -> list[tuple[tuple[str, ...], int]]:
    return [(row.entities, len(row.triples)) for row in pruned(ROWS, NAMED, prune)]


def test_nothing_goes_by_default() -> None:
    assert pruned(ROWS, NAMED, "none") == ROWS


def test_phrases_without_a_neighbour_go() -> None:
    assert kept("unjoined") == [
        (("Ada Marsh", "the river", "a boat", "fog"), 2),
        (("Norvik", "fog", "the quay"), 2),
        (("The Quay",), 0),
    ]


def test_leaves_go_with_their_relationship_and_what_joins_two_others_stays() -> None:
    assert kept("leaves") == [
        (("Ada Marsh", "a boat", "fog"), 1),
        (("Norvik", "fog", "the quay"), 2),
        (("The Quay",), 0),
    ]


def test_all_phrases_of_one_passage_go_and_those_of_two_stay() -> None:
    assert kept("single") == [
        (("Ada Marsh", "fog"), 0),
        (("Norvik", "fog", "the quay"), 2),
        (("The Quay",), 0),
    ]


@pytest.mark.parametrize("prune", ["unjoined", "leaves", "single"])
def test_an_entity_of_one_passage_stays_in_all(prune: str) -> None:
    rows = [ChunkExtraction(("Norvik",), ()), ChunkExtraction(("quay",), ())]
    assert pruned(rows, [{"norvik"}, set()], prune)[0].entities == ("Norvik",)
    assert pruned(rows, [{"norvik"}, {"quay"}], prune)[1].entities == ("quay",)
