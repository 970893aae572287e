"""What a map step reads is told by the plan, and no group outgrows the reader's window."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graphrag_bench.config.compose import composed
from graphrag_bench.experiment.context_plan import context_lines
from graphrag_bench.experiment.experiment import Experiment


def prepared(method: str, window: int | None = None, **settings: Any) -> Experiment:
    words = ["dataset=toy", "embedder=hashing", "llm=openai_compatible", "llm.model=m"]
    given = [f"{name}={value}" for name, value in settings.items()]
    values = {"llm.window": window}
    return Experiment.prepare(composed([*words, f"method={method}", *given], values))


def told(experiment: Experiment) -> str:
    return "\n".join(context_lines(experiment))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_plan_says_how_many_groups_are_read_and_what_becomes_of_the_rest() -> None:
    said = told(prepared("ggraphrag"))
    assert "reads at most 64 groups, 2,500 tokens each, in the order given" in said
    assert "unread" in said
    alone = told(prepared("ggraphrag", profile="zhou2025"))
    assert "reads at most 100,000 groups, one report or chunk each" in alone


@pytest.mark.parametrize(("window", "expected"), [(None, 12000), (32768, 12000), (8192, 6100)])
def test_a_group_is_no_larger_than_what_the_window_leaves(
    window: int | None, expected: int
) -> None:
    steps = prepared("ggraphrag", window, profile="upstream").settings.method["generate"]
    (mapping,) = [step for step in steps if step["op"] == "points.map"]
    assert mapping["group_tokens"] == expected


def test_the_local_search_of_pankrag_tells_the_nodes_it_found() -> None:
    """Without the entity table the descriptions of its 20 nodes reached no prompt."""
    lines = told(prepared("pankrag")).splitlines()
    (nodes,) = [line for line in lines if "context.nodes" in line]
    (relationships,) = [line for line in lines if "context.relationships" in line]
    assert "0.2 of" in nodes and "0.2 of" in relationships
