"""What a run is expected to cost, against what it then costs: prompt tokens of every method."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from toy_runs import QUICK

from graphrag_bench.config.compose import composed
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.config.sources import names
from graphrag_bench.expected import Sizes, template_tokens
from graphrag_bench.experiment.estimate import estimates
from graphrag_bench.experiment.execute import execute
from graphrag_bench.experiment.expected_steps import Kinds, Rows, visited
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.pipeline.build import build
from graphrag_bench.progress import Progress
from graphrag_bench.prompts import Prompt

pytestmark = pytest.mark.slow

LIMIT = 8
WITHIN = 0.25
OWN_BOUNDS = {
    "drift": (0.75, 4.0, "local searches find fewer chunks than fit, and not all are made"),
    "tog": (0.75, 10.0, "all rounds are expected, and the reader names no relation in the first"),
    "pankrag": (0.75, 20.0, "abstract sub-questions read every report, and the reader plans none"),
}
"""Least and largest estimate by what was paid, where the model decides how long a run goes on."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("estimates")


def prepared(home: Path, method: str, *settings: str) -> Experiment:
    words = ["dataset=sample", f"method={method}", "llm=scripted", "embedder=hashing"]
    words += ["llm._target_=counting_reader.reader", f"limit={LIMIT}", f"paths.home={home}"]
    return Experiment.prepare(composed([*words, "workers=1", "failures.limit=1", *settings]))


def paid(cost: Mapping[str, Any]) -> int:
    return sum(
        step[part]["prompt_tokens"]
        for step in cost["steps"].values()
        for part in ("paid", "cached")
    )


@pytest.mark.real
@pytest.mark.parametrize("method", names("method"))
def test_expected_prompt_tokens_are_within_a_quarter_of_what_is_paid(
    home: Path, method: str
) -> None:
    experiment = prepared(home, method, *QUICK.get(method, ()))
    before = sum(row.prompt_tokens for row in estimates(experiment, LIMIT, LIMIT))
    metrics = execute(experiment, Progress(quiet=True)).metrics
    after = sum(row["prompt_tokens"] for row in metrics["estimate"].values())
    least, most, _ = OWN_BOUNDS.get(method, (1 - WITHIN, 1 + WITHIN, ""))
    for expected in (before, after):
        assert least <= expected / paid(metrics["cost"]) <= most


@pytest.mark.real
@pytest.mark.parametrize(
    ("method", "settings", "most"),
    [
        ("hipporag", ["build.extraction=llm"], 1.25),
        ("llightrag", ["build.text_extraction=llm"], 1.25),
        ("ketrag", ["build.text_extraction=core_llm"], 1.3),  # the template asks for no keywords
        ("hoprag", ["build.pseudo_questions=llm"], 1.25),
        ("raptor", ["build.graph=tree_llm"], 1.4),  # the clusters are not known before
    ],
)
def test_building_is_expected_too(
    home: Path, method: str, settings: list[str], most: float
) -> None:
    experiment = prepared(home, method, *settings, "answer=off")
    (row,) = [one for one in estimates(experiment, LIMIT, 0) if one.stage == "build"]
    metrics = execute(experiment, Progress(quiet=True)).metrics
    assert 1 / most <= row.prompt_tokens / paid(metrics["cost"]) <= most


def test_a_template_is_counted_without_its_marks(tmp_path: Path) -> None:
    (tmp_path / "answer.j2").write_text(
        "{# A comment of many words that no model ever sees. #}{% block user %}\n"
        "Answer:{% for piece in pieces %} {{ piece.text }}{% endfor %}\n{% endblock %}"
    )
    prompt = Prompt("methods:vanilla/prompts/answer.j2", str(tmp_path))
    assert template_tokens(prompt) == 2


def expected(steps: Mapping[str, Any], **sizes: float) -> dict[str, tuple[Sizes, float]]:
    """What each step is expected to be given, and how often it runs, by its operator."""
    load_plugins(["operators", "methods"])
    pipeline, problems = build(steps)
    assert not problems
    known = Sizes(20.0, 100.0, **sizes)
    found = visited(pipeline.steps(), Kinds({"node": 10.0, "relationship": 20.0}), known, {})
    return {op.operator.name: (given, times) for op, given, times in found}


ANSWER = {"op": "answer.direct", "use": ["context"], "prompt": "methods:vanilla/prompts/answer.j2"}


def test_a_context_is_expected_to_hold_what_is_listed_within_its_budget() -> None:
    def context(top_k: int, budget: int) -> float:
        steps = {
            "retrieve": [{"op": "chunk.vdb", "top_k": top_k}],
            "generate": [{"op": "context.chunks", "top_k": 100, "budget": budget}, ANSWER],
        }
        return expected(steps)["answer.direct"][0].context

    assert context(top_k=3, budget=1000) == 300
    assert context(top_k=50, budget=1000) == 950  # half a row is left over on average


def test_what_a_block_leaves_goes_to_the_next() -> None:
    steps = {
        "retrieve": [{"op": "node.vdb", "top_k": 5}, {"op": "chunk.vdb", "top_k": 50}],
        "generate": [
            {"op": "context.nodes", "share": 0.5, "budget": 1000},
            {"op": "context.chunks", "use": ["context"], "share": 0.5, "top_k": 50, "budget": 1000},
            ANSWER,
        ],
    }
    given, _ = expected(steps)["answer.direct"]
    assert given.context == 5 * 10 + (1000 - 50) - 50


def test_rounds_arms_and_items_are_counted() -> None:
    steps = {
        "retrieve": [
            {"op": "chunk.vdb", "top_k": 2},
            {"op": "thoughts.begin"},
            {"repeat": 3, "steps": [{"op": "thoughts.next"}]},
        ],
        "generate": [{"op": "context.chunks"}, ANSWER],
    }
    found = expected(steps)
    assert found["thoughts.next"][1] == 3 and found["thoughts.next"][0].passages == 2
    assert found["answer.direct"][1] == 1


def test_lists_out_of_a_graph_vary_so_that_a_bound_cuts_the_long_ones() -> None:
    assert Rows(10.0, searched=True).up_to(20.0) == 10.0
    assert Rows(10.0, searched=False).up_to(1e9) == pytest.approx(10.0)
    assert Rows(10.0, searched=False).up_to(10.0) == pytest.approx(6.32, abs=0.01)
