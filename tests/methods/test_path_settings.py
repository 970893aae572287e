"""The settings of the path methods' files reach their steps: goldens through the registry."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from small_worlds import World

from graphrag_bench.columns import Texts
from graphrag_bench.config.compose import composed
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.ranked_paths import RankedPaths
from graphrag_bench.pipeline.build import build
from graphrag_bench.pipeline.steps import Execution as Running
from graphrag_bench.pipeline.steps import run_steps
from graphrag_bench.values import Context, Path, Question, RetrievalState

A, B, C, D, E, F = "Ada", "Bergen", "Cairo", "Dover", "Essen", "Faro"
SQUARES = World(
    "golden G1: A-B, A-C, B-D, C-D, D-E, C-F, F-E",
    facts=tuple(
        ((head, f"{head} to {tail}", tail),)
        for head, tail in ((A, B), (A, C), (B, D), (C, D), (D, E), (C, F), (F, E))
    ),
)
ENDS = {"n_nodes": 2, "theta": 0.05}


@pytest.fixture(autouse=True)
def _plugins() -> None:
    load_plugins()


def method(name: str, profile: str = "default", **given: Any) -> dict[str, Any]:
    """A method under a profile, with settings laid over that."""
    words = [f"method={name}", f"profile={profile}"]
    made: dict[str, Any] = composed(words, {"method": given})["method"]
    return made


def state(world: World, asked: str, made: dict[str, Any]) -> RetrievalState:
    """The state in which a method packs its context."""
    pipeline, problems = build(made)
    assert not problems
    start = RetrievalState(Question("q", asked))
    (found,) = run_steps(pipeline.steps(False), [start], Running(world.resources))
    assert isinstance(found, RetrievalState), found
    return found


def walks(found: RetrievalState) -> dict[str, float]:
    """The paths by the first letters of their nodes."""
    names = SQUARES.resources["graph"].names
    return {
        "".join(names[n][0] for n in path.nodes): path.score for path in found.get("paths").paths
    }


def pathrag(profile: str = "default", **given: Any) -> dict[str, float]:
    return walks(state(SQUARES, f"what joins {A} and {E}?", method("pathrag", profile, **given)))


def of_kind(context: Context, kind: str) -> list[str]:
    return [piece.text for piece in context.pieces if piece.kind == kind]


# ---- PathRAG


def test_the_goldens_of_the_paper_hold_through_the_method_s_file() -> None:
    """G1 both ways with theta .05, and G3 of the released code."""
    third = pytest.approx(11533 / 21600, abs=1e-6)
    assert pathrag(**ENDS) == {"abde": third, "acde": third, "efca": third}
    assert pathrag("upstream", n_nodes=2) == {
        "abde": pytest.approx(0.406667, abs=1e-6),
        "efca": pytest.approx(0.406667, abs=1e-6),
        "acde": pytest.approx(0.34, abs=1e-6),
    }


def test_by_the_paper_s_text_resource_flows_as_relationships_point() -> None:
    """G1, direction=out: nothing leads from Essen to Ada."""
    assert pathrag("paper", **ENDS) == {
        "abde": pytest.approx(4121 / 6000, abs=1e-6),
        "acde": pytest.approx(4121 / 6000, abs=1e-6),
        "acfe": pytest.approx(3631 / 6000, abs=1e-6),
    }


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"per_pair_top": 1}, ["abde", "edca"]),
        ({"at_most_half": True}, ["abde", "acde"]),
        ({"theta": 0.6, "theta_on_start": True}, []),
        ({"max_hops": 2}, []),
        ({"reliability": "edge_flow", "theta": 0.3, "alpha": 0.8}, ["abde", "efca", "acde"]),
        ({"direction": "out", "top_k": 2}, ["abde", "acde"]),
    ],
)
def test_each_setting_of_the_file_decides_which_paths_are_kept(
    given: dict[str, Any], found: list[str]
) -> None:
    """Alive are A-B-D-E and A-C-D-E from Ada, E-D-C-A and E-F-C-A from Essen: four of three hops,
    all with .533935; half of them are two."""
    assert list(pathrag(**{**ENDS, **given})) == found


def test_relationships_of_high_level_keywords_come_by_degrees_in_the_released_code() -> None:
    """Sums of degrees: C-D 6; A-C, B-D, D-E, C-F 5; A-B, F-E 4; ties by row, all weights alike."""
    asked = f"what joins {A} and {E}?"
    by_degree = state(SQUARES, asked, method("pathrag", edge_order="degree_weight"))
    assert by_degree.get("relationships").ids.tolist() == [3, 1, 2, 4, 5, 0, 6]
    by_cosine = state(SQUARES, asked, method("pathrag"))
    scores = by_cosine.get("relationships").scores
    assert (np.diff(scores) <= 1e-9).all()
    alike = state(SQUARES, asked, method("pathrag", min_score=0.2)).get("relationships")
    assert (alike.scores >= 0.2).all() and len(alike) == (np.round(scores, 6) >= 0.2).sum() < 7


def test_as_many_relationships_as_are_asked_for_stand_in_the_prompt() -> None:
    """More than the 200 rows that a table of relationships has by its own default."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    names = [f"{one}{other.lower()}o" for one in letters[:10] for other in letters]
    star = World("one hub", facts=tuple(((A, "knows", name),) for name in names[:230]))
    found = state(star, f"whom knows {A}?", method("pathrag", n_edges=230))
    assert len(of_kind(found.get("context"), "relationship")) == 230


