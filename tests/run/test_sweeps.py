"""Sweeps: failed cells, tables, checks, reference rows, plans and experiments."""

import json
import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import DEFAULT, Mock

import pytest
import toy_runs
from hydra.types import RunMode
from toy_runs import (
    TOY,
    command,
    command_error,
    metrics,
    reader_prompts,
    run_command,
    run_folder,
    write_set,
)

from graphrag_bench.algorithms import clustering
from graphrag_bench.config import compose
from graphrag_bench.config.compose import compose_settings
from graphrag_bench.config.settings import check_settings
from graphrag_bench.config.sources import built_in_names
from graphrag_bench.errors import UserError
from graphrag_bench.evaluation.metrics import UNDIRECTED
from graphrag_bench.run import command as module
from graphrag_bench.run.command import Command, cell_identity, check_names, reference_settings
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.sweep import Cell, Sweep, cells_below, refuse_overwriting, write

QUIET = [*TOY, "answer=off", "reference_rows=off"]


pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("home")]


def cells(folder: str) -> list[object]:
    """Return the status of each cell of a sweep."""
    files = sorted(Path(folder).glob("*/cell.json"))
    return [json.loads(file.read_text("utf-8"))["status"] for file in files]


def rows(folder: str | Path = "s") -> list[str]:
    """Return the names of the rows of the table in a folder."""
    lines = Path(folder, "table.md").read_text("utf-8").partition("\n\n**")[0].splitlines()
    return [line.split("|")[1].strip() for line in lines if line.startswith("| ")][1:]


def test_failed_cell_is_a_row() -> None:
    words = ["run", "-m", *QUIET, "method=bm25", "dataset=toy,musique", "hydra.sweep.dir=s"]
    ended = command(*words)
    assert ended.code == 1
    assert cells("s") == ["done", "failed"]
    assert "| BM25 dataset=musique | failed |" in Path("s/table.md").read_text()
    assert "\nBM25 dataset=musique,failed," in Path("s/table.csv").read_text()
    seconds = ended.folder.joinpath("timing.jsonl").read_bytes()
    assert command(*words).folder.joinpath("timing.jsonl").read_bytes() == seconds


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["method=bm25", "dataset=musique,popqa"], "musique"),
        (["method=bm25,zeroshot", "build.graph.edge_drop=0.1"], "build.graph.edge_drop"),
        (["method=bm25,vanilla", "objective=nothing"], "nothing"),
        (["row=pathrag.table3.Path-based,pathrag.table1.NaiveRAG", "method.alpha=0.8,0.7"],
         "row=pathrag.table1.NaiveRAG"),
        (["method=hipporag,vanilla", "method.damping=0.3"], "'method.damping' of method 'vanilla'"),
    ],
)  # fmt: skip
def test_sweep_with_an_invalid_cell_is_refused(home: Path, words: list[str], named: str) -> None:
    message = command_error("-m", *QUIET, *words, "hydra.sweep.dir=s")
    assert named in message and "method=hipporag" not in message and "Path-based" not in message
    assert not (home / "s" / "0").exists()


@pytest.mark.parametrize(
    ("words", "n_runs"),
    [
        (["-m", "row=pathrag.table3.Path-based,pathrag.table2.Flow-based", "method.alpha=0.8"], 1),
        (["-m", "method=pathrag,pathrag_lt", "method.alpha=0.8"], 2),
        (["-m", "row=glob(pathpooling.fig8.S-RAG.*)", "method.scorer=cosine"], 4),
    ],
)
def test_sweep_over_methods_sets_shared_parameters(words: list[str], n_runs: int) -> None:
    """Two rows of PathRAG are the same run."""
    ended = command("plan", *words, *QUIET, "limit=1")
    assert ended.code == 0, ended.err
    assert f"\n{ended.out}".count("\nmethod ") == n_runs


def test_missing_package_of_a_cell_is_reported_first(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clustering, "find_spec", lambda name: None)
    words = [*QUIET, "profile=zhou2025", "method=bm25,raptor", "hydra.sweep.dir=s"]
    ended = command("run", "-m", *words)
    assert ended.code == 2 and "graphrag-bench[umap]" in ended.err
    assert not (home / "s" / "0").exists()


