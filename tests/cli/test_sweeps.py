"""Sweeps: failed cells, tables, reference rows, plans, experiments, tuning and launchers."""

import os
import re
import shlex
import sys
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import DEFAULT, Mock

import pytest
import toy_runs
from hydra.types import RunMode
from published_sets import written
from toy_runs import TOY, command, command_error, metrics, output, records, run_command, run_folder

from graphrag_bench.algorithms import clustering
from graphrag_bench.api import dataset
from graphrag_bench.config import compose
from graphrag_bench.config.compose import compose_settings
from graphrag_bench.config.settings import check_settings
from graphrag_bench.config.sources import built_in_names, names
from graphrag_bench.data.dataset import is_dev
from graphrag_bench.errors import UserError
from graphrag_bench.evaluation.metrics import UNDIRECTED
from graphrag_bench.run import command as module
from graphrag_bench.run.command import Command, check_names, reference_settings, refuse_unused
from graphrag_bench.run.sweep import Cell, Sweep, cells_below, refuse_overwriting, write

QUIET = [*TOY, "answer=off", "reference_rows=off"]
SWEEPER = "hydra_plugins.hydra_optuna_sweeper"
pytestmark = pytest.mark.slow


def rows(folder="s"):
    lines = Path(folder, "table.md").read_text("utf-8").partition("\n\n**")[0].splitlines()
    return [line.split("|")[1].strip() for line in lines if line.startswith("| ")][1:]


def test_cells_that_differ_in_limit_and_answers_share_a_run_folder():
    words = [*TOY, "reference_rows=off", "method=vanilla", "limit=2,4", "answer=1,on"]
    ended = run_command("-m", *words, "hydra.sweep.dir=s")
    assert rows() == [f"VanillaRAG limit={n} answer={a}" for n in (2, 4) for a in (1, "on")]
    first, second, *_ = re.findall(r"(?m)^cell \d of 4 \(.*\)(?:, \d+ s left)?$", ended.err)
    assert first == "cell 1 of 4 (VanillaRAG limit=2 answer=1)"
    assert re.fullmatch(r"cell 2 of 4 \(VanillaRAG limit=2 answer=on\), \d+ s left", second)
    assert len(ended.folders) == 1 and metrics(ended.folder)["n"] == 4
    own = [cell.stored({})[0].metrics for cell in cells_below(Path("s"))]
    assert [one["answered"] for one in own] == [1, 2, 1, 4]


def test_failed_cell_is_a_row_and_ends_no_other_cell(monkeypatch):
    """BM25 raises, and all questions of VanillaRAG fail."""
    broken = Mock(side_effect=[ZeroDivisionError, DEFAULT, DEFAULT], wraps=module.execute)
    monkeypatch.setattr(module, "execute", broken)
    toy_runs.fails_on.add("Otto Brandt")  # in passages, not in questions
    words = [*TOY, "reference_rows=off", "limit=1", "method=bm25,vanilla,zeroshot"]
    ended = command("run", "-m", *words, "hydra.sweep.dir=s")
    assert ended.code == 1 and "ZeroDivisionError" in ended.err
    assert [cell.status for cell in cells_below(Path("s"))] == ["failed", "failed", "done"]
    assert rows() == ["BM25", "VanillaRAG", "closed-book"]
    assert "| BM25 | failed |" in Path("s/table.md").read_text()
    assert "answer.direct" in Path("s/1/run.log").read_text()


def test_sweep_with_an_invalid_cell_is_refused(home):
    for words, named in (
        ("method=bm25 dataset=musique,popqa", "musique"),
        ("method=bm25,zeroshot build.graph.edge_drop=0.1", "build.graph.edge_drop"),
        ("method=hipporag,vanilla method.damping=0.3", "'method.damping' of method 'vanilla'"),
    ):
        message = command_error("-m", *QUIET, *words.split(), "hydra.sweep.dir=s")
        assert named in message and "method=hipporag" not in message
        assert not (home / "s" / "0").exists()