def test_the_prompt_of_the_released_code_has_its_five_blocks_in_order() -> None:
    """By the question two of the squares' names are found; every relationship is near it."""
    made = method("pathrag", "upstream", n_nodes=2, min_score=-1.0, n_edges=3)
    found = state(SQUARES, f"what joins {A} and {E}?", made)
    kinds = [piece.kind for piece in found.get("context").pieces]
    runs = [kind for row, kind in enumerate(kinds) if kinds[row - 1 : row] != [kind]]
    assert runs == ["node", "relationship", "chunk", "node", "path"]
    assert kinds.count("relationship") == 3
    low = of_kind(found.get("context"), "node")[-2:]
    assert [row.split(",")[1] for row in low] == [A.casefold(), E.casefold()]
    assert len(found.get("nodes")) == 2 and len(found.get("chunks"))


# ---- PathCoRAG


def packed(made: dict[str, Any], paths: RankedPaths, graph: Graph) -> Context:
    """The context that a method's own steps make of given paths, from the switch on."""
    at = [row for row, item in enumerate(made["retrieve"]) if "switch" in item]
    pipeline, problems = build({**made, "convert": [], "retrieve": made["retrieve"][at[0] :]})
    assert not problems
    start = RetrievalState(Question("q", "?"), {"paths": paths})
    resources = {**SQUARES.resources, "graph": graph}
    (found,) = run_steps(pipeline.steps(False), [start], Running(resources))
    assert isinstance(found, RetrievalState), found
    context = found.get("context")
    assert isinstance(context, Context)
    return context


def test_every_node_of_a_kept_path_stands_in_the_table_once() -> None:
    """15 paths of two hops that share their first node: 31 nodes and 30 relationships; of four
    hops 61 nodes, more than the 40 rows that a table of nodes has by its own default."""
    ends = [(0 if hop == 0 else 4 * path + hop, 4 * path + hop + 1) for path in range(15)
            for hop in range(4)]  # fmt: skip
    graph = Graph.from_arrays(*zip(*ends, strict=True), node_chunk=np.ones((61, 1)),
                              relationship_chunk=np.ones((60, 1)))  # fmt: skip
    paths = RankedPaths(
        tuple(
            Path((0, *range(4 * p + 1, 4 * p + 5)), tuple(range(4 * p, 4 * p + 4)), 1 - p / 20, 1)
            for p in range(15)
        )
    )
    context = packed(method("pathcorag"), paths, graph)
    assert len(of_kind(context, "path")) == 15
    assert len(of_kind(context, "node")) == 61 and len(of_kind(context, "relationship")) == 60
    capped = packed(method("pathcorag", n_table_nodes=40, n_table_relationships=7), paths, graph)
    assert len(of_kind(capped, "node")) == 40 and len(of_kind(capped, "relationship")) == 7


def test_the_tables_follow_the_paths_of_the_prompt_and_lose_what_the_worst_paths_hold() -> None:
    """Golden G8: A-C .9, D-E .8, A-C-D .8, C-D-E .75, D-C-E .65, by transition."""
    ends = [0, 0, 1, 2, 2, 3, 3], [1, 2, 3, 3, 4, 4, 5]
    plain = Graph.from_arrays(*ends, names=list("ABCDEF"), node_chunk=np.ones((6, 1)),
                              relationship_chunk=np.ones((7, 1)))  # fmt: skip
    graph = replace(plain, relations=Texts.of(["ab", "ac", "bd", "cd", "ce", "de", "df"]))
    golden = RankedPaths(
        (
            Path((0, 2), (1,), 0.9, 1), Path((3, 4), (5,), 0.8, 2),
            Path((0, 2, 3), (1, 3), 0.8, 1), Path((2, 3, 4), (3, 5), 0.75, 2),
            Path((3, 2, 4), (3, 4), 0.65, 2),
        )
    )  # fmt: skip
    context = packed(method("pathcorag"), golden, graph)
    assert [row.split(",")[1] for row in of_kind(context, "node")] == list("ACDE")
    assert [row.split(",")[3] for row in of_kind(context, "relationship")] == [
        "ac", "cd", "de", "ce",
    ]  # fmt: skip
    fewer = packed(method("pathcorag", n_table_nodes=3, n_table_relationships=3), golden, graph)
    assert [row.split(",")[1] for row in of_kind(fewer, "node")] == list("ACD")
    assert [row.split(",")[3] for row in of_kind(fewer, "relationship")] == ["ac", "cd", "de"]
