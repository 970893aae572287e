"""Communities grown from those before: what a change touches may move, and nothing else does."""

from __future__ import annotations

import io
import shutil
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from numpy.random import Generator
from toy_runs import WEIGHTLESS, command, ran

from graphrag_bench.columns import Texts
from graphrag_bench.graph.communities import Communities
from graphrag_bench.graph.graph import Graph
from graphrag_bench.offline.communities import leiden
from graphrag_bench.offline.earlier import Earlier
from graphrag_bench.offline.grown_communities import leiden_grown
from graphrag_bench.offline.manifest import read_recipe
from graphrag_bench.progress import Progress

USUAL = {"max_cluster_size": 10, "resolution": 1.0, "use_lcc": False, "seed": 0xDEADBEEF}
TRIANGLES = {"ab": 1, "ac": 1, "bc": 1, "de": 1, "df": 1, "ef": 1, "cd": 1}
"""Two triangles, a-b-c and d-e-f, joined by c-d."""
Edges = dict[str, float]


def graph(edges: Edges, order: str = "") -> Graph:
    """The graph of these pairs of letters; rows of nodes are as in `order`, else sorted."""
    names = list(order) or sorted(set("".join(edges)))
    source, target = ([names.index(pair[end]) for pair in edges] for end in (0, 1))
    return Graph.from_arrays(source, target, weight=list(edges.values()), names=names)


class Held(Earlier):
    """Communities at hand, in place of stored ones."""

    def __init__(self, graph: Graph | None, communities: Communities | None) -> None:
        super().__init__(Path(), "held" if graph else "")
        vars(self).update(graph=graph, communities=communities)


NOTHING = Held(None, None)


def before(old: Graph, found: Communities) -> Earlier:
    return Held(old, found)


def said_and_grown(new: Graph, earlier: Earlier, **other: object) -> tuple[str, Communities]:
    """What is said, and the communities."""
    stream = io.StringIO()
    shown = Progress(stream=stream)
    found = leiden_grown(graph=new, earlier_version=earlier, progress=shown, **USUAL | other)
    return stream.getvalue(), found


def grown(new: Graph, earlier: Earlier, **other: object) -> Communities:
    return said_and_grown(new, earlier, **other)[1]


def rows(found: Communities, names: Texts) -> list[tuple[int, int, str]]:
    """Level, parent and members of each community."""
    members = ["".join(sorted(names.take(np.flatnonzero(row)))) for row in found.nodes.toarray()]
    return list(zip(found.level.tolist(), found.parent.tolist(), members, strict=True))


def members(found: Communities, names: Texts) -> set[str]:
    return {told for _, _, told in rows(found, names)}


