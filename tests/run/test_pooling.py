"""`pooling=rerank` and `pooling=reselect` on every method that packs relationships."""

from pathlib import Path
from typing import Any

import pytest
from small_worlds import World
from toy_runs import TOY, command_error

from graphrag_bench.config.compose import method_values
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.config.sources import method_file, names, with_profile
from graphrag_bench.pipeline.pipeline import StepOptions, build
from graphrag_bench.pipeline.steps import Execution as Running
from graphrag_bench.pipeline.steps import run_steps
from graphrag_bench.prompts import ContextBudget
from graphrag_bench.run.method import able_to_pool
from graphrag_bench.values import Context, Question, RetrievalState

pytestmark = pytest.mark.slow

TABLES = ["lgraphrag", "vgraphrag", "llightrag", "glightrag", "hlightrag", "fastgraphrag",
          "graphrag_er", "gretriever", "lightrag_mix"]  # fmt: skip
"""Methods that pack ranked relationships as a table."""
ALL = [*TABLES, "pankrag", *({"subgraphrag"} & set(names("method")))]  # fmt: skip
"""Every method that packs ranked relationships."""

CHAIN = World(
    "from Ada Marsh three hops on, beside a hub that she has nothing to do with",
    facts=(
        (("Ada Marsh", "founded", "Norvik"), ("Norvik", "stands on", "Mount Tarn")),
        (("Mount Tarn", "lies in", "Velia"), ("Otto Brandt", "visited", "Mount Tarn")),
        (("Otto Brandt", "taught", "Mira Holt"), ("Otto Brandt", "left", "Kessel")),
        (("Otto Brandt", "built", "Ostra"), ("Otto Brandt", "sold", "Lund")),
    ),
)
RERANK = StepOptions(pooling={"mode": "rerank"})
QUESTION = Question("q", "which land holds the mountain that Ada Marsh chose?")


@pytest.fixture(autouse=True)
def _plugins(home: Path) -> None:
    load_plugins()


def method(name: str, **settings: Any) -> dict[str, Any]:
    return method_values({**with_profile(method_file(name), "default", "default"), **settings})


def final(values: dict[str, Any], budget: int | None = None, **pooling: Any) -> RetrievalState:
    """Return the final state of a method for the question in the planted world."""
    pipeline, problems = build(values, StepOptions(pooling=pooling or None))
    assert not problems
    resources = {**CHAIN.resources, "context_budget": ContextBudget(budget)}
    start = RetrievalState(QUESTION)
    (outcome,) = run_steps(pipeline.steps(answering=False), [start], Running(resources))
    assert isinstance(outcome, RetrievalState), outcome
    return outcome


def unordered(context: Context) -> list[object]:
    """Return the pieces, with the rows of relationships sorted and without row numbers."""
    lines = [one.text.partition(",")[2] for one in context.pieces if one.kind == "relationship"]
    return [*(one for one in context.pieces if one.kind != "relationship"), sorted(lines)]


@pytest.mark.parametrize("name", TABLES)
def test_rerank_changes_only_the_order_of_relationships(name: str) -> None:
    """300 tokens cut the tables of most methods."""
    base = final(method(name), 300)
    new = final(method(name), 300, mode="rerank")
    before, after = base.get("context"), new.get("context")
    assert unordered(before) == unordered(after)
    assert before.n_tokens == after.n_tokens and before.share == after.share
    for slot in ("nodes", "chunks", "communities"):
        one, other = (state.get(slot) for state in (base, new))
        assert one is other or one.ids.tolist() == other.ids.tolist()


def test_pooling_raises_the_path_from_the_question_entity() -> None:
    """Base scores, sums of degrees: Ada-Norvik 3, Norvik-Tarn 5, Tarn-Velia 4, Otto-Tarn 8, four
    more of Otto 6; the lowest is 3. The path of three from Ada has mean 4: its rows have 4 + 3,
    4 + 3/2 and 4 + 3/3; the others stand for themselves, 8 + 3 and 6 + 3.
    """
    plain = method("graphrag_er", top_k=20)
    base = final(plain).get("relationships")
    assert base.ids.tolist() == [3, 4, 5, 6, 7, 1, 2, 0]
    new = final(plain, mode="rerank").get("relationships")
    assert new.ids.tolist() == [2, 1, 0, 7, 6, 5, 4, 3]
    assert new.scores.tolist() == pytest.approx([5, 5.5, 7, 9, 9, 9, 9, 11])


def test_reselect_keeps_the_number_of_relationships() -> None:
    plain = method("glightrag", top_k=3)
    base = final(plain)
    new = final(plain, mode="reselect")
    assert len(new.get("relationships")) == len(base.get("relationships")) == 3
    assert set(new.get("relationships").ids) != set(base.get("relationships").ids)
    assert new.get("nodes").ids.tolist() == base.get("nodes").ids.tolist()
    longer = final(plain, mode="reselect", top_k=5)
    assert len(longer.get("relationships")) == 5
    no_longer = final(plain, mode="reselect", coarse_k=3)
    assert set(no_longer.get("relationships").ids) == set(base.get("relationships").ids)


# ---- chosen from outside


@pytest.mark.parametrize("mode", ["rerank", "reselect"])
def test_methods_that_pack_relationships_can_be_pooled(mode: str) -> None:
    assert set(able_to_pool()) == set(ALL)
    message = command_error(*TOY, "method=hipporag", f"pooling={mode}", name="plan")
    assert "hipporag" in message and "fastgraphrag, glightrag" in message
    for name in ALL:
        pipeline, problems = build(method(name), StepOptions(pooling={"mode": mode}))
        assert (problems, "path.pool" in pipeline.names) == ([], True)
