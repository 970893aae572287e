"""Estimated costs compared with actual costs."""

import pytest

from graphrag_bench.config.compose import compose_settings
from graphrag_bench.errors import UserError
from graphrag_bench.progress import Progress
from graphrag_bench.run.command import Command
from graphrag_bench.run.estimates import SIZES, estimates, stand_in
from graphrag_bench.run.execute import execute
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.text import count_tokens

pytestmark = pytest.mark.slow

LIMIT = 1
MODELS = ["ggraphrag", "hyde", "ircot", "tog", "pankrag", "rerank", "hoprag", "kgp", "lgraphrag"]
"""Methods that cover every kind of model call."""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("estimates")


def prepared(home, method, *settings):
    words = ["dataset=toy", f"method={method}", "llm=scripted", "embedder=hashing"]
    words += ["llm._target_=counting_reader.reader", f"limit={LIMIT}", f"paths.home={home}"]
    words += ["workers=1", "failures.limit=1", *settings]
    return Experiment.prepare(compose_settings(words))


@pytest.mark.parametrize("method", MODELS)
def test_actual_costs_are_within_the_planned_maximum(home, method):
    experiment = prepared(home, method)
    before = {row.step: row for row in estimates(experiment, LIMIT, LIMIT)}
    cost = execute(experiment, Progress(quiet=True))["cost"]["steps"]
    assert set(cost) <= set(before)
    for step, parts in cost.items():
        for name in ("calls", "prompt_tokens", "completion_tokens"):
            paid = sum(parts[part][name] for part in ("paid", "cached"))
            assert paid <= getattr(before[step].most, name), (step, name)
            assert getattr(before[step].expected, name) <= getattr(before[step].most, name)


def test_estimate_counts_rounds_and_the_context_budget(home):
    """At most eight thoughts per question, one call each."""
    (thoughts,) = estimates(prepared(home, "ircot"), LIMIT, 0)  # nothing is answered
    assert (thoughts.most.calls, thoughts.expected.calls) == (8 * LIMIT, 4 * LIMIT)
    runs = (prepared(home, "vanilla", f"budget_context={n}") for n in (100, 1100))
    (small,), (large,) = (estimates(run, 1, 1) for run in runs)
    assert large.most.prompt_tokens - small.most.prompt_tokens == 1000
    assert large.most.completion_tokens == small.most.completion_tokens


def test_unknown_price_is_none(home):
    kind = "graphrag_bench.llm.openai_compatible.OpenAICompatible"
    served = ["llm=openai_compatible", "llm.model=m", f"llm._target_={kind}"]
    for prices, is_known in (([], False), (["llm.prices={prompt: 1.0}"], True)):
        (answer,) = estimates(prepared(home, "vanilla", *served, *prices), 1, 1)
        assert (answer.most.usd is not None) == is_known


@pytest.mark.real
@pytest.mark.parametrize(
    ("method", "setting", "most"),
    [("hipporag", "build.extraction=llm", 1.25), ("raptor", "build.graph=tree_llm", 1.4)],
)
def test_expected_tokens_of_a_build_are_close(home, method, setting, most):
    experiment = prepared(home, method, "dataset=sample", setting, "answer=off")
    (row,) = [one for one in estimates(experiment, LIMIT, 0) if one.stage == "build"]
    cost = execute(experiment, Progress(quiet=True))["cost"]["steps"]
    paid = sum(step[part]["prompt_tokens"] for step in cost.values() for part in ("paid", "cached"))
    assert 1 / most <= row.expected.prompt_tokens / paid <= most
    (built,) = [one for one in estimates(experiment, LIMIT, 0) if one.stage == "build"]
    assert built.most.calls == 0


ROW = "zhou2025.table5.VanillaRAG"


def test_a_row_without_its_set_is_planned_over_the_printed_sizes(tmp_path):
    """Zhou et al. 2025, Table 4: 609 documents, 1,426,396 tokens, 2,556 questions."""
    values = compose_settings([f"row={ROW}", "dataset=multihoprag", f"paths.home={tmp_path}"])
    with pytest.raises(UserError, match="multihoprag"):
        Command().experiment(values, swept=False)  # only a plan takes them
    experiment = Command(sized=True).experiment(values, swept=False)
    data = experiment.dataset
    assert data.name == f"multihoprag{SIZES}"
    assert (len(data.documents), len(data.questions)) == (609, 2556)
    assert 609 * count_tokens(data.documents[0].text) == pytest.approx(1_426_396, rel=0.01)
    (answer,) = estimates(experiment, 2556, 2556)
    assert answer.expected.calls == 2556
    assert 4_000 < answer.expected.prompt_tokens / 2556 < 6_000  # four chunks of 1,200 tokens
    paths = {"paths": {"home": str(tmp_path)}}
    assert stand_in({"row": ROW, "dataset": {"name": "toy"}, **paths}) is None
    with pytest.raises(UserError, match="squality"):
        stand_in({"row": "pathrag.table4.PathRAG", "dataset": {"name": "squality"}, **paths})
