"""One context budget for all methods: which steps it reaches, and what it comes to in a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from toy_runs import TOY, command, metrics, ran, records, refused

from graphrag_bench.config.compose import composed
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.config.sources import names
from graphrag_bench.contract import operators
from graphrag_bench.experiment.budgets import budgeted, packing
from graphrag_bench.experiment.context_plan import context_lines
from graphrag_bench.experiment.context_room import LEAST
from graphrag_bench.experiment.experiment import Experiment

pytestmark = pytest.mark.slow

QUIET = [*TOY, "answer=off", "reference_rows=off"]
UNBOUNDED = {"zeroshot", "dalk"}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    load_plugins()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def method_of(name: str) -> dict[str, Any]:
    made: dict[str, Any] = composed([f"method={name}"])["method"]
    return made


def steps(method: Mapping[str, Any], stage: str = "generate") -> dict[str, dict[str, Any]]:
    """The plain steps of a stage by operator."""
    return {step["op"]: step for step in method[stage] if "op" in step}


def test_the_budget_reaches_every_block_of_a_context_and_leaves_the_shares() -> None:
    changed = budgeted(method_of("lgraphrag"), 1000, fill=False)
    held = [(step.get("budget"), step.get("share")) for step in steps(changed).values()]
    assert held == [(1000, 0.27), (1000, 0.2), (1000, 0.2), (1000, 0.33), (None, None)]
    assert steps(changed)["context.chunks"]["top_k"] == 4


def test_tokens_of_a_block_s_own_are_the_same_part_of_another_budget() -> None:
    """3,000 of 16,000 are 375 of 2,000."""
    values = composed(["method=fastgraphrag", "profile=upstream"])
    shares = [step.get("share") for step in packing(values["method"])]
    assert (shares, values["method"]["budget"]) == ([4000, 3000, 9000], 16000)
    changed = packing(budgeted(values["method"], 2000, fill=False))
    assert [step["share"] for step in changed] == [500, 375, 1125]


@pytest.mark.parametrize("profile", ["paper", "zhou2025", "upstream"])
@pytest.mark.parametrize("name", names("method"))
def test_blocks_with_tokens_of_their_own_have_a_budget_that_holds_them(
    name: str, profile: str
) -> None:
    """Else the first blocks fill a smaller window, and the last, PathRAG's paths, are cut whole."""
    method = composed([f"method={name}", f"profile={profile}"])["method"]
    own = [step["share"] for step in packing(method) if str(step["op"]).startswith("context.")
           and isinstance(step.get("share"), int)]  # fmt: skip
    assert not own or sum(own) <= method["budget"]


def test_a_plan_names_the_lists_that_a_number_of_ours_may_cut() -> None:
    lines = [line for line in context_lines(planned("lgraphrag")) if "the last are cut" in line]
    assert [(line.split()[0], "beyond 200 rows" in line) for line in lines] == [
        ("context.relationships", True)
    ]


def planned(name: str, *words: str) -> Experiment:
    """A checked run of a method on the toy set, whose reader has a window of 8,192 tokens."""
    base = ["dataset=toy", "embedder=hashing", f"method={name}"]
    return Experiment.prepare(composed([*base, *words]))


def test_filling_takes_as_many_chunks_as_fit_from_a_list_that_is_long_enough() -> None:
    changed = budgeted(method_of("vanilla"), 1000, fill=True)
    assert steps(changed)["context.chunks"] == {
        "op": "context.chunks",
        "top_k": 1000,
        "budget": 1000,
    }
    assert steps(changed, "retrieve")["chunk.vdb"]["top_k"] == 20
    plain = budgeted(method_of("vanilla"), 1000, fill=False)
    assert plain["retrieve"] == method_of("vanilla")["retrieve"]


def test_the_nodes_of_a_tree_are_its_passages_and_those_beside_relationships_are_not() -> None:
    tree, graph = (budgeted(method_of(name), 1000, fill=True) for name in ("raptor", "graphrag_er"))
    assert steps(tree)["context.nodes"]["top_k"] == 1000
    assert steps(tree, "retrieve")["node.vdb"]["top_k"] == 20
    assert graph["retrieve"] == method_of("graphrag_er")["retrieve"]


def test_what_a_map_step_reads_keeps_its_budget_and_the_last_prompt_has_the_new_one() -> None:
    changed = budgeted(method_of("ggraphrag"), 1000, fill=True)
    assert "budget" not in steps(changed)["context.communities"]
    assert steps(changed)["answer.reduce"]["budget"] == 1000


def test_a_list_that_a_model_reads_first_stays_as_long_as_it_was() -> None:
    changed = budgeted(method_of("rerank"), 1000, fill=True)
    assert changed["retrieve"] == method_of("rerank")["retrieve"]
    assert steps(changed)["context.chunks"]["top_k"] == 1000


def test_all_methods_but_those_without_a_packed_context_can_be_given_a_budget() -> None:
    without = {name for name in names("method") if not packing(method_of(name))}
    assert without == UNBOUNDED


