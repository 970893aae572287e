"""The graph of passages that share entities."""

from builds import QUIET, Known, chunks_of, ends

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.graphs.passage_graph import passage

TABLE = ChunkTable.of([
    ("d0", "Norvik", "Ada Marsh founded it."),
    ("d1", "", "Ada Marsh came from Norvik."),
    ("d2", "", "Mira Holt met Ada Marsh."),
    ("d3", "", "Nobody is here."),
    ("d4", "", "Mira Holt was born in 1901."),
])  # fmt: skip
NAMES = Known({"Norvik": "GPE", "Ada Marsh": "PERSON", "Mira Holt": "PERSON", "1901": "DATE"})


def graph_of(**settings) -> Graph:
    return passage(chunk_table=TABLE, nlp=NAMES, progress=QUIET, **settings)


def edges(graph: Graph) -> list[tuple[tuple[int, int], str, float]]:
    return list(zip(ends(graph), graph.relations, graph.weight.tolist(), strict=True))


def test_edges_name_and_count_the_shared_entities_of_two_passages():
    """Norvik is the title of passage 0. Ada Marsh is in three passages, the others in two."""
    graph = graph_of()
    assert edges(graph) == [
        ((0, 1), "norvik, ada marsh", 2.0), ((0, 2), "ada marsh", 1.0), ((1, 2), "ada marsh", 1.0),
        ((2, 4), "mira holt", 1.0),
    ]  # fmt: skip
    assert graph.descriptions[0] == "Norvik\nAda Marsh founded it."
    assert (chunks_of(graph.node_chunk)[3], chunks_of(graph.relationship_chunk)[0]) == ([3], [0, 1])
    graph = graph_of(max_df=2)
    assert edges(graph) == [((0, 1), "norvik", 1.0), ((2, 4), "mira holt", 1.0)]
    assert graph.statistics == {"entities": 3, "too_frequent": 1}
