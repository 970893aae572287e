"""Sweeps: failed cells, tables, checks, reference rows, plans and experiments."""

import re
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import DEFAULT, Mock

import pytest
import toy_runs
from hydra.types import RunMode
from toy_runs import TOY, command, command_error, metrics, reader_prompts, run_command, run_folder

from graphrag_bench.algorithms import clustering
from graphrag_bench.api import dataset
from graphrag_bench.config import compose
from graphrag_bench.config.compose import compose_settings
from graphrag_bench.config.settings import check_settings
from graphrag_bench.config.sources import built_in_names, names
from graphrag_bench.errors import UserError
from graphrag_bench.evaluation.metrics import UNDIRECTED
from graphrag_bench.run import command as module
from graphrag_bench.run.command import Command, check_names, reference_settings, refuse_unused
from graphrag_bench.run.sweep import Cell, Sweep, cells_below, refuse_overwriting, write

QUIET = [*TOY, "answer=off", "reference_rows=off"]
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("home")]


def rows(folder="s"):
    lines = Path(folder, "table.md").read_text("utf-8").partition("\n\n**")[0].splitlines()
    return [line.split("|")[1].strip() for line in lines if line.startswith("| ")][1:]


def test_cells_that_differ_in_limit_and_answers_share_a_run_folder():
    words = [*TOY, "reference_rows=off", "method=vanilla", "limit=2,4", "answer=1,on"]
    ended = run_command("-m", *words, "hydra.sweep.dir=s")
    assert rows() == [f"VanillaRAG limit={n} answer={a}" for n in (2, 4) for a in (1, "on")]
    first, second, *_ = ended.err.splitlines()
    assert first == "cell 1 of 4 (VanillaRAG limit=2 answer=1)"
    assert re.fullmatch(r"cell 2 of 4 \(VanillaRAG limit=2 answer=on\), \d+ s left", second)
    assert len(ended.folders) == 1 and metrics(ended.folder)["n"] == 4
    own = [cell.stored({})[0].metrics for cell in cells_below(Path("s"))]
    assert [one["answered"] for one in own] == [1, 2, 1, 4]


def test_failed_cell_is_a_row_and_ends_no_other_cell(monkeypatch):
    """BM25 raises, and all questions of VanillaRAG fail."""
    broken = Mock(side_effect=[ZeroDivisionError, DEFAULT, DEFAULT], wraps=module.execute)
    monkeypatch.setattr(module, "execute", broken)
    monkeypatch.setattr(toy_runs, "fails_on", {"Otto Brandt"})  # in passages, not in questions
    words = [*TOY, "reference_rows=off", "limit=1", "method=bm25,vanilla,zeroshot"]
    ended = command("run", "-m", *words, "hydra.sweep.dir=s")
    assert ended.code == 1 and "ZeroDivisionError" in ended.err
    assert [cell.status for cell in cells_below(Path("s"))] == ["failed", "failed", "done"]
    assert rows() == ["BM25", "VanillaRAG", "closed-book"]
    assert "| BM25 | failed |" in Path("s/table.md").read_text()
    assert "answer.direct" in Path("s/1/run.log").read_text()


@pytest.mark.parametrize(
    ("words", "named"),
    [("method=bm25 dataset=musique,popqa", "musique"),
     ("method=bm25,zeroshot build.graph.edge_drop=0.1", "build.graph.edge_drop"),
     ("method=hipporag,vanilla method.damping=0.3", "'method.damping' of method 'vanilla'")],
)  # fmt: skip
def test_sweep_with_an_invalid_cell_is_refused(home, words, named):
    message = command_error("-m", *QUIET, *words.split(), "hydra.sweep.dir=s")
    assert named in message and "method=hipporag" not in message
    assert not (home / "s" / "0").exists()


@pytest.mark.parametrize(
    ("word", "n_runs"),
    [("row=glob([pathrag.table3.Path-based,pathrag.table2.Flow-based])", 1),  # the same run
     ("method=pathrag,pathrag_lt", 2)],
)  # fmt: skip
def test_sweep_over_methods_sets_shared_parameters(word, n_runs):
    ended = command("plan", "-m", word, "method.alpha=0.8", *QUIET, "limit=1")
    assert ended.code == 0, ended.err
    assert f"\n{ended.out}".count("\nmethod ") == n_runs


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
    reader_prompts.clear()
    ended = run_command("-m", *TOY, "limit=2", "method=bm25", "method.top_k=1,2")
    assert ended.methods == ["bm25", "bm25", "zeroshot", "vanilla", "oracle"]
    assert len(reader_prompts) == len(set(reader_prompts))
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
        pytest.importorskip("hydra_plugins.hydra_optuna_sweeper")
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
