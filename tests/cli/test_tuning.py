"""Settings are chosen on the dev part, by evidence and with no call, and reported on the other."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from toy_runs import TOY, asked, metrics, ran, records, refused

from graphrag_bench.data.readers import read_dataset
from graphrag_bench.data.splits import is_dev

pytestmark = pytest.mark.slow

HIPPORAG = [*TOY, "method=hipporag", "reference_rows=off"]
OPTUNA = ["experiment=tuning", "hydra.sweeper.n_trials=3", *HIPPORAG]
INTERVAL = "method.damping=interval(0.1,0.9)"
IDS = [question.id for question in read_dataset("toy", None, None, {}).questions]
DEV = {name for name in IDS if is_dev(name)}
MARK = "selected on this split, "

pytest.importorskip("hydra_plugins.hydra_optuna_sweeper")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def test_optuna_sees_the_dev_part_alone_and_asks_no_model() -> None:
    asked.clear()
    ended = ran(*OPTUNA, INTERVAL)
    assert not asked
    assert len(ended.folders) == 3
    seen = {str(row["question"]) for folder in ended.folders for row in records(folder)}
    assert seen == DEV
    assert 0 < len(DEV) < len(IDS)
    assert metrics(ended.folder)["split"] == "dev"


def test_the_best_trial_is_marked_and_its_command_runs_on_test_without_the_mark() -> None:
    ended = ran(*OPTUNA, INTERVAL)
    said = next(line for line in ended.out.splitlines() if line.startswith("best of"))
    assert said.startswith("best of 3 configurations by evidence_recall@5 on split=dev: 0.")
    assert said.endswith("(selected on this split, 3 configurations)")
    tables = [(folder / "table.md").read_text() for folder in ended.folders]
    assert [text.count(f"({MARK}3 configurations) |") for text in tables] == [1] * 3
    told = next(line for line in ended.out.splitlines() if "graphrag-bench run" in line)
    again = ran(*shlex.split(told)[2:])
    assert again.folder in ended.folders
    assert MARK not in again.out
    assert metrics(again.folder)["n"] == len(IDS) - len(DEV)


def test_a_run_that_was_chosen_stays_marked_wherever_it_is_shown() -> None:
    ended = ran("-m", *HIPPORAG, "method.damping=0.3,0.5", "answer=off", "split=dev",
                "objective=evidence_recall@2")  # fmt: skip
    best = next(line for line in ended.out.splitlines() if line.startswith("  runs/")).strip()
    damping = {"0.3": "method.damping=0.3", "0.5": "method.damping=0.5"}
    alone = {
        value: ran(*HIPPORAG, given, "answer=off", "split=dev") for value, given in damping.items()
    }
    marked = [MARK in end.out for end in alone.values()]
    assert marked == [str(end.folder).endswith(best) for end in alone.values()]
    assert sum(marked) == 1
    (chosen,) = [given for given, end in zip(damping.values(), alone.values(), strict=True)
                 if MARK in end.out]  # fmt: skip
    assert MARK not in ran(*HIPPORAG, chosen, "answer=off", "split=test").out
    assert MARK in ran(*HIPPORAG, chosen, "answer=off").out  # all questions hold those of dev


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["split=test"], "split=test"),
        (["objective=evidence_recall@3"], "evidence_recall@2"),
        (["objective=f1"], "answer=on"),
        (["method.dampng=interval(0.1,0.9)"], "method.damping"),
        (["chunking.size=600"], "chunking"),
    ],
)
def test_a_study_whose_every_trial_would_fail_is_refused(more: list[str], said: str) -> None:
    assert said in refused(*OPTUNA, INTERVAL, *more)
    assert not Path("runs").exists()


def test_an_objective_needs_a_sweep_and_never_looks_at_the_test_part() -> None:
    assert "-m" in refused(*HIPPORAG, "objective=evidence_recall@5")
    assert "interval" in refused("-m", *HIPPORAG, INTERVAL)
    sweep = ["-m", *HIPPORAG, "method.damping=0.3,0.5", "answer=off", "objective=evidence_recall@5"]
    assert "split=test" in refused(*sweep, "split=test")
    assert "use split=dev" in ran(*sweep).out