def test_exception_in_a_cell_ends_only_that_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Mock(side_effect=[ZeroDivisionError, DEFAULT], wraps=module.execute)
    monkeypatch.setattr(module, "execute", broken)
    ended = command("run", "-m", *QUIET, "method=bm25,vanilla", "hydra.sweep.dir=s")
    assert ended.code == 1 and "ZeroDivisionError" in ended.err
    assert cells("s") == ["failed", "done"]


def test_metrics_are_known_before_the_run() -> None:
    """Descriptive metrics are compared but cannot be objectives."""
    values = compose_settings(["dataset=toy", "method=bm25"])
    known: Any = metrics(run_folder(*TOY, "reference_rows=off", "method=bm25"))["metrics"]
    check_names(check_settings({**values, "evaluation": {"compared": list(known)}}))
    for name in known:
        wrong = pytest.raises(UserError, match=f"objective={name}")
        with wrong if name in UNDIRECTED else nullcontext():
            check_names(check_settings({**values, "objective": name}))


@pytest.mark.parametrize(
    ("words", "methods"),
    [
        ([], ["zeroshot", "bm25", "vanilla", "oracle"]),
        (["answer=off"], ["bm25", "vanilla"]),
        (["reference_rows=off"], []),
        (["dataset=jsonl", "dataset.root=mine"], ["zeroshot", "bm25", "vanilla"]),
    ],
)
def test_reference_rows_depend_on_questions_and_documents(
    home: Path, words: list[str], methods: list[str]
) -> None:
    question = {"id": "q", "text": "Who made it?", "answers": ["Ada Marsh"]}
    write_set(home / "mine", [{"id": "d", "text": "Ada Marsh made it."}], [question])
    experiment = Experiment.prepare(compose_settings([*TOY, "method=hipporag", *words]))
    rows = reference_settings(experiment, [experiment.method.name])
    assert [str(one.method["name"]) for one in rows] == methods


def test_reference_rows_run_once_in_a_sweep() -> None:
    reader_prompts.clear()
    ended = run_command("-m", *TOY, "limit=2", "method=hipporag,bm25", "method.top_k=1,2")
    cells = ["hipporag", "hipporag", "bm25", "bm25"]
    assert ended.methods == [*cells, "zeroshot", "vanilla", "oracle"]
    assert len(reader_prompts) == len(set(reader_prompts))
    names = rows(ended.folder)
    assert [name.endswith("(reference)") for name in names] == [False] * 4 + [True] * 3


def test_table_has_cells_in_the_order_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    words = ["method=vanilla,bm25", "method.top_k=two,3,2,3", "hydra.sweep.dir=s"]
    names = [f"{title} top_k={k}" for title in ("VanillaRAG", "BM25") for k in ("two", 3, 2)]
    ended = command("run", "-m", *TOY, "answer=off", *words)
    assert rows() == names
    shown = [line.split()[1:3] for line in ended.out.splitlines() if line.startswith("│")]
    assert shown[: len(names)] == [name.split() for name in names]
    assert ended.out.startswith(command("table", "s").out)
    csv = Path("s/table.csv").read_text("utf-8"), command("table", "s", "--format", "csv").out
    for table in csv:
        assert [line.partition(",")[0] for line in table.splitlines()[1:]] == names


def test_cells_that_differ_in_limit_share_a_run_folder() -> None:
    words = [*QUIET, "method=bm25"]
    ended = run_command("-m", *words, "limit=2,4", "hydra.sweep.dir=s")
    assert rows() == ["BM25 limit=2", "BM25 limit=4"]
    first, second = ended.err.splitlines()
    assert first == "cell 1 of 2 (BM25 limit=2)"
    assert re.fullmatch(r"cell 2 of 2 \(BM25 limit=4\), \d+ s left", second)
    assert len(ended.folders) == 1 and metrics(ended.folder)["n"] == 4


def test_runs_and_sweeps_keep_foreign_files(home: Path) -> None:
    (home / "mine").mkdir()
    (home / "run").mkdir()
    mine = home / "mine" / "cell.json", home / "run" / "mine"
    for file in mine:
        file.write_text('{"number": 0}')
    words = [*QUIET, "method=bm25"]
    run_command(*words, "hydra.run.dir=.")
    for _ in range(2):
        assert len(run_command("-m", *words, "method.top_k=1,2", "hydra.sweep.dir=.").folders) == 2
    assert [file.read_text() for file in mine] == ['{"number": 0}'] * 2


