"""repeats=N: the answering model asked again, stored beside the run, gone on from, and averaged."""

from collections.abc import Mapping
from typing import Any

import pytest
from toy_runs import TOY, WEIGHTLESS, asked, metrics, refusal, run_folder, table_of

from graphrag_bench.llm.calls import Completion, Request
from graphrag_bench.llm.scripted import Scripted

pytestmark = pytest.mark.slow

VANILLA = [*TOY, "method=vanilla", "reference_rows=off"]


class Moody(Scripted):
    """A reader that answers rightly in its first repeat, and says nothing useful in others."""

    def call(self, request: Request) -> Completion:
        text = "Ada Marsh" if request.trial == 0 else "I forgot"
        return Completion(text, prompt_tokens=5, completion_tokens=2, model="moody")


def moody(replies: Mapping[str, str] | None = None) -> Scripted:
    return Moody(replies or {})


MOODY = [f"llm._target_={__name__}.moody" if "llm._t" in word else word for word in WEIGHTLESS]


def test_three_repeats_go_on_from_one_and_keep_each_answer() -> None:
    first = run_folder(*VANILLA)
    before = (first / "records.jsonl").read_bytes()
    asked.clear()
    assert run_folder(*VANILLA, "repeats=3") == first
    assert len(asked) == 12
    assert (first / "records.jsonl").read_bytes() == before
    file = first / "trial-1" / "records.jsonl"
    whole = file.read_text()
    file.write_text("".join(whole.splitlines(keepends=True)[:4]))
    asked.clear()
    run_folder(*VANILLA, "repeats=2", "cache.mode=off")  # a repeat that was cut goes on
    assert (len(asked), file.read_text()) == (2, whole)


def test_mean_and_spread_are_those_of_the_repeats() -> None:
    """Right for one question of five in the first repeat, for none in two: mean 1/15."""
    folder = run_folder("dataset=toy", *MOODY, "method=vanilla", "repeats=3")
    repeats: Any = metrics(folder)["repeats"]
    assert repeats["changed"] == 6
    accuracy = repeats["metrics"]["accuracy"]
    assert accuracy["values"] == [0.2, 0.0, 0.0]
    assert accuracy["mean"] == pytest.approx(1 / 15, abs=1e-6)
    assert accuracy["spread"] == pytest.approx(0.2 / 3**0.5, abs=1e-6)
    assert "evidence_recall@2" not in repeats["metrics"]
    assert "0.067 ±0.115 (5 of 6)" in table_of(folder)


def test_fewer_repeated_questions_than_a_run_has_give_no_spread() -> None:
    words = ["dataset=toy", *MOODY, "method=vanilla"]
    folder = run_folder(*words, "repeats=2", "limit=3")
    repeats = metrics(folder)["repeats"]
    assert metrics(run_folder(*words, "limit=3"))["repeats"] == repeats
    assert " ±" in table_of(folder)
    wider: Any = metrics(run_folder(*words))
    assert (wider["n"], wider["repeats"]["n"], wider["repeats"]["questions"]) == (6, 2, 3)
    assert " ±0" not in table_of(folder)


def test_a_budget_counts_the_repeats_too() -> None:
    used: Any = metrics(run_folder(*VANILLA))["usage"]
    spent = used["prompt_tokens"] + used["completion_tokens"]
    budget = f"budget.tokens={round(spent * 1.5)}"
    assert "answer=off" in refusal(*VANILLA, "answer=off", "repeats=2")
    assert "budget.tokens" in refusal(*VANILLA, "repeats=3", budget, exit_code=1)
    folder = run_folder(*VANILLA, "repeats=3", f"budget.tokens={spent * 4}")
    repeats: Any = metrics(folder)["repeats"]
    assert repeats["cost"]["paid"]["calls"] == 12