def stored(found: Communities, folder: Path) -> dict[str, bytes]:
    folder.mkdir()
    found.save(folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def ring(n_cliques: int, size: int) -> list[tuple[int, int]]:
    """Cliques in a ring, each joined to the next by one edge."""
    starts = [clique * size for clique in range(n_cliques)]
    inside = [pair for at in starts for pair in combinations(range(at, at + size), 2)]
    return inside + list(zip(starts, [*starts[1:], starts[0]], strict=True))


def test_with_nothing_before_it_is_leiden_byte_for_byte(tmp_path):
    new = Graph.from_arrays(*zip(*ring(30, 4), strict=True))
    said, found = said_and_grown(new, NOTHING)
    assert stored(found, tmp_path / "ours") == stored(leiden(graph=new), tmp_path / "leiden")
    assert said == ""


def test_of_the_same_graph_every_community_stays(tmp_path):
    new = Graph.from_arrays(*zip(*ring(30, 4), strict=True))
    first = leiden(graph=new)
    assert int(first.level.max()) == 1
    said, found = said_and_grown(new, before(new, first))
    assert stored(found, tmp_path / "ours") == stored(first, tmp_path / "first")
    assert said == f"communities: 0 of 120 nodes could move, {len(first)} of {len(first)} " + (
        "communities stay\n"
    )


def test_nodes_are_the_same_by_name_wherever_their_rows_are():
    old, new = graph(TRIANGLES), graph(TRIANGLES, "fadbec")
    found = grown(new, before(old, leiden(graph=old)))
    assert members(found, new.names) == {"abc", "def"}
    assert rows(found, new.names)[0] == (0, -1, "def")  # f is in the first row now


def test_a_new_node_joins_its_neighbours_and_the_rest_is_not_looked_at():
    """g is joined to a and b: these and c may move; d, e and f are in no changed pair."""
    old, new = graph(TRIANGLES), graph(TRIANGLES | {"ga": 1, "gb": 1})
    said, found = said_and_grown(new, before(old, leiden(graph=old)))
    assert rows(found, new.names) == [(0, -1, "abcg"), (0, -1, "def")]
    assert said == "communities: 4 of 7 nodes could move, 1 of 2 communities stay\n"


def test_no_node_joins_a_community_that_stays():
    """c has lost a and b; d, its last neighbour, is in a community that no change touches.

    Of c-d-e-f, four edges, the whole has modularity 1 - 1 = 0; c by itself is worth less:
    3/4 - (7/8)^2 - (1/8)^2 = -0.03.
    """
    left = {pair: 1.0 for pair in TRIANGLES if pair not in ("ac", "bc")}
    old, new = graph(TRIANGLES), graph(left)
    assert "c" not in members(leiden(graph=new), new.names)
    assert members(grown(new, before(old, leiden(graph=old))), new.names) == {"ab", "c", "def"}


def test_a_weight_that_changes_at_six_decimals_touches_both_ends():
    old = graph(TRIANGLES)
    earlier = before(old, leiden(graph=old))
    said, _ = said_and_grown(graph(TRIANGLES | {"ab": 1 + 1e-6}), earlier)
    assert said.startswith("communities: 3 of 6 nodes")
    said, _ = said_and_grown(graph(TRIANGLES | {"ab": 1 + 1e-9}), earlier)
    assert said.startswith("communities: 0 of 6 nodes")


def test_the_neighbours_of_a_node_that_is_gone_are_touched():
    old = graph(TRIANGLES)
    new = graph({pair: 1.0 for pair in TRIANGLES if "a" not in pair})
    said, found = said_and_grown(new, before(old, leiden(graph=old)))
    assert members(found, new.names) == {"bc", "def"}
    assert said.startswith("communities: 2 of 5 nodes could move, 1 of 2")


def test_a_community_that_has_fallen_apart_starts_from_its_parts():
    """Whole at resolution 0.1; without c-d there are two components."""
    old, low = graph(TRIANGLES), {"resolution": 0.1}
    first = leiden(graph=old, resolution=0.1)
    assert members(first, old.names) == {"abcdef"}
    new = graph({pair: 1.0 for pair in TRIANGLES if pair != "cd"})
    assert members(grown(new, before(old, first), **low), new.names) == {"abc", "def"}


def test_a_part_without_a_change_stays_where_its_community_is_split_again():
    """Four triangles in a row in twos, each split into its triangles (as in test_leiden).

    m hangs on a: the two of a may move at level 0, and below it a, b, c and m; d-e-f stays.
    """
    rows_of_three = ["abc", "def", "ghi", "jkl"]
    inside = [one + other for three in rows_of_three for one, other in combinations(three, 2)]
    edges = dict.fromkeys([*inside, "cd", "fg", "ij"], 1.0)
    settings = {"max_cluster_size": 5, "resolution": 0.3}
    old, new = graph(edges), graph(edges | {"ma": 1.0, "mb": 1.0})
    first = leiden(graph=old, **settings)
    assert members(first, old.names) == {"abcdef", "ghijkl", *rows_of_three}
    said, found = said_and_grown(new, before(old, first), **settings)
    assert members(found, new.names) == {"abcdefm", "ghijkl", "abcm", "def", "ghi", "jkl"}
    assert said == "communities: 7 of 13 nodes could move, 4 of 6 communities stay\n"


@pytest.mark.parametrize(("old", "new"), [({}, TRIANGLES), (TRIANGLES, {})])
def test_a_graph_may_begin_with_nothing_and_end_with_nothing(old, new):
    one = Graph.from_arrays([], []) if not old else graph(old)
    other = Graph.from_arrays([], []) if not new else graph(new)
    found = grown(other, before(one, leiden(graph=one)))
    assert members(found, other.names) == ({"abc", "def"} if new else set())


@pytest.mark.parametrize("n_cliques", [12, 24, 48])
def test_what_may_move_does_not_grow_with_the_graph(n_cliques):
    """One node hangs on a clique of eight: these nine may move, however many cliques there are."""
    edges = ring(n_cliques, 8)
    old = Graph.from_arrays(*zip(*edges, strict=True))
    new = Graph.from_arrays(*zip(*edges, (1, n_cliques * 8), strict=True))
    said, _ = said_and_grown(new, before(old, leiden(graph=old)))
    assert said == (
        f"communities: 9 of {n_cliques * 8 + 1} nodes could move, "
        f"{n_cliques - 1} of {n_cliques} communities stay\n"
    )


# ---- random sequences of changes

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def changed(edges: Edges, rng: Generator) -> Edges:
    """The pairs after some of them went, came or weigh otherwise."""
    pairs = ["".join(sorted(rng.choice(list(LETTERS), 2, replace=False))) for _ in range(2)]
    gone = rng.choice(sorted(edges), 2) if len(edges) > 24 else []
    made = {pair: weight for pair, weight in edges.items() if pair not in gone}
    return made | {pair: float(rng.integers(1, 4)) for pair in pairs}


def touched(old: Edges, new: Edges) -> set[str]:
    """Nodes of the new pairs, one of whose pairs is in one of both alone or weighs otherwise."""
    known = set("".join(old))
    found = {node for node in "".join(new) if node not in known}
    for pair in {*old, *new}:
        if old.get(pair) != new.get(pair):
            found |= set(pair)
    return found


def root(found: list[tuple[int, int, str]], told: str) -> str:
    """The members of the community of level 0 that some nodes are in."""
    return next(whole for level, _, whole in found if level == 0 and set(told) <= set(whole))


def connected(nodes: str, edges: Edges) -> bool:
    reached, waiting = {nodes[0]}, [nodes[0]]
    while waiting:
        node = waiting.pop()
        near = {one for pair in edges if node in pair for one in pair if one in nodes}
        waiting += sorted(near - reached)
        reached |= near
    return reached == set(nodes)


def check(found: list[tuple[int, int, str]], edges: Edges) -> None:
    """That these are communities within communities of these pairs."""
    top = "".join(told for level, _, told in found if level == 0)
    assert sorted(top) == sorted(set("".join(edges)))
    for level, parent, told in found:
        assert connected(told, edges)
        assert (parent >= 0) == (level > 0)
        if level:
            assert found[parent][0] == level - 1
            assert set(told) < set(found[parent][2])
    for row, (_, _, told) in enumerate(found):
        below = "".join(part for _, parent, part in found if parent == row)
        assert below == "" or (sorted(below) == sorted(told) and len(told) > 4)


@pytest.mark.parametrize("seed", range(40))
def test_whatever_changes_what_is_not_touched_stays(seed, tmp_path):
    """Six versions one after the other, each grown from the one before."""
    rng = np.random.default_rng(seed)
    settings = {"max_cluster_size": 4}
    edges: Edges = {}
    for _ in range(12):
        edges = changed(edges, rng)
    old = graph(edges)
    found = leiden(graph=old, **settings)
    n_stayed = 0
    for version in range(6):
        later = changed(edges, rng)
        order = "".join(rng.permutation(sorted(set("".join(later)))))
        new = graph(later, order)
        earlier = before(old, found)
        made, again = (grown(new, earlier, **settings) for _ in range(2))
        first, second = tmp_path / f"{version}", tmp_path / f"{version} again"
        assert stored(made, first) == stored(again, second)
        was, now = rows(found, old.names), rows(made, new.names)
        check(now, later)
        moved = touched(edges, later)
        for level, parent, told in was:
            if moved.isdisjoint(root(was, told)):
                kept = [(one, above) for one, above, same in now if one == level and same == told]
                assert len(kept) == 1
                assert level == 0 or now[kept[0][1]][2] == was[parent][2]
                n_stayed += 1
        edges, old, found = later, new, made
    assert n_stayed > 0


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
    assert "anew: no version before" in command("plan", *words, "dataset.part=1").out
    said = command("plan", *words, "dataset.part=2").out
    assert f"grows from communities {first}" in said
    done = ran(*words, "dataset.part=2")
    assert "nodes could move" in done.err
    (second,) = keys() - {first}
    recipe = read_recipe(tmp_path / "artifacts" / "toy" / "communities" / second)
    assert recipe["inputs"]["earlier_version"] == first
    assert ran(*words, "dataset.part=2").folder == done.folder
    assert ran(*words, "dataset.part=1").folder.name != done.folder.name
    assert keys() == {first, second}
    communities = tmp_path / "artifacts" / "toy" / "communities"
    shutil.rmtree(communities / first)
    assert "stored" in command("plan", *words, "dataset.part=2").out
    assert ran(*words, "dataset.part=2").folder == done.folder
    shutil.rmtree(communities / second)
    assert "anew: no version before" in command("plan", *words, "dataset.part=2").out
    assert ran(*words, "dataset.part=2").folder != done.folder
    (alone,) = keys()
    assert alone not in (first, second)
    for folder in (tmp_path / "runs").glob("*/*/*"):
        assert command("runs", "rm", str(folder), "--yes", "--home", str(tmp_path)).code == 0
    assert command("runs", "gc", "--delete", "--home", str(tmp_path)).code == 0
    assert not (tmp_path / "artifacts" / "toy").exists()