@pytest.mark.parametrize("name", ["table.md", "table.csv", "cell.json", "sweep.json"])
def test_overwriting_a_foreign_file_is_refused(home: Path, name: str) -> None:
    (home / name).write_text("mine")
    with pytest.raises(UserError, match=name):
        refuse_overwriting(home)
    (home / name).unlink()
    write(home, Cell("", 0, (), "", ""))
    (home / "table.md").write_text("of the cell")
    refuse_overwriting(home)


def test_killed_job_is_a_failed_cell(home: Path) -> None:
    words = (("method=bm25", "limit=1"), ("method=bm25", "limit=2"))
    write(home, Sweep("now", ("limit",), words))
    write(home / "1", Cell("now", 1, words[1], "BM25", "limit=2"))
    write(home / "0", Cell("earlier", 0, words[0], "BM25", "limit=1"))
    assert [(cell.name, bool(cell.error)) for cell in cells_below(home)] == [
        ("limit=1", True), ("BM25 limit=2", False),
    ]  # fmt: skip


def test_cell_with_only_failed_questions_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toy_runs, "fails_on", {"Question"})
    words = [*TOY, "reference_rows=off", "limit=2", "method=bm25,vanilla", "hydra.sweep.dir=s"]
    assert command("run", "-m", *words).code == 1
    assert cells("s") == ["failed", "failed"]
    assert rows() == ["BM25", "VanillaRAG"]
    for cell in ("0", "1"):
        assert "answer.direct" in Path("s", cell, "run.log").read_text()


def test_plan_of_a_sweep_counts_an_artifact_once() -> None:
    words = [*TOY, "method=hipporag", "method.conversion=llm", "reference_rows=off"]

    def left(*more: str) -> list[int]:
        planned = command("plan", "-m", *words, "method.damping=0.2,0.4,0.2", *more)
        assert planned.code == 0, planned.err
        table = planned.out.rpartition("remaining, expected")[2].splitlines()[1:4]
        return [int(line.split()[-2].replace(",", "")) for line in table]

    # each of eight passages 2, once more at most; each of six questions 2 for names, 1 to answer
    assert left("build.extraction=llm") == [2 * 16, 2 * 6 * 3, 68]
    run_folder(*words, "method.damping=0.2")
    assert left()[0] == 0 and left()[1] <= 6 * 3


def test_configuration_and_log_are_in_the_run_folder(home: Path) -> None:
    words = [*QUIET, "method=bm25", "hydra.run.dir=out", "hydra.job.chdir=true"]
    folder = run_command(*words).folder
    assert folder.parents[2] == home / "runs" and (home / "out" / "run").resolve() == folder
    for place in (home / "out", folder):
        files = {path.name for path in (place / ".hydra").iterdir()}
        assert files == {"config.yaml", "overrides.yaml", "hydra.yaml"}
        assert (place / "run.log").is_file()


@pytest.mark.parametrize("name", [name for name in built_in_names("experiment") if "/" not in name])
def test_experiments_are_sweeps_over_different_runs(name: str) -> None:
    if name == "tuning":
        pytest.importorskip("hydra_plugins.hydra_optuna_sweeper")
    small = ["dataset.size=20", "embedder=hashing"] if name.startswith("world") else TOY
    words = [f"experiment={name}", *small]
    config = compose.composition(words)
    assert config.hydra.mode == RunMode.MULTIRUN
    every = compose.cells(config, words) or [words]  # those of `tuning` its sweeper chooses
    ends = [one for _, one in Command().cells([every[0], every[-1]])]
    first, last = (one for one in ends if isinstance(one, Experiment))
    assert (cell_identity(first) == cell_identity(last)) == (name == "tuning")


def test_secret_in_a_file_is_refused_before_writing(home: Path) -> None:
    file = home / "configs" / "llm" / "mine.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("_target_: toy_runs.reader\nbase_url: https://me:secret@host/v1\n")
    for words in (["run", "hydra.run.dir=o"], ["run", "-m", "seed=1,2", "hydra.sweep.dir=o"]):
        ended = command(*words, "dataset=toy", "method=bm25", "llm=mine")
        assert ended.code == 2
        assert "secret" not in ended.err
    files = [path for path in home.rglob("*") if path.is_file() and path != file]
    assert not [path for path in files if b"secret" in path.read_bytes()]
