"""Passages joined by the entities they share, on five short texts."""

from itertools import combinations

import numpy as np
import pytest

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.graph.graph import Graph
from graphrag_bench.models.nlp import Sentence
from graphrag_bench.offline.passage_graph import passage
from graphrag_bench.progress import Progress

TEXTS = [
    ("Norvik", "Ada Marsh founded it."),
    ("", "Ada Marsh came from Norvik."),
    ("", "Mira Holt met Ada Marsh."),
    ("", "Nobody is here."),
    ("", "Mira Holt was born in 1901."),
]
NAMES = ["Norvik", "Ada Marsh", "Mira Holt", "1901"]


class Listed:
    """A tagger that knows four names, one of them a date."""

    identity = "listed"

    def sentences(self, texts):
        for text in texts:
            found = sorted((text.index(name), name) for name in NAMES if name in text)
            labels = [(name, "DATE" if name.isdigit() else "PERSON") for _, name in found]
            yield [Sentence(text, tuple(labels), (), ())]

    def entities(self, text):
        return [name for name in NAMES if name in text]


def made(**settings) -> Graph:
    table = ChunkTable.of([(f"d{row}", *text) for row, text in enumerate(TEXTS)])
    return passage(chunk_table=table, nlp=Listed(), progress=Progress(quiet=True), **settings)


def edges(graph: Graph) -> list[tuple[int, int, str, float]]:
    columns = zip(graph.source, graph.target, graph.relations, graph.weight, strict=True)
    return [(int(a), int(b), name, float(weight)) for a, b, name, weight in columns]


def test_passages_that_share_an_entity_are_joined_and_the_edge_names_and_counts_all_of_them():
    """Norvik is the title of passage 0, and titles count as entities."""
    assert edges(made()) == [
        (0, 1, "norvik, ada marsh", 2.0),
        (0, 2, "ada marsh", 1.0),
        (1, 2, "ada marsh", 1.0),
        (2, 4, "mira holt", 1.0),
    ]


def test_titles_can_be_left_out():
    assert edges(made(title=False))[0] == (0, 1, "ada marsh", 1.0)


def test_the_threshold_takes_pairs_at_it():
    assert edges(made(min_shared=2)) == [(0, 1, "norvik, ada marsh", 2.0)]
    assert edges(made(min_shared=3)) == []


def test_an_entity_of_too_many_passages_joins_nothing():
    """Ada Marsh is in three passages, the others in two."""
    assert edges(made(max_df=2)) == [(0, 1, "norvik", 1.0), (2, 4, "mira holt", 1.0)]
    assert edges(made(max_df=1)) == []


def test_node_and_chunk_are_one_and_an_edge_is_of_both_its_passages():
    graph = made()
    assert list(graph.names) == [f"chunk {row}" for row in range(5)]
    assert graph.descriptions is not None
    assert graph.descriptions[0] == "Norvik\nAda Marsh founded it."
    assert graph.node_chunk.toarray().tolist() == [[a == b for b in range(5)] for a in range(5)]
    assert graph.relationship_chunk.toarray()[0].tolist() == [True, True, False, False, False]


def test_passages_without_entities_give_a_graph_without_edges():
    table = ChunkTable.of([("a", "", "Nothing."), ("b", "", "Nobody.")])
    graph = passage(chunk_table=table, nlp=Listed(), progress=Progress(quiet=True))
    assert (graph.n_nodes, graph.n_relationships) == (2, 0)


def test_the_artifact_says_how_many_entities_were_too_frequent():
    assert made(max_df=2).statistics == {"entities": 3, "too_frequent": 1}
    assert made().statistics == {"entities": 3, "too_frequent": 0}


@pytest.mark.parametrize("min_shared", [1, 2])
def test_edges_are_those_of_a_plain_count(min_shared):
    chance = np.random.default_rng(0)
    held = [np.flatnonzero(chance.random(12) < 0.2).tolist() for _ in range(30)]
    rows = [(f"d{row}", "", " ".join(f"n{one}" for one in own)) for row, own in enumerate(held)]
    rows = [(name, title, f"{text} {name}") for name, title, text in rows]

    class Words(Listed):
        def sentences(self, texts):
            for text in texts:
                words = [(word, "PERSON") for word in text.split() if word.startswith("n")]
                yield [Sentence(text, tuple(words), (), ())]

    graph = passage(
        chunk_table=ChunkTable.of(rows),
        nlp=Words(),
        progress=Progress(quiet=True),
        min_shared=min_shared,
        max_df=6,
    )
    seen = list(dict.fromkeys(one for own in held for one in own))
    frequent = {one for one in seen if sum(one in own for own in held) > 6}
    assert frequent and len(frequent) < len(seen)
    expected = []
    for a, b in combinations(range(30), 2):
        both = sorted((set(held[a]) & set(held[b])) - frequent, key=seen.index)
        if len(both) >= min_shared:
            expected.append((a, b, ", ".join(f"n{one}" for one in both), float(len(both))))
    assert edges(graph) == expected
