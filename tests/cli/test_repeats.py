"""repeats=N: the answering model asked again, stored beside the run, gone on from, and averaged."""

from collections.abc import Mapping
from typing import Any

import pytest
from toy_runs import TOY, WEIGHTLESS, asked, metrics, records, refusal, run_folder, table_of

from graphrag_bench.llm.calls import Completion, Request
from graphrag_bench.llm.scripted import Scripted

pytestmark = pytest.mark.slow

VANILLA = [*TOY, "method=vanilla", "reference_rows=off"]
trials: list[int] = []
"""The repeat of every call that reached the moody reader."""


class Moody(Scripted):
    """A reader that answers rightly in its first repeat, and says nothing useful in others."""

    def call(self, request: Request) -> Completion:
        trials.append(request.trial)
        return Completion(
            "Ada Marsh" if request.trial == 0 else "I forgot",
            prompt_tokens=5,
            completion_tokens=2,
            model="moody",
        )


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
    assert sorted(path.name for path in first.glob("trial-*")) == ["trial-1", "trial-2"]
    states = [(row["question"], "answered") for row in records(first)]
    for name in ("trial-1", "trial-2"):
        assert [(row["question"], row["status"]) for row in records(first / name)] == states
    run_folder(*VANILLA, "repeats=2")
    assert len(asked) == 12


def test_a_failing_repeat_is_tried_again_and_others_are_not() -> None:
    file = run_folder(*VANILLA, "repeats=2") / "trial-1" / "records.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:4]))
    asked.clear()
    run_folder(*VANILLA, "repeats=2", "cache.mode=off")
    assert (len(asked), file.read_text()) == (2, "".join(lines))


def test_mean_and_spread_are_those_of_the_repeats() -> None:
    """Right for one question of five in the first repeat, for none in two: mean 1/15."""
    trials.clear()
    folder = run_folder("dataset=toy", *MOODY, "method=vanilla", "repeats=3")
    assert sorted(set(trials)) == [0, 1, 2]
    repeats: Any = metrics(folder)["repeats"]
    assert repeats["changed"] == 6
    accuracy = repeats["metrics"]["accuracy"]
    assert accuracy["values"] == [0.2, 0.0, 0.0]
    assert accuracy["mean"] == pytest.approx(1 / 15, abs=1e-6)
    assert accuracy["spread"] == pytest.approx(0.2 / 3**0.5, abs=1e-6)
    assert "evidence_recall@2" not in repeats["metrics"]
    assert "0.067 ±0.115 (5 of 6)" in table_of(folder)


def test_repeats_stay_with_a_run_that_has_them_and_fewer_than_its_questions_give_no_spread() -> (
    None
):
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
    assert "not with answer=off" in refusal(*VANILLA, "answer=off", "repeats=2")
    assert "budget.tokens" in refusal(*VANILLA, "repeats=3", budget, exit_code=1)
    folder = run_folder(*VANILLA, "repeats=3", f"budget.tokens={spent * 4}")
    repeats: Any = metrics(folder)["repeats"]
    assert repeats["cost"]["paid"]["calls"] == 12
    two = run_folder(*VANILLA, "answer=2", "repeats=2", "paths.home=two")
    assert (len(records(two)), len(records(two / "trial-1"))) == (6, 2)
