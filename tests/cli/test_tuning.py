"""Tuning: select settings on the dev part, report them on the test part."""

import shlex

import pytest
from toy_runs import TOY, command, command_error, metrics, reader_prompts, records, run_command

from graphrag_bench.config.compose import compose_settings
from graphrag_bench.config.settings import check_settings
from graphrag_bench.data.dataset import is_dev
from graphrag_bench.data.readers import read_dataset
from graphrag_bench.errors import UserError
from graphrag_bench.run.command import check_names

HIPPORAG = [*TOY, "method=hipporag", "reference_rows=off"]
OPTUNA = ["experiment=tuning", "hydra.sweeper.n_trials=2", *HIPPORAG]
INTERVAL = "method.damping=interval(0.1,0.9)"
IDS = [question.id for question in read_dataset("toy", None, None, {}).questions]
DEV = {name for name in IDS if is_dev(name)}
MARK = "selected on this split, "

pytestmark = pytest.mark.slow
pytest.importorskip("hydra_plugins.hydra_optuna_sweeper")


def test_optuna_tunes_on_dev_and_prints_the_command_for_test():
    ended = run_command(*OPTUNA, INTERVAL)
    assert not reader_prompts and len(ended.folders) == 2
    seen = {str(row["question"]) for folder in ended.folders for row in records(folder)}
    assert seen == DEV and 0 < len(DEV) < len(IDS)
    assert metrics(ended.folder)["split"] == "dev"
    for folder in ended.folders:
        assert (folder / "table.md").read_text().count(f"({MARK}2 configurations) |") == 1
    line = next(line for line in ended.out.splitlines() if "graphrag-bench run" in line)
    again = run_command(*shlex.split(line)[2:])
    assert again.folder in ended.folders
    assert MARK not in again.out
    assert metrics(again.folder)["n"] == len(IDS) - len(DEV)


def test_the_selected_run_is_marked_in_every_table():
    quiet = [*HIPPORAG, "answer=off", "split=dev"]
    ended = run_command("-m", *quiet, "method.damping=0.3,0.5", "objective=evidence_recall@2")
    best = next(line for line in ended.out.splitlines() if line.startswith("  /")).strip()
    for word in ("0.3", "0.5"):
        again = run_command(*quiet, f"method.damping={word}")
        assert (MARK in again.out) == (str(again.folder) == best)


@pytest.mark.parametrize(
    ("more", "name"),
    [("split=test", "split=test"), ("objective=evidence_recall@3", "evidence_recall@2"),
     ("objective=f1", "answer=on"), ("objective=answer_words", "answer_words")],
)  # fmt: skip
def test_an_invalid_objective_is_refused(more, name):
    words = [word for word in OPTUNA if not word.startswith("hydra.")]
    with pytest.raises(UserError, match=name):
        check_names(check_settings(compose_settings([*words, more])))


def test_an_invalid_tuning_sweep_is_refused():
    assert "objective=" in command_error(*OPTUNA, INTERVAL, "objective=null")
    assert "damping" in command_error(*OPTUNA, "method.dampng=interval(0.1,0.9)")
    assert "-m" in command_error(*HIPPORAG, "objective=evidence_recall@5")
    ended = command("run", *OPTUNA, "method.damping=interval(1.1,1.9)")
    assert ended.code == 1 and "2 failed" in ended.err
