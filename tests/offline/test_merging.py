"""Records merged into one graph, by hand on three nodes."""

from graphrag_bench.offline.merging import Merger


def merged(*, named: bool = False) -> Merger:
    """Two mentions of one pair, in both directions and under two relations."""
    merger = Merger(named=named)
    merger.node("Ada", "person", "She counts.", (1,))
    merger.node("ada", "poet", " She counts. ", (0,))
    merger.node("ADA", "poet", "A countess.", (1,))
    merger.relationship(
        "Ada", "Norvik", relation="born in", description="b", keywords=("x", "y"), chunks=(1,)
    )
    merger.relationship(
        "norvik", "ada", relation="town of", description="a", keywords=("z", "x"), chunks=(0,)
    )
    merger.relationship("Ada", "ada")
    merger.relationship("Ada", "--")
    return merger


def test_a_node_has_the_most_frequent_type_and_its_descriptions_once_and_sorted():
    graph = merged().graph(2)
    assert graph.types is not None and graph.descriptions is not None
    assert list(graph.names) == ["ada", "norvik"]
    assert list(graph.types) == ["poet", ""]
    assert list(graph.descriptions) == ["A countess. She counts.", ""]
    assert graph.node_chunk.toarray().tolist() == [[True, True], [True, True]]


def test_a_pair_keeps_direction_and_relation_of_its_first_mention_and_sums_the_weights():
    graph = merged().graph(2, keywords=True)
    assert graph.facts is not None and graph.keywords is not None
    assert (graph.source.tolist(), graph.target.tolist()) == ([0], [1])
    assert list(graph.relations) == ["born in"]
    assert graph.weight.tolist() == [2.0]
    assert list(graph.facts) == ["a b"]
    assert list(graph.keywords) == ["x, y, z"]
    assert graph.relationship_chunk.toarray().tolist() == [[True, True]]


def test_named_relationships_are_one_for_each_head_name_and_tail():
    graph = merged(named=True).graph(2)
    assert list(graph.relations) == ["born in", "town of"]
    assert (graph.source.tolist(), graph.target.tolist()) == ([0, 1], [1, 0])


def test_the_first_descriptions_that_fit_are_taken_and_one_at_least():
    merger = Merger()
    for text in ("one two three", "b", "a"):
        merger.node("Ada", description=text)
    for most, expected in ((1, "one two three"), (4, "b one two three"), (9, "a b one two three")):
        graph = merger.graph(1, most_tokens=most)
        assert graph.descriptions is not None
        assert list(graph.descriptions) == [expected]


def test_nothing_gives_a_graph_without_anything():
    graph = Merger().graph(0, keywords=True)
    assert (graph.n_nodes, graph.n_relationships, graph.n_chunks) == (0, 0, 0)
