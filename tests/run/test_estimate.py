"""What a run costs at most, against what it then costs."""

from pathlib import Path

import pytest
from toy_runs import QUICK

from graphrag_bench.config.compose import composed
from graphrag_bench.progress import Progress
from graphrag_bench.run.estimates import Estimate, estimates
from graphrag_bench.run.execute import execute
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.plan import describe

pytestmark = pytest.mark.slow

LIMIT = 2
MODELS = ["ggraphrag", "drift", "ircot", "tog", "pankrag", "rerank", "hoprag", "kgp", "lgraphrag"]
"""Methods that ask a model in each of the ways that there are."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("estimates")


def prepared(home: Path, method: str, *settings: str) -> Experiment:
    words = ["dataset=toy", f"method={method}", "llm=scripted", "embedder=hashing"]
    words += ["llm._target_=counting_reader.reader", f"limit={LIMIT}", f"paths.home={home}"]
    words += ["workers=1", "failures.limit=1", *QUICK.get(method, ())]
    return Experiment.prepare(composed([*words, *settings]))


def by_step(rows: list[Estimate]) -> dict[str, Estimate]:
    return {row.step: row for row in rows}


@pytest.mark.parametrize("method", MODELS)
def test_no_step_costs_more_than_the_plan_says(home: Path, method: str) -> None:
    experiment = prepared(home, method)
    before = by_step(estimates(experiment, LIMIT, LIMIT))
    cost = execute(experiment, Progress(quiet=True)).metrics["cost"]["steps"]
    assert set(cost) <= set(before)
    for step, parts in cost.items():
        for name in ("calls", "prompt_tokens", "completion_tokens"):
            paid = sum(parts[part][name] for part in ("paid", "cached"))
            assert paid <= getattr(before[step].most, name), (step, name)
            assert getattr(before[step].expected, name) <= getattr(before[step].most, name)


def test_rounds_and_items_count_as_often_as_they_may_run(home: Path) -> None:
    """Eight thoughts for each question, one call each."""
    rows = by_step(estimates(prepared(home, "ircot"), LIMIT, 0))
    (thoughts,) = [row for step, row in rows.items() if step.endswith("thoughts.next")]
    assert thoughts.most.calls == 8 * LIMIT
    assert thoughts.expected.calls == 4 * LIMIT
    assert len(rows) == 1, "nothing is answered"


def test_a_prompt_has_room_for_the_context_budget_and_no_more_than_the_window(home: Path) -> None:
    small, large = (
        by_step(estimates(prepared(home, "vanilla", f"budget_context={n}"), 1, 1))
        for n in (100, 1100)
    )
    (step,) = small
    assert large[step].most.prompt_tokens - small[step].most.prompt_tokens == 1000
    assert large[step].most.completion_tokens == small[step].most.completion_tokens


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
def test_building_is_expected(home: Path, method: str, settings: list[str], most: float) -> None:
    experiment = prepared(home, method, "dataset=sample", *settings, "answer=off")
    (row,) = [one for one in estimates(experiment, LIMIT, 0) if one.stage == "build"]
    cost = execute(experiment, Progress(quiet=True)).metrics["cost"]["steps"]
    paid = sum(step[part]["prompt_tokens"] for step in cost.values() for part in ("paid", "cached"))
    assert 1 / most <= row.expected.prompt_tokens / paid <= most
    (rest,) = [one for one in estimates(experiment, LIMIT, 0) if one.stage == "build"]
    assert rest.most.calls == 0, "what is built costs nothing"


def test_a_folder_without_questions_is_priced_by_the_question(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mill.md").write_text("# Mill\n\nAda built the mill.")
    words = ["dataset=folder", f"dataset.root={tmp_path / 'notes'}", "method=bm25", "llm=scripted"]
    plan = describe(Experiment.prepare(composed([*words, "embedder=hashing"])))
    (line,) = [line for line in plan.splitlines() if "each question of `ask`" in line]
    assert line.split("`")[-1].split()[0] == "1"


def test_a_price_that_is_not_known_is_none(home: Path) -> None:
    served = ["llm=openai_compatible", "llm.base_url=http://127.0.0.1:9/v1", "llm.api_key_env=null"]
    settings = [
        *served,
        "llm.model=m",
        "llm._target_=graphrag_bench.llm.openai_compatible.OpenAICompatible",
    ]
    (unknown,) = estimates(prepared(home, "vanilla", *settings), 1, 1)
    (known,) = estimates(prepared(home, "vanilla", *settings, "llm.prices={prompt: 1.0}"), 1, 1)
    assert unknown.most.usd is None
    assert known.most.usd is not None and known.most.usd > 0