def test_sweep_over_methods_sets_shared_parameters():
    same_run = "row=glob([pathrag.table3.Path-based,pathrag.table2.Flow-based])"
    for word, n_runs in ((same_run, 1), ("method=pathrag,pathrag_lt", 2)):
        plan = output("plan", "-m", word, "method.alpha=0.8", *QUIET, "limit=1")
        assert f"\n{plan}".count("\nmethod ") == n_runs


def test_missing_package_of_a_cell_is_reported_first(monkeypatch):
    monkeypatch.setattr(clustering, "find_spec", lambda name: None)
    words = ["profile=zhou2025", "method=bm25,raptor", "hydra.sweep.dir=s"]
    assert "graphrag-bench[umap]" in command_error("-m", *QUIET, *words)
    assert not Path("s", "0").exists()


def test_metrics_are_known_before_the_run():
    """Descriptive metrics are compared but cannot be objectives."""
    values = compose_settings(["dataset=toy", "method=bm25"])
    known = metrics(run_folder(*TOY, "reference_rows=off", "method=bm25"))["metrics"]
    check_names(check_settings({**values, "evaluation": {"compared": list(known)}}))
    for name in known:
        wrong = pytest.raises(UserError, match=f"objective={name}")
        with wrong if name in UNDIRECTED else nullcontext():
            check_names(check_settings({**values, "objective": name}))


def test_reference_rows_depend_on_questions_and_documents():
    own, toy = check_settings(compose_settings([*TOY, "method=hipporag"])), dataset("toy")
    cases = [
        ({}, {}, "zeroshot bm25 vanilla oracle"), ({"answer": "off"}, {}, "bm25 vanilla"),
        ({"reference_rows": "off"}, {}, ""), ({}, {"gold": {}}, "zeroshot bm25 vanilla"),
        ({}, {"documents": ()}, "zeroshot oracle"),
    ]  # fmt: skip
    for settings, data, methods in cases:
        own = own.model_copy(update={"answer": "on", "reference_rows": "on", **settings})
        run = SimpleNamespace(settings=own, dataset=replace(toy, **data))
        names = [one.method["name"] for one in reference_settings(run, ["hipporag"])]
        assert names == methods.split()


def test_reference_rows_run_once_in_a_sweep():
    ended = run_command("-m", *TOY, "limit=2", "method=bm25", "method.top_k=1,2")
    assert ended.methods == ["bm25", "bm25", "zeroshot", "vanilla", "oracle"]
    assert len(toy_runs.reader_prompts) == len(set(toy_runs.reader_prompts))
    names = rows(ended.folder)
    assert [name.endswith("(reference)") for name in names] == [False] * 2 + [True] * 3


