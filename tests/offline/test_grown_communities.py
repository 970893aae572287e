"""Communities that grow: what a change does not touch stays, and the same change gives the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy_runs import WEIGHTLESS, ran

from graphrag_bench.graph.communities import Communities
from graphrag_bench.graph.graph import Graph
from graphrag_bench.offline.communities import leiden
from graphrag_bench.offline.earlier import Earlier
from graphrag_bench.offline.grown_communities import _Before, leiden_grown, touched
from graphrag_bench.offline.manifest import read_recipe
from graphrag_bench.progress import Progress

Pairs = dict[tuple[str, str], float]
Members = set[frozenset[str]]


class Held(Earlier):
    """Communities at hand, in place of stored ones."""

    def __init__(self, graph: Graph | None, communities: Communities | None) -> None:
        super().__init__(Path(), "held" if graph else "")
        vars(self).update(graph=graph, communities=communities)


NONE = Held(None, None)


def graph_of(pairs: Pairs, others: tuple[str, ...] = ()) -> Graph:
    names = list(dict.fromkeys([name for pair in pairs for name in pair] + list(others)))
    row = {name: place for place, name in enumerate(names)}
    source, target = ([row[pair[end]] for pair in pairs] for end in (0, 1))
    return Graph.from_arrays(
        source, target, weight=list(pairs.values()), names=names, n_nodes=len(names)
    )


def grown(graph: Graph, earlier: Earlier = NONE, **settings: Any) -> Communities:
    return leiden_grown(
        graph=graph, earlier_version=earlier, progress=Progress(quiet=True), **settings
    )


def members(found: Communities, graph: Graph, level: int | None = 0) -> Members:
    names = list(graph.names)
    return {
        frozenset(names[node] for node in found.nodes[row].indices)
        for row in range(len(found))
        if level is None or found.level[row] == level
    }


def clique(name: str, size: int = 4) -> Pairs:
    nodes = [f"{name}{place}" for place in range(size)]
    return {(a, b): 1.0 for place, a in enumerate(nodes) for b in nodes[place + 1 :]}


def ring(n_cliques: int) -> Pairs:
    pairs: Pairs = {}
    for place in range(n_cliques):
        pairs |= clique(f"c{place}-")
    for place in range(n_cliques):
        pairs[f"c{place}-0", f"c{(place + 1) % n_cliques}-1"] = 0.5
    return pairs


def columns(found: Communities, folder: Path) -> dict[str, bytes]:
    folder.mkdir()
    found.save(folder)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_without_an_earlier_version_it_is_leiden_byte_for_byte(tmp_path: Path) -> None:
    graph = graph_of(ring(40))
    made = columns(grown(graph, max_cluster_size=6), tmp_path / "grown")
    assert made == columns(leiden(graph=graph, max_cluster_size=6), tmp_path / "clean")


def test_an_unchanged_graph_keeps_its_communities_in_any_order(tmp_path: Path) -> None:
    pairs = ring(30)
    first = graph_of(pairs)
    before = grown(first, max_cluster_size=6)
    turned = graph_of(dict(reversed(pairs.items())))
    after = grown(turned, Held(first, before), max_cluster_size=6)
    assert members(after, turned, None) == members(before, first, None)


def test_a_new_node_joins_and_the_others_stay() -> None:
    """Two triangles joined by a pair; d comes to the second with two pairs. By hand: the pairs of
    y1 and y2 have changed, so the second triangle is free, and the first stays."""
    pairs = {**clique("x", 3), **clique("y", 3), ("x0", "y0"): 1.0}
    first = graph_of(pairs)
    before = grown(first)
    assert members(before, first) == {frozenset(("x0", "x1", "x2")), frozenset(("y0", "y1", "y2"))}
    second = graph_of({("y1", "d"): 1.0, ("y2", "d"): 1.0, **pairs})
    earlier = Held(first, before)
    start, fixed = _Before.of(second, earlier).start(0, np.arange(7))
    free = {second.names[node] for node in np.flatnonzero(~fixed)}
    assert free == {"y0", "y1", "y2", "d"}
    assert len(set(start.tolist())) == 3
    after = grown(second, earlier)
    assert members(after, second) == {
        frozenset(("x0", "x1", "x2")),
        frozenset(("y0", "y1", "y2", "d")),
    }


def test_touched_are_new_nodes_and_the_ends_of_pairs_that_changed() -> None:
    old = graph_of({("a", "b"): 1.0, ("b", "c"): 1.0, ("d", "e"): 1.0, ("f", "g"): 1.0})
    new = graph_of({("g", "f"): 1.0, ("a", "b"): 2.0, ("d", "c"): 1.0, ("h", "f"): 1.0})
    rows = {name: row for row, name in enumerate(new.names)}
    now = np.array([rows.get(name, -1) for name in old.names])
    found = {new.names[node] for node in np.flatnonzero(touched(old, new, now))}
    assert found == {"a", "b", "c", "d", "f", "h"}


def changed(pairs: Pairs, chance: np.random.Generator) -> Pairs:
    """The pairs with one or two gone, new or of another weight."""
    made = dict(pairs)
    names = sorted({name for pair in pairs for name in pair})
    for _ in range(int(chance.integers(1, 3))):
        what = chance.integers(3)
        keys = list(made)
        if what == 0:
            del made[keys[chance.integers(len(keys))]]
        elif what == 1:
            made[keys[chance.integers(len(keys))]] = float(chance.integers(1, 4))
        else:
            other = str(chance.choice(names)) if chance.random() < 0.5 else f"n{len(made)}"
            name = str(chance.choice(names))
            if other != name and (other, name) not in made:
                made[name, other] = 1.0
    return made


@pytest.mark.parametrize("seed", range(40))
def test_members_of_an_untouched_community_stay_together(seed: int, tmp_path: Path) -> None:
    chance = np.random.default_rng(seed)
    pairs = ring(int(chance.integers(4, 9)))
    graph = graph_of(pairs)
    held = grown(graph, max_cluster_size=5)
    for step in range(5):
        pairs = changed(pairs, chance)
        new = graph_of(pairs)
        earlier = Held(graph, held)
        found = grown(new, earlier, max_cluster_size=5)
        again = grown(new, earlier, max_cluster_size=5)
        first, second = tmp_path / f"a{step}", tmp_path / f"b{step}"
        assert columns(found, first) == columns(again, second)
        rows = {name: row for row, name in enumerate(new.names)}
        now = np.array([rows.get(name, -1) for name in graph.names])
        moved = {new.names[node] for node in np.flatnonzero(touched(graph, new, now))}
        after = members(found, new)
        for community in members(held, graph):
            if not community & moved and community <= set(new.names):
                assert any(community <= other for other in after)
        joined = {name for community in after for name in community}
        assert joined == set(new.names)
        graph, held = new, found


def test_as_many_nodes_may_move_in_a_large_graph_as_in_a_small_one() -> None:
    """One pair more in one of 5 or 50 rings of cliques: the members of the cliques it joins."""

    def free(n_rings: int) -> int:
        pairs = {
            (f"r{place} {a}", f"r{place} {b}"): weight
            for place in range(n_rings)
            for (a, b), weight in ring(8).items()
        }
        first = graph_of(pairs)
        before = grown(first)
        second = graph_of({**pairs, ("r0 c0-2", "r0 c4-3"): 1.0})
        _, fixed = _Before.of(second, Held(first, before)).start(0, np.arange(second.n_nodes))
        return int((~fixed).sum())

    assert free(50) == free(5) == 8


def test_a_run_on_a_changed_corpus_grows_from_the_run_before_and_finds_itself_again(
    tmp_path: Path,
) -> None:
    words = ["dataset=toy", "method=lgraphrag", "build.communities=leiden_grown", "answer=off"]
    words += [*WEIGHTLESS, f"paths.home={tmp_path}", "reference_rows=off", "dataset.parts=2"]

    def keys() -> set[str]:
        root = tmp_path / "artifacts" / "toy" / "communities"
        return {path.name for path in root.iterdir() if path.is_dir()}

    ran(*words, "dataset.part=1")
    (first,) = keys()
    done = ran(*words, "dataset.part=2")
    assert "nodes may move, the others stay" in done.err
    (second,) = keys() - {first}
    recipe = read_recipe(tmp_path / "artifacts" / "toy" / "communities" / second)
    assert recipe["inputs"]["earlier_version"] == first
    assert ran(*words, "dataset.part=2").folder == done.folder
    assert ran(*words, "dataset.part=1").folder.name != done.folder.name
    assert keys() == {first, second}
