"""Sweeps: cells that fail, tables, what is refused, reference rows, the plan, our experiments."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import toy_runs
from hydra.types import RunMode
from toy_runs import TOY, asked, command, metrics, ran, refused, run_folder, write_set

from graphrag_bench.algorithms import clustering
from graphrag_bench.config import compose
from graphrag_bench.config.compose import composed
from graphrag_bench.config.settings import check_settings
from graphrag_bench.config.sources import built_in
from graphrag_bench.errors import UserError
from graphrag_bench.evaluation.metrics import UNDIRECTED
from graphrag_bench.run import command as module
from graphrag_bench.run.command import Command, check_names, identity, references
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.sweep import Cell, Sweep, cells_below, refuse_foreign, write

QUIET = [*TOY, "answer=off", "reference_rows=off"]


pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("home")]


def cells(folder: str) -> list[object]:
    """The states of the cells of a sweep."""
    files = sorted(Path(folder).glob("*/cell.json"))
    return [json.loads(file.read_text("utf-8"))["status"] for file in files]


def test_a_failed_cell_is_a_row_and_the_others_finish(home: Path) -> None:
    words = ["run", "-m", *QUIET, "method=bm25", "dataset=toy,musique", "hydra.sweep.dir=s"]
    ended = command(*words)
    assert ended.code == 1
    assert cells("s") == ["done", "failed"]
    assert "| BM25 dataset=musique | failed |" in Path("s/table.md").read_text()
    assert "\nBM25 dataset=musique,failed," in Path("s/table.csv").read_text()
    assert (home / "s" / "0" / "run" / "records.jsonl").is_file()
    seconds = ended.folder.joinpath("timing.jsonl").read_bytes()
    assert command(*words).folder.joinpath("timing.jsonl").read_bytes() == seconds


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["method=bm25,vanilla", "limit=many"], "limit"),
        (["method=bm25", "dataset=musique,popqa"], "musique"),
        (["method=bm25,zeroshot", "build.graph.edge_drop=0.1"], "build.graph.edge_drop"),
        (["method=bm25,vanilla", "objective=nothing"], "nothing"),
    ],
)
def test_a_sweep_that_is_wrong_in_every_cell_is_refused_before_it_begins(
    home: Path, words: list[str], named: str
) -> None:
    ended = command("run", "-m", *QUIET, *words, "hydra.sweep.dir=s")
    assert ended.code == 2, ended.err
    assert named in ended.err and "Traceback" not in ended.err
    assert not (home / "s" / "0").exists()


PATHS = "row=pathrag.table3.Path-based,pathrag.table2.Flow-based"


@pytest.mark.parametrize(
    ("words", "n_runs"),
    [
        (["-m", PATHS, "method.alpha=0.8"], 1),
        (["-m", "method=pathrag,pathrag_lt", "method.alpha=0.8"], 2),
        (["-m", "method=pathcorag,pathcorag", "method.max_path_edges=null"], 1),
        (["experiment=pathrag/table3", "dataset=toy", "method.alpha=0.8"], 11),
        (["-m", "row=glob(pathpooling.fig8.S-RAG.*)", "method.scorer=cosine"], 4),
    ],
)
def test_a_sweep_over_methods_sets_what_all_of_them_have(words: list[str], n_runs: int) -> None:
    """The two rows of PATHS are one run under two names, as is a method named twice."""
    ended = command("plan", *words, *QUIET, "limit=1")
    assert ended.code == 0, ended.err
    assert f"\n{ended.out}".count("\nmethod ") == n_runs


@pytest.mark.parametrize("swept", ["method.alpha=0.8", "method.alpha=0.8,0.7"])
def test_a_cell_whose_method_lacks_a_setting_is_named_before_the_first_begins(
    home: Path, swept: str
) -> None:
    words = ["row=pathrag.table3.Path-based,pathrag.table1.NaiveRAG", swept]
    ended = command("run", "-m", *QUIET, *words, "hydra.sweep.dir=s")
    assert ended.code == 2
    assert all(
        name in ended.err for name in ("row=pathrag.table1.NaiveRAG", "'vanilla'", swept[:12])
    )
    assert "Path-based" not in ended.err and not (home / "s" / "0").exists()


def test_a_package_that_one_cell_lacks_is_named_before_the_first_begins(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clustering, "find_spec", lambda name: None)
    words = [*QUIET, "profile=zhou2025", "method=bm25,raptor", "hydra.sweep.dir=s"]
    ended = command("run", "-m", *words)
    assert ended.code == 2 and "graphrag-bench[umap]" in ended.err
    assert not (home / "s" / "0").exists()
    planned = command("plan", "-m", *words)
    assert planned.code == 1 and "graphrag-bench[umap]" in planned.out
    assert command("plan", *QUIET, "method=raptor").code == 0


def test_a_cell_in_which_the_program_fails_ends_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    execute = module.execute

    def broken(experiment: Experiment, progress: Any) -> object:
        if experiment.method.name == "bm25":
            raise ZeroDivisionError("of the program")
        return execute(experiment, progress)

    monkeypatch.setattr(module, "execute", broken)
    ended = command("run", "-m", *QUIET, "method=bm25,vanilla", "hydra.sweep.dir=s")
    assert ended.code == 1
    assert "ZeroDivisionError" in ended.err
    assert cells("s") == ["failed", "done"]


def test_a_secret_in_a_file_is_refused_before_anything_is_written(home: Path) -> None:
    file = home / "configs" / "llm" / "mine.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("_target_: toy_runs.reader\nbase_url: https://me:secret@host/v1\n")
    for words in (["run", "hydra.run.dir=o"], ["run", "-m", "seed=1,2", "hydra.sweep.dir=o"]):
        ended = command(*words, "dataset=toy", "method=bm25", "llm=mine")
        assert ended.code == 2
        assert "secret" not in ended.err
    assert [path for path in home.rglob("*") if path.is_file() and path != file
            and b"secret" in path.read_bytes()] == []  # fmt: skip


def test_every_metric_of_a_run_could_have_been_named_before_it() -> None:
    """More of some is not better: they are compared, and no sweep looks for them."""
    values = composed(["dataset=toy", "method=bm25"])
    known: Any = metrics(run_folder(*TOY, "reference_rows=off", "method=bm25"))["metrics"]
    assert {"evidence_recall@5", "mrr", "f1", "answer_words"} <= set(known)
    check_names(check_settings({**values, "evaluation": {"compared": list(known)}}))
    for name in known:
        wrong = pytest.raises(UserError, match=f"objective={name}")
        with wrong if name in UNDIRECTED else nullcontext():
            check_names(check_settings({**values, "objective": name}))


def roles(*words: str) -> list[str]:
    """The methods of the reference rows of a run."""
    experiment = Experiment.prepare(composed([*TOY, "method=hipporag", *words]))
    name = experiment.method.name
    return [str(one.method["name"]) for one in references(experiment, [name])]


def test_the_reference_rows_are_what_the_questions_and_the_texts_allow(home: Path) -> None:
    assert roles() == ["zeroshot", "bm25", "vanilla", "oracle"]
    assert roles("answer=off") == ["bm25", "vanilla"]
    assert roles("reference_rows=off") == []
    question = {"id": "q", "text": "Who made it?", "answers": ["Ada Marsh"]}
    write_set(home / "mine", [{"id": "d", "text": "Ada Marsh made it."}], [question])
    assert roles("dataset=jsonl", "dataset.root=mine") == ["zeroshot", "bm25", "vanilla"]


def test_each_of_them_runs_once_in_a_sweep_with_its_own_settings() -> None:
    asked.clear()
    ended = ran("-m", *TOY, "limit=2", "method=hipporag,bm25", "method.top_k=1,2")
    cells = ["hipporag", "hipporag", "bm25", "bm25"]
    assert ended.methods == [*cells, "zeroshot", "vanilla", "oracle"]
    assert len(asked) == len(set(asked))
    names = rows("table.md", ended.folder)
    assert [name.endswith("(reference)") for name in names] == [False] * 4 + [True] * 3


def rows(table: str, folder: Path) -> list[str]:
    """The names of the rows of a table."""
    lines = (folder / table).read_text("utf-8").partition("\n\n**")[0].splitlines()
    return [line.split("|")[1].strip() for line in lines if line.startswith("| ")][1:]


def test_the_rows_of_a_sweep_are_the_cells_in_the_order_of_the_command(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    words = ["method=vanilla,bm25", "method.top_k=two,3,2", "hydra.sweep.dir=s"]
    titles = ["VanillaRAG", "BM25"]
    names = [f"{title} top_k={value}" for title in titles for value in ("two", 3, 2)]
    ended = command("run", "-m", *TOY, "answer=off", *words)
    assert rows("table.md", home / "s") == names
    csv = (home / "s" / "table.csv").read_text("utf-8").splitlines()[1:]
    assert [line.partition(",")[0] for line in csv] == names
    shown = [line.split()[1:3] for line in ended.out.splitlines() if line.startswith("│")]
    assert shown[: len(names)] == [name.split() for name in names]
    assert ended.out.startswith(command("table", "s").out)
    again = command("table", "s", "--format", "csv").out.splitlines()[1:]
    assert [line.partition(",")[0] for line in again] == names


def test_a_cell_that_is_asked_for_twice_is_one_row(home: Path) -> None:
    ran("-m", *QUIET, "method=bm25", "method.top_k=2,2,3", "hydra.sweep.dir=s")
    assert rows("table.md", home / "s") == ["BM25 top_k=2", "BM25 top_k=3"]


def test_cells_that_differ_in_their_extent_share_a_folder_and_have_rows_of_their_own() -> None:
    words = [*QUIET, "method=bm25"]
    ended = ran("-m", *words, "limit=2,4", "hydra.sweep.dir=s")
    assert rows("table.md", Path("s")) == ["BM25 limit=2", "BM25 limit=4"]
    assert [line.split(",")[1] for line in Path("s/table.csv").read_text().splitlines()[1:]] == [
        "2", "4",
    ]  # fmt: skip
    assert len(ended.folders) == 1 and metrics(ended.folder)["n"] == 4


def test_a_sweep_leaves_what_it_did_not_write(home: Path) -> None:
    (home / "mine").mkdir()
    for file in ("mine/cell.json", "run"):
        (home / file).write_text('{"number": 0}')
    words = [*QUIET, "method=bm25", "method.top_k=1,2", "hydra.sweep.dir=."]
    for _ in range(2):
        assert len(ran("-m", *words).folders) == 2
    assert (home / "mine" / "cell.json").read_text() == '{"number": 0}'


@pytest.mark.parametrize("name", ["table.md", "table.csv", "cell.json", "sweep.json"])
def test_a_folder_with_a_file_that_would_be_overwritten_is_refused(home: Path, name: str) -> None:
    (home / name).write_text("mine")
    with pytest.raises(UserError, match=name):
        refuse_foreign(home)
    (home / name).unlink()
    write(home, Cell("", 0, (), "", ""))
    (home / "table.md").write_text("of the cell")
    refuse_foreign(home)


def test_a_job_that_was_killed_is_a_failed_cell_of_its_sweep(home: Path) -> None:
    words = (("method=bm25", "limit=1"), ("method=bm25", "limit=2"))
    write(home, Sweep("now", ("limit",), words))
    write(home / "1", Cell("now", 1, words[1], "BM25", "limit=2"))
    write(home / "0", Cell("earlier", 0, words[0], "BM25", "limit=1"))
    assert [(cell.name, bool(cell.error)) for cell in cells_below(home)] == [
        ("limit=1", True), ("BM25 limit=2", False),
    ]  # fmt: skip


def test_a_run_in_a_folder_with_something_named_run_leaves_that_alone(home: Path) -> None:
    (home / "run").mkdir()
    (home / "run" / "mine").touch()
    ran(*QUIET, "method=bm25", "hydra.run.dir=.")
    assert [path.name for path in (home / "run").iterdir()] == ["mine"]
    assert not [path for path in home.iterdir() if path.name.startswith(".run")]
    assert (home / "table.md").is_file()


def test_a_cell_whose_questions_all_failed_has_failed_and_its_log_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(toy_runs, "fails_on", {"Question"})
    words = [*TOY, "reference_rows=off", "limit=2", "method=bm25,vanilla", "hydra.sweep.dir=s"]
    assert command("run", "-m", *words).code == 1
    assert cells("s") == ["failed", "failed"]
    assert rows("table.md", Path("s")) == ["BM25", "VanillaRAG"]
    for cell in ("0", "1"):
        assert "answer.direct" in Path("s", cell, "run.log").read_text()


def test_a_sweep_with_a_cell_that_cannot_be_composed_is_refused_by_its_name(home: Path) -> None:
    words = [*QUIET, "method=bm25,hipporag,vanilla", "method.damping=0.3"]
    message = refused("-m", *words, "hydra.sweep.dir=s")
    for name in ("bm25", "vanilla"):
        assert f"method={name}" in message and f"'method.damping' of method '{name}'" in message
    assert "method=hipporag" not in message
    assert not (home / "s").exists()


def test_the_plan_of_a_sweep_sums_what_is_left_and_counts_an_artifact_once() -> None:
    words = [*TOY, "method=hipporag", "method.conversion=llm", "reference_rows=off"]

    def left(*more: str) -> list[int]:
        """The calls for artifacts, for questions, and all."""
        planned = command("plan", "-m", *words, "method.damping=0.2,0.4,0.2", *more)
        assert planned.code == 0, planned.err
        table = planned.out.rpartition("left to do")[2].splitlines()[1:4]
        return [int(line.split()[-2].replace(",", "")) for line in table]

    # two calls for each of eight passages, each once more at most; for each of six questions two
    # for names, one to answer
    assert left("build.extraction=llm") == [2 * 16, 2 * 6 * 3, 68]
    run_folder(*words, "method.damping=0.2")
    assert left()[0] == 0 and left()[1] <= 6 * 3


def test_a_run_leaves_its_configuration_and_its_log_in_one_folder_wherever_hydra_works(
    home: Path,
) -> None:
    words = [*QUIET, "method=bm25", "hydra.run.dir=out", "hydra.job.chdir=true"]
    folder = ran(*words).folder
    assert folder.parents[2] == home / "runs" and (home / "out" / "run").resolve() == folder
    for place in (home / "out", folder):
        files = {path.name for path in (place / ".hydra").iterdir()}
        assert files == {"config.yaml", "overrides.yaml", "hydra.yaml"}
        assert (place / "run.log").is_file()


@pytest.mark.parametrize("name", [name for name in built_in("experiment") if "/" not in name])
def test_an_experiment_is_a_sweep_whose_first_and_last_cells_are_different_runs(name: str) -> None:
    if name == "tuning":
        pytest.importorskip("hydra_plugins.hydra_optuna_sweeper")
    small = ["dataset.size=20", "embedder=hashing"] if name.startswith("world") else TOY
    words = [f"experiment={name}", *small]
    config = compose.composition(words)
    assert config.hydra.mode == RunMode.MULTIRUN
    every = compose.cells(config, words) or [words]  # those of `tuning` its sweeper chooses
    ends = [one for _, one in Command().cells([every[0], every[-1]])]
    first, last = (one for one in ends if isinstance(one, Experiment))
    assert (identity(first) == identity(last)) == (name == "tuning")
