"""Whole runs on the synthetic world: with everything perfect the oracle is, and losses add up."""

from pathlib import Path
from statistics import mean

import pytest
from toy_runs import metrics, run_folder

from graphrag_bench.api import dataset
from graphrag_bench.world.dataset import world_of

pytestmark = pytest.mark.slow

SIZES = {"size": 60, "n_questions": 24}
WORLD = [
    "dataset=world",
    *(f"dataset.{name}={value}" for name, value in SIZES.items()),
    "embedder=hashing",
    "llm=world_reader",
    "nlp._target_=toy_runs.Capitals",
    "reference_rows=off",
    "budget_context=native",  # 2,400 tokens would hold most of so small a world
]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def mean_of(name: str, *settings: str) -> float:
    stored = metrics(run_folder(*WORLD, *settings))
    assert stored["failed"] == 0
    return float(stored["metrics"][name]["mean"])  # type: ignore[index]


@pytest.mark.parametrize("worse", [[], ["dataset.alias_rate=1"], ["dataset.noise=0.5"]])
def test_with_nothing_removed_the_oracle_answers_every_question(worse: list[str]) -> None:
    assert mean_of("accuracy", "method=oracle", *worse) == 1.0
    assert mean_of("evidence_recall@5", "method=oracle", *worse) == 1.0


def test_a_perfect_extraction_and_perfect_linking_let_tog_answer_everything() -> None:
    assert mean_of("accuracy", "method=tog", "method.conversion=llm") == 1.0


def test_retrieval_lies_between_the_floor_and_the_ceiling() -> None:
    vanilla = mean_of("accuracy", "method=vanilla")
    hipporag = mean_of("accuracy", "method=hipporag", "method.conversion=llm")
    assert 0.0 < vanilla < hipporag < 1.0


def test_follow_ups_lead_to_facts_that_one_local_search_does_not_reach() -> None:
    searched_once = mean_of("accuracy", "method=lgraphrag", "method.budget=1000")
    followed_up = mean_of("accuracy", "method=drift", "method.budget=1000")
    assert searched_once < followed_up


def test_removed_facts_cost_the_oracle_exactly_what_the_world_says() -> None:
    result = world_of(dataset("world", **SIZES, removed=0.3))
    settings = ["method=oracle", "dataset.removed=0.3"]
    stated = [[result.facts[row].passage is not None for row in one.facts] for one in result.chains]
    best = mean(mean(facts) for facts in stated)
    assert mean_of("evidence_recall@5", *settings) == pytest.approx(best, abs=1e-6)
    answerable = mean(all(facts) for facts in stated)
    assert mean_of("accuracy", *settings) == pytest.approx(answerable, abs=1e-6)
