"""Estimated costs compared with actual costs."""

from pathlib import Path

import pytest
from toy_runs import QUICK

from graphrag_bench.config.compose import compose_settings
from graphrag_bench.progress import Progress
from graphrag_bench.run.estimates import Estimate, Load, estimate_table, estimates
from graphrag_bench.run.execute import execute
from graphrag_bench.run.experiment import Experiment

pytestmark = pytest.mark.slow

LIMIT = 2
MODELS = ["ggraphrag", "drift", "ircot", "tog", "pankrag", "rerank", "hoprag", "kgp", "lgraphrag"]
"""Methods that cover every kind of model call."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("estimates")


def prepared(home: Path, method: str, *settings: str) -> Experiment:
    words = ["dataset=toy", f"method={method}", "llm=scripted", "embedder=hashing"]
    words += ["llm._target_=counting_reader.reader", f"limit={LIMIT}", f"paths.home={home}"]
    words += ["workers=1", "failures.limit=1", *QUICK.get(method, ())]
    return Experiment.prepare(compose_settings([*words, *settings]))


@pytest.mark.parametrize("method", MODELS)
def test_actual_costs_are_within_the_planned_maximum(home: Path, method: str) -> None:
    experiment = prepared(home, method)
    before = {row.step: row for row in estimates(experiment, LIMIT, LIMIT)}
    cost = execute(experiment, Progress(quiet=True)).metrics["cost"]["steps"]
    assert set(cost) <= set(before)
    for step, parts in cost.items():
        for name in ("calls", "prompt_tokens", "completion_tokens"):
            paid = sum(parts[part][name] for part in ("paid", "cached"))
            assert paid <= getattr(before[step].most, name), (step, name)
            assert getattr(before[step].expected, name) <= getattr(before[step].most, name)


def test_estimate_counts_rounds(home: Path) -> None:
    """At most eight thoughts per question, one call each."""
    (thoughts,) = estimates(prepared(home, "ircot"), LIMIT, 0)  # nothing is answered
    assert thoughts.step.endswith("thoughts.next")
    assert (thoughts.most.calls, thoughts.expected.calls) == (8 * LIMIT, 4 * LIMIT)


def test_estimate_of_a_prompt_includes_the_context_budget(home: Path) -> None:
    runs = (prepared(home, "vanilla", f"budget_context={n}") for n in (100, 1100))
    (small,), (large,) = (estimates(run, 1, 1) for run in runs)
    assert large.most.prompt_tokens - small.most.prompt_tokens == 1000
    assert large.most.completion_tokens == small.most.completion_tokens


def test_unknown_price_is_none(home: Path) -> None:
    served = ["llm=openai_compatible", "llm.base_url=http://127.0.0.1:9/v1", "llm.api_key_env=null",
              "llm.model=m",
              "llm._target_=graphrag_bench.llm.openai_compatible.OpenAICompatible"]  # fmt: skip
    prices = ([], ["llm.prices={prompt: 1.0}"])
    (unknown,), (known,) = (
        estimates(prepared(home, "vanilla", *served, *more), 1, 1) for more in prices
    )
    assert unknown.most.usd is None
    assert known.most.usd is not None and known.most.usd > 0


@pytest.mark.real
@pytest.mark.parametrize(
    ("method", "settings", "most"),
    [
        ("hipporag", ["build.extraction=llm"], 1.25),
        ("raptor", ["build.graph=tree_llm"], 1.4),  # the clusters are not known before
    ],
)
def test_expected_tokens_of_a_build_are_close(
    home: Path, method: str, settings: list[str], most: float
) -> None:
    experiment = prepared(home, method, "dataset=sample", *settings, "answer=off")
    (row,) = [one for one in estimates(experiment, LIMIT, 0) if one.stage == "build"]
    cost = execute(experiment, Progress(quiet=True)).metrics["cost"]["steps"]
    paid = sum(step[part]["prompt_tokens"] for step in cost.values() for part in ("paid", "cached"))
    assert 1 / most <= row.expected.prompt_tokens / paid <= most
    (rest,) = [one for one in estimates(experiment, LIMIT, 0) if one.stage == "build"]
    assert rest.most.calls == 0, "what is built costs nothing"


def test_a_row_of_millions_of_calls_fits_into_100_columns() -> None:
    expected, most = Load(567_303, 622_912_200, 102_304_382, 0.0), Load(1_002_606, 0, 0, 0.0)
    rows = [Estimate("", "", expected, most)]
    assert {len(line) for line in estimate_table("all", {"all": rows})} == {100}
