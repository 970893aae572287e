"""Contexts of paths: which are kept, in which order, and in which words."""

from dataclasses import replace
from typing import Any

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.path_values import RankedPaths
from graphrag_bench.columns import Texts
from graphrag_bench.embedding.tokenizer import BytePairs
from graphrag_bench.prompts import UNBOUNDED, ContextBudget
from graphrag_bench.values import Context, Path
from operators.context.paths import paths_context

GRAPH = Graph.from_arrays(source=[0, 1, 0], target=[1, 2, 2], names=["ada", "norvik", "tarn"])
LONG, SHORT, BACK = (
    Path((0, 1, 2), (0, 1), 0.9, 1), Path((0, 2), (2,), 0.5, 1), Path((1, 0), (0,), 0.7, 2)
)  # fmt: skip
PATHS = RankedPaths((LONG, BACK, SHORT))


def texts(context: Context | None = None, budget: int | None = None, **settings: Any) -> list[str]:
    bound = ContextBudget(budget)
    found = paths_context(
        PATHS, context, graph=GRAPH, tokenizer=BytePairs(), context_budget=bound, **settings
    )
    return [piece.text for piece in found.pieces]


WORDS = {
    "long": "ada -> related to -> norvik -> related to -> tarn",
    "short": "ada -> related to -> tarn",
    "back": "norvik -> related to -> ada",
}


def test_the_most_reliable_path_stands_last_and_the_least_is_cut_whatever_the_order() -> None:
    assert texts() == [WORDS["short"], WORDS["back"], WORDS["long"]]
    assert texts(order="descending") == [WORDS["long"], WORDS["back"], WORDS["short"]]
    found = [texts(order="hop_first", seed=seed) for seed in range(9)]
    assert all(order[0] == WORDS["long"] and len(order) == 3 for order in found)
    assert {order[1] for order in found} == {WORDS["short"], WORDS["back"]}
    assert texts(order="hop_first", seed=3) == found[3]
    for order in ("ascending", "descending", "hop_first"):
        assert WORDS["short"] not in texts(order=order, budget=20)
        assert WORDS["long"] in texts(order=order, budget=20)


def test_a_flat_prompt_has_each_node_and_each_relationship_once_in_random_order() -> None:
    found = [texts(form="flat", seed=seed) for seed in range(9)]
    for flat in found:
        assert sorted(flat[:3]) == ["ada", "norvik", "tarn"] and flat[3:] == 3 * ["related to"]
    assert len(set(map(tuple, found))) > 1 and texts(form="flat", seed=3) == found[3]


def test_paths_by_names_are_numbered_within_their_transition() -> None:
    assert texts(form="names") == [
        '[S1:1] "ada" → "norvik" → "tarn"', '[S1:2] "ada" → "tarn"', '[S2:1] "norvik" → "ada"'
    ]  # fmt: skip


def test_nodes_and_relationships_are_told_with_what_the_graph_knows_of_them() -> None:
    graph = Graph.from_arrays(source=[0], target=[1], names=["ada", "norvik"])
    columns = {
        "types": Texts.of(["person", ""]),
        "descriptions": Texts.of(["An astronomer.", ""]),
        "facts": Texts.of(["Ada founded it."]),
        "keywords": Texts.of(["founding"]),
    }
    rich = replace(graph, **columns)
    one = RankedPaths((Path((0, 1), (0,), 1.0),))
    pack = {"graph": rich, "tokenizer": BytePairs(), "context_budget": UNBOUNDED}
    found = paths_context(one, **pack)
    assert found.pieces[0].text == "ada (person): An astronomer. -> Ada founded it. -> norvik"
    found = paths_context(one, edge_text="keywords", **pack)
    assert "-> founding ->" in found.pieces[0].text