def test_no_operator_and_no_method_has_a_number_of_its_own() -> None:
    """What bounds a prompt is the run's budget or a profile's, and stands in one place."""
    for operator in operators.all():
        assert operator.settings.get("budget") is None or (
            operator.settings["budget"].default is None
        ), operator.name
    for name in names("method"):
        method = method_of(name)
        assert method.get("budget") is None, name
        assert [step.get("budget") for step in packing(method)] == [None] * len(packing(method))


def tokens(folder: Path) -> list[int]:
    """The tokens of each row's context."""
    rows = [row["context"] for row in records(folder)]
    return [sum(piece["tokens"] for piece in row["pieces"]) for row in rows]  # type: ignore[index]


def test_no_context_of_any_method_is_longer_than_the_budget() -> None:
    ended = ran("-m", *QUIET, "method=vanilla,bm25,hipporag,raptor,lgraphrag", "budget_context=60")
    for folder in ended.folders:
        assert max(tokens(folder)) <= 60, folder
        assert metrics(folder)["budget_context"] == 60
    table = (ended.folder / "table.md").read_text()
    assert "context budgets: 60 tokens for all" in table


def test_a_budget_is_filled_unless_told_otherwise() -> None:
    full = ran(*QUIET, "method=vanilla", "budget_context=150").folder
    short = ran(*QUIET, "method=vanilla", "method.top_k=1", "budget_context=150",
                "fill_context=off").folder  # fmt: skip
    assert min(tokens(full)) > max(tokens(short))
    pieces = [row["context"]["pieces"] for row in records(short)]  # type: ignore[index]
    assert {len(held) for held in pieces} == {1}


def n_pieces(folder: Path) -> int:
    """The largest number of passages in one of the contexts."""
    return max(len(row["context"]["pieces"]) for row in records(folder))  # type: ignore[index]


def test_one_budget_is_the_default_and_native_budgets_are_asked_for() -> None:
    """VanillaRAG's own file says 4 passages; all 8 of the toy set fit into 2,400 tokens."""
    plain = ran(*QUIET, "method=vanilla")
    assert (metrics(plain.folder)["budget_context"], n_pieces(plain.folder)) == (LEAST, 8)
    assert "context budgets: 2,400 tokens for all" in (plain.folder / "table.md").read_text()
    native = ran(*QUIET, "method=vanilla", "budget_context=native")
    assert (metrics(native.folder)["budget_context"], n_pieces(native.folder)) == (None, 4)
    assert "context budgets: native" in (native.folder / "table.md").read_text()
    assert ran(*QUIET, "method=vanilla", "budget_context=2400").folder == plain.folder
    assert ran(*QUIET, "method=vanilla", "budget_context=null").folder == native.folder


@pytest.mark.parametrize(
    ("given", "budget", "most"),
    [
        ("method.top_k=4", LEAST, 4),
        ("method.top_k=3", LEAST, 3),
        ("method.generate.0.top_k=3", LEAST, 3),
        ("fill_context=off", LEAST, 4),
        ("profile=zhou2025", None, 4),
    ],
)
def test_the_default_gives_way_to_what_was_asked_for(
    given: str, budget: int | None, most: int
) -> None:
    """A number that is given stays, that of the file too, and a profile has its own budget."""
    folder = ran(*QUIET, "method=vanilla", given).folder
    assert (metrics(folder)["budget_context"], n_pieces(folder)) == (budget, most)


def test_a_budget_of_the_methods_own_makes_it_native() -> None:
    folder = ran(*QUIET, "method=lgraphrag", "method.budget=90").folder
    assert metrics(folder)["budget_context"] is None
    assert 0 < max(tokens(folder)) <= 90


def test_reference_rows_have_the_budget_too_and_the_floor_goes_without() -> None:
    ended = ran(*TOY, "method=hipporag", "budget_context=60", "limit=2")
    held = {folder.parent.name: metrics(folder)["budget_context"] for folder in ended.folders}
    assert held == {"hipporag": 60, "bm25": 60, "vanilla": 60, "oracle": 60, "zeroshot": None}


def test_what_cannot_be_kept_is_refused() -> None:
    assert "no step of 'zeroshot' packs" in refused(*QUIET, "method=zeroshot", "budget_context=60")
    said = refused(*QUIET, "method=kgp", "method.budget=500", "budget_context=60")
    assert "both set the context budget" in said
    said = refused(*QUIET, "method=vanilla", "fill_context=off", "budget_context=native")
    assert "each method has its own here" in said
    said = refused(*QUIET, "method=vanilla", "profile=zhou2025", "fill_context=on")
    assert "each method has its own here" in said
    said = refused(*QUIET, "method=vanilla", "budget_context=nativ")
    assert "native" in said


def test_a_plan_says_the_budget_and_what_so_many_questions_can_show() -> None:
    """2.8016 * sqrt(0.5 / 6) = 0.809."""
    planned = command("plan", *TOY, "method=vanilla", "budget_context=60").out
    assert "context: at most 60 tokens (budget_context)" in planned
    assert "detectable: a difference of 0.809" in planned
