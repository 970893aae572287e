"""The graph of an answer: nodes found, walks, paths and the bound."""

from itertools import pairwise

import numpy as np

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.dataset import Gold
from graphrag_bench.explain.names import ArtifactNames
from graphrag_bench.view.answer_graph import MAX_NODES, ProbableWalks, answer_graph

GOLD = Gold(answers=("Node 3",), evidence=("d1",))


def chain(n):
    table = ChunkTable.of([(f"d{row}", f"Title {row}", f"Text {row}.") for row in range(n)])
    graph = Graph.from_arrays(range(n - 1), range(1, n), np.eye(n, dtype=bool), n_nodes=n)
    return ArtifactNames(graph=graph, chunk_table=table)


def row(*steps):
    trace = [{"step": f"retrieve.{n} op.{n}", "wrote": wrote} for n, wrote in enumerate(steps)]
    return {"question": "q", "trace": trace}


def test_nodes_have_seed_score_gold_and_answer():
    stored = row(
        {"nodes": {"ids": [2], "scores": [1.0]}},
        {"nodes": {"ids": [3, 2], "scores": [0.6, 0.4]}},
        {"chunks": {"ids": [3], "scores": [0.9]}},
    )
    view = answer_graph(stored, GOLD, chain(6))
    nodes = {one["id"]: one for one in view["nodes"]}
    assert nodes["n2"]["seed"] and not nodes["n3"].get("seed")
    assert nodes["n3"]["score"] == 0.6 and nodes["n3"]["answer"]
    assert nodes["c3"]["found"] and nodes["c1"]["gold"] and not nodes["c1"].get("found")
    assert view["size"] == "op.1"
    assert any({edge["s"], edge["t"]} == {"n2", "n3"} for edge in view["edges"])


def test_a_passage_is_drawn_with_the_walk_to_it():
    one = {"ids": [0], "scores": [1.0]}
    stored = row({"nodes": one}, {"chunks": one | {"ids": [3]}})
    view, walk = answer_graph(stored, Gold(), chain(6)), ["n0", "n1", "n2", "n3", "c3"]
    assert [node["id"] for node in view["nodes"]] == walk
    walked = {frozenset((edge["s"], edge["t"])) for edge in view["edges"] if edge.get("walk")}
    assert walked == set(map(frozenset, pairwise(walk)))


def test_a_route_is_drawn_with_its_sentence_and_its_parent():
    passages = [("d0", "Ada", "Ada was born. She led Norvik (city)."), ("d1", "Norvik", "A city.")]
    route = {"parent": 0, "child": 1, "sentence": "She led Norvik (city).", "score": 0.4}
    wrote = {"chunks": {"ids": [1], "scores": [1]}, "routes": [route]}
    ranked = {"step": "retrieve.1 chunk.route", "wrote": wrote}
    view = answer_graph({"trace": [ranked]}, Gold(), ArtifactNames(ChunkTable.of(passages)))
    (edge,) = view["edges"]
    assert (edge["s"], edge["t"], edge["text"]) == ("c0", "c1", route["sentence"])
    assert [node.get("found", False) for node in view["nodes"]] == [True, False]


def test_a_path_has_its_edges_and_an_unconnected_seed_is_listed():
    seeds = {"nodes": {"ids": [0, 1, 5], "scores": [1.0, 0.9, 0.8]}}
    path = {"nodes": [0, 1, 2], "relationships": [0, 1], "score": 0.5}
    view = answer_graph(row(seeds, {"paths": [path]}), Gold(), chain(6))
    assert [node["id"] for node in view["nodes"]] == ["n0", "n1", "n2"]
    assert view["unconnected"] == ["node 5"]
    (only,) = view["paths"]
    edges = {edge["id"]: {edge["s"], edge["t"]} for edge in view["edges"]}
    assert [edges[edge] for edge in only["edges"]] == [{"n0", "n1"}, {"n1", "n2"}]


def test_the_most_probable_walk_avoids_the_hub():
    hub, quiet, target = 1, 2, 3
    source, ends = [0, 0, hub, quiet, *[hub] * 6], [hub, quiet, target, target, *range(4, 10)]
    walks = ProbableWalks(Graph.from_arrays(source, ends), [0], through_chunks=False)
    assert walks.to(("n", target)) == [("n", 0), ("n", quiet), ("n", target)]
    assert walks.to(("n", 99)) == [("n", 99)]


def test_nodes_beyond_the_bound_are_counted():
    ids = list(range(n := MAX_NODES + 30))
    long = {"nodes": ids, "relationships": ids[:-1], "score": 1.0}
    view = answer_graph(row({"nodes": {"ids": ids}}, {"paths": [long]}), Gold(), chain(n))
    assert (len(view["nodes"]), view["left_out"]) == (MAX_NODES, 30)
    assert view["paths"] == [] and view["paths_left_out"] == 1