def test_table_has_cells_in_the_order_of_the_command(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    words = ["method=vanilla,bm25", "method.top_k=two,3,3", "hydra.sweep.dir=s"]
    names = [f"{title} top_k={k}" for title in ("VanillaRAG", "BM25") for k in ("two", 3)]
    ended = command("run", "-m", *TOY, "answer=off", "limit=1", *words)
    assert rows() == names
    assert ended.out.startswith(command("table", "s").out)
    csv = Path("s/table.csv").read_text("utf-8"), command("table", "s", "--format", "csv").out
    for table in csv:
        assert [line.partition(",")[0] for line in table.splitlines()[1:]] == names
        assert table.count("top_k=two,failed,") == 2


def test_runs_and_sweeps_keep_foreign_files(home):
    mine = home / "mine" / "cell.json", home / "run" / "mine"
    for file in mine:
        file.parent.mkdir()
        file.write_text('{"number": 0}')
    run_command(*QUIET, "method=bm25", "hydra.run.dir=.")
    run_command("-m", *QUIET, "method=bm25", "limit=1,2", "hydra.sweep.dir=.")
    assert [file.read_text() for file in mine] == ['{"number": 0}'] * 2


def test_overwriting_a_foreign_file_is_refused(home):
    for name in ("table.md", "table.csv", "cell.json", "sweep.json"):
        (home / name).write_text("mine")
        with pytest.raises(UserError, match=name):
            refuse_overwriting(home)
        (home / name).unlink()
    write(home, Cell("", 0, (), "", ""))
    (home / "table.md").write_text("of the cell")
    refuse_overwriting(home)


def test_killed_job_is_a_failed_cell(home):
    words = (("method=bm25", "limit=1"), ("method=bm25", "limit=2"))
    write(home, Sweep("now", ("limit",), words))
    write(home / "1", Cell("now", 1, words[1], "BM25", "limit=2"))
    write(home / "0", Cell("earlier", 0, words[0], "BM25", "limit=1"))
    found = [(cell.name, bool(cell.error)) for cell in cells_below(home)]
    assert found == [("limit=1", True), ("BM25 limit=2", False)]


def test_plan_of_a_sweep_counts_an_artifact_once():
    """Each of 8 passages 2, once more at most; each of 6 questions 2 for names, 1 to answer."""
    words = [*TOY, "method=hipporag", "method.conversion=llm", "reference_rows=off"]
    words += ["build.extraction=llm", "method.damping=0.2,0.4,0.2"]
    table = command("plan", "-m", *words).out.rpartition("remaining, expected")[2].splitlines()[1:4]
    left = [int(line.split()[-2].replace(",", "")) for line in table]
    assert left == [2 * 16, 2 * 6 * 3, 68]


def test_configuration_and_log_are_in_the_run_folder(home):
    words = [*QUIET, "method=bm25", "hydra.run.dir=out", "hydra.job.chdir=true"]
    folder = run_command(*words).folder
    assert folder.parents[2] == home / "runs" and (home / "out" / "run").resolve() == folder
    for place in (home / "out", folder):
        files = {path.name for path in (place / ".hydra").iterdir()}
        assert files == {"config.yaml", "overrides.yaml", "hydra.yaml"}
        assert (place / "run.log").is_file()


@pytest.mark.parametrize("name", [name for name in built_in_names("experiment") if "/" not in name])
def test_experiments_are_sweeps_over_different_runs(name):
    if name == "tuning":
        pytest.importorskip(SWEEPER)
    small = ["dataset.size=20", "embedder=hashing"] if name.startswith("world") else TOY
    words = [f"experiment={name}", *small]
    config = compose.composition(words)
    assert config.hydra.mode == RunMode.MULTIRUN
    every = compose.cells(config, words) or [words]  # those of `tuning` its sweeper chooses
    methods = {word for cell in every for word in cell if word.startswith("method=")}
    assert {word.partition("=")[2] for word in methods} <= {*names("method")}
    last = Command().experiment(compose_settings(every[-1]), swept=True)
    refuse_unused([word for word in every[-1] if word not in every[0]], [last])
    assert len(every) > 1 or name == "tuning"


def test_secret_in_a_file_is_refused_before_writing(home):
    file = home / "configs" / "llm" / "mine.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("_target_: toy_runs.reader\nbase_url: https://me:secret@host/v1\n")
    for words in (["hydra.run.dir=o"], ["-m", "seed=1,2", "hydra.sweep.dir=o"]):
        assert "secret" not in command_error(*words, "dataset=toy", "method=bm25", "llm=mine")
    files = [path for path in home.rglob("*") if path.is_file() and path != file]
    assert not [path for path in files if b"secret" in path.read_bytes()]


# ---- tuning: settings are selected on the dev part and reported on the test part

HIPPORAG = [*TOY, "method=hipporag", "reference_rows=off"]
OPTUNA = ["experiment=tuning", "hydra.sweeper.n_trials=2", *HIPPORAG]
INTERVAL = "method.damping=interval(0.1,0.9)"
MARK = "selected on this split, "


def test_optuna_tunes_on_dev_and_prints_the_command_for_test():
    pytest.importorskip(SWEEPER)
    ended = run_command(*OPTUNA, INTERVAL)
    assert not toy_runs.reader_prompts and len(ended.folders) == 2
    seen = {str(row["question"]) for folder in ended.folders for row in records(folder)}
    ids = [question.id for question in dataset("toy").questions]
    assert seen == {name for name in ids if is_dev(name)} and 0 < len(seen) < len(ids)
    assert metrics(ended.folder)["split"] == "dev"
    for folder in ended.folders:
        assert (folder / "table.md").read_text().count(f"({MARK}2 configurations) |") == 1
    line = next(line for line in ended.out.splitlines() if "graphrag-bench run" in line)
    again = run_command(*shlex.split(line)[2:])
    assert again.folder in ended.folders
    assert MARK not in again.out
    assert metrics(again.folder)["n"] == len(ids) - len(seen)


def test_the_selected_run_is_marked_in_every_table():
    quiet = [*HIPPORAG, "answer=off", "split=dev"]
    ended = run_command("-m", *quiet, "method.damping=0.3,0.5", "objective=evidence_recall@2")
    best = next(line for line in ended.out.splitlines() if line.startswith("  /")).strip()
    for word in ("0.3", "0.5"):
        again = run_command(*quiet, f"method.damping={word}")
        assert (MARK in again.out) == (str(again.folder) == best)


def test_an_invalid_objective_or_tuning_sweep_is_refused():
    pytest.importorskip(SWEEPER)
    words = [word for word in OPTUNA if not word.startswith("hydra.")]
    for more, name in (("split=test", "split=test"), ("objective=f1", "answer=on"),
                       ("objective=evidence_recall@3", "evidence_recall@2")):  # fmt: skip
        with pytest.raises(UserError, match=name):
            check_names(check_settings(compose_settings([*words, more])))
    assert "objective=" in command_error(*OPTUNA, INTERVAL, "objective=null")
    assert "damping" in command_error(*OPTUNA, "method.dampng=interval(0.1,0.9)")
    assert "-m" in command_error(*HIPPORAG, "objective=evidence_recall@5")
    ended = command("run", *OPTUNA, "method.damping=interval(1.1,1.9)")
    assert ended.code == 1 and "2 failed" in ended.err


# ---- launchers that run cells in other processes

LAUNCHERS = {
    "joblib": ["hydra.launcher.n_jobs=2"],
    "submitit_local": [],
    "ray": ["+hydra.launcher.ray.init.num_cpus=2",
            "+hydra.launcher.ray.init.include_dashboard=false"],
}  # fmt: skip
OWN = ["--config-dir", "theirs", "plugins=[mylab]", *QUIET, "method=mine"]


def swept(*words):
    ended = command("run", "-m", *OWN, "experiment=two", "method.top_k=1,0", *words)
    assert (ended.code, ended.methods) == (1, ["mine"]), ended.err
    text = Path(re.findall("(?m)^sweep: (.*)$", ended.out)[0], "table.md").read_text("utf-8")
    assert text.count("top_k=0 | failed |") == 1
    return text


@cache
def of_this_process():
    return swept("paths.home=here")


@pytest.mark.parametrize("name", LAUNCHERS)
def test_every_launcher_gives_the_table_of_this_process(name, home, monkeypatch):
    """Its jobs resume in one home: nothing is left to build, and no lock."""
    pytest.importorskip(f"hydra_plugins.hydra_{name.partition('_')[0]}_launcher")
    mine = "defaults: [vanilla]\nname: mine\ntitle: Mine\n"
    written(home, {"mylab/__init__.py": "", "mylab/configs/method/mine.yaml": mine,
                   "theirs/experiment/two.yaml": "limit: 2\n"})  # fmt: skip
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))  # for the processes of cells
    there = swept(f"hydra/launcher={name}", *LAUNCHERS[name], "paths.home=there")
    assert there == of_this_process()
    plan = command("plan", *OWN, "method.top_k=1", "paths.home=there").out
    assert re.search(r"^ +0 artifacts +0 ", plan, re.M)
    assert not list(home.glob("**/*.lock"))
