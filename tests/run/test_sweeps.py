"""Sweeps: cells that fail, tables, what is refused, reference rows, the plan, our experiments."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from hydra.types import RunMode
from toy_runs import TOY, asked, command, metrics, ran, run_folder, write_set

from graphrag_bench.algorithms import clustering
from graphrag_bench.config import compose
from graphrag_bench.config.compose import composed
from graphrag_bench.config.settings import check_settings
from graphrag_bench.config.sources import built_in
from graphrag_bench.errors import UserError
from graphrag_bench.evaluation.metrics import UNDIRECTED
from graphrag_bench.run import session
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.session import Session, check_names, identity, references

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
    assert "| dataset=musique | failed |" in Path("s/table.md").read_text()
    assert "failed" in Path("s/table.csv").read_text()
    assert (home / "s" / "0" / "run" / "records.jsonl").is_file()
    seconds = ended.folder.joinpath("timing.jsonl").read_bytes()
    assert command(*words).folder.joinpath("timing.jsonl").read_bytes() == seconds


def test_the_progress_of_a_cell_names_what_the_sweep_varies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    labels: list[str] = []
    run = Session.run
    monkeypatch.setattr(
        Session, "run", lambda *one, label="": (labels.append(label), run(*one, label=label))[1]
    )
    ran("-m", *QUIET, "method=bm25", "method.top_k=2,3")
    assert labels[:2] == ["cell 1 (top_k=2)", "cell 2 (top_k=3)"]


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
    execute = session.execute

    def broken(experiment: Experiment, progress: Any) -> object:
        if experiment.method.name == "bm25":
            raise ZeroDivisionError("of the program")
        return execute(experiment, progress)

    monkeypatch.setattr(session, "execute", broken)
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
    return [str(values["method"]["name"]) for values in references(experiment)]


def test_the_reference_rows_are_what_the_questions_and_the_texts_allow(home: Path) -> None:
    assert roles() == ["zeroshot", "bm25", "vanilla", "oracle"]
    assert roles("answer=off") == ["bm25", "vanilla"]
    assert roles("reference_rows=off") == []
    question = {"id": "q", "text": "Who made it?", "answers": ["Ada Marsh"]}
    write_set(home / "mine", [{"id": "d", "text": "Ada Marsh made it."}], [question])
    assert roles("dataset=jsonl", "dataset.root=mine") == ["zeroshot", "bm25", "vanilla"]


def test_each_of_them_runs_once_in_a_sweep_with_its_own_settings() -> None:
    asked.clear()
    ended = ran("-m", *TOY, "limit=2", "method=vanilla,hipporag", "method.top_k=1")
    assert sorted(ended.methods) == ["bm25", "hipporag", "oracle", "vanilla", "vanilla", "zeroshot"]
    assert len(asked) == len(set(asked))
    assert "top_k=1" in ended.out and "top_k=4" in ended.out


def test_the_plan_of_a_sweep_sums_what_is_left_and_counts_an_artifact_once() -> None:
    words = [*TOY, "method=hipporag", "method.conversion=llm", "reference_rows=off"]

    def left(*more: str) -> list[int]:
        """The calls for artifacts, for questions, and all."""
        planned = command("plan", "-m", *words, "method.damping=0.2,0.4,0.2", *more)
        assert planned.code == 0, planned.err
        table = planned.out.rpartition("left to do")[2].splitlines()[1:4]
        return [int(line.split()[-2].replace(",", "")) for line in table]

    # at most two calls for each of eight passages; for each of six questions two for names, one to
    # answer
    assert left("build.extraction=llm") == [16, 2 * 6 * 3, 52]
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
    ends = [one for _, one in Session().prepared([every[0], every[-1]])]
    first, last = (one for one in ends if isinstance(one, Experiment))
    assert (identity(first) == identity(last)) == (name == "tuning")
