"""Sweeps: cells that fail, tables that are written, what is refused, reference rows, the plan."""

import json
from pathlib import Path
from typing import Any

import pytest
from toy_runs import TOY, asked, command, metrics, ran, run_folder, write_set

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.config.compose import composed
from graphrag_bench.config.settings import check_settings
from graphrag_bench.errors import UserError
from graphrag_bench.evaluation.metrics import UNDIRECTED
from graphrag_bench.run import session
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.session import check_names, references

QUIET = [*TOY, "answer=off", "reference_rows=off"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory of one's own."""
    monkeypatch.chdir(tmp_path)
    asked.clear()
    return tmp_path


def cells(folder: str) -> list[object]:
    """The states of the cells of a sweep."""
    files = sorted(Path(folder).glob("*/cell.json"))
    return [json.loads(file.read_text("utf-8"))["status"] for file in files]


@pytest.mark.slow
def test_a_failed_cell_is_a_row_and_the_others_finish(here: Path) -> None:
    words = ["run", "-m", *QUIET, "method=bm25", "dataset=toy,musique", "hydra.sweep.dir=s"]
    ended = command(*words)
    assert ended.code == 1
    assert cells("s") == ["done", "failed"]
    assert "| dataset=musique | failed |" in Path("s/table.md").read_text()
    assert Path("s/table.csv").read_text().count("failed") >= 1
    assert (here / "s" / "0" / "run" / "records.jsonl").is_file()
    seconds = ended.folder.joinpath("timing.jsonl").read_bytes()
    again = command(*words)
    assert again.code == 1
    assert again.folder.joinpath("timing.jsonl").read_bytes() == seconds


@pytest.mark.slow
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
    here: Path, words: list[str], named: str
) -> None:
    ended = command("run", "-m", *QUIET, *words, "hydra.sweep.dir=s")
    assert ended.code == 2, ended.err
    assert named in ended.err and "Traceback" not in ended.err
    assert not (here / "s" / "0").exists()


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_secret_in_a_file_is_refused_before_anything_is_written(here: Path) -> None:
    file = here / "configs" / "llm" / "mine.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("_target_: toy_runs.reader\nbase_url: https://me:secret@host/v1\n")
    for words in (["run", "hydra.run.dir=o"], ["run", "-m", "seed=1,2", "hydra.sweep.dir=o"]):
        ended = command(*words, "dataset=toy", "method=bm25", "llm=mine")
        assert ended.code == 2
        assert "secret" not in ended.err
    assert [path for path in here.rglob("*") if path.is_file() and path != file
            and b"secret" in path.read_bytes()] == []  # fmt: skip


@pytest.mark.slow
def test_every_metric_of_a_run_could_have_been_named_before_it() -> None:
    """More of some is not better: they are compared, and no sweep looks for them."""
    values = composed(["dataset=toy", "method=bm25"])
    known = metrics(run_folder(*TOY, "reference_rows=off", "method=bm25"))["metrics"]
    assert isinstance(known, dict)
    assert {"evidence_recall@5", "mrr", "f1", "answer_words"} <= set(known)
    for name in known:
        check_names(check_settings({**values, "evaluation": {"compared": [name]}}))
        settings = check_settings({**values, "objective": name})
        if name in UNDIRECTED:
            with pytest.raises(UserError, match=f"objective={name}"):
                check_names(settings)
        else:
            check_names(settings)


def roles(*words: str) -> list[str]:
    """The methods of the reference rows of a run."""
    experiment = Experiment.prepare(composed([*TOY, "method=hipporag", *words]))
    return [str(values["method"]["name"]) for values in references(experiment)]


def test_the_reference_rows_are_what_the_questions_and_the_texts_allow(here: Path) -> None:
    assert roles() == ["zeroshot", "bm25", "vanilla", "oracle"]
    assert roles("answer=off") == ["bm25", "vanilla"]
    assert roles("reference_rows=off") == []
    corpus = [{"id": "d", "title": "T", "text": "Ada Marsh made it."}]
    questions = [{"id": "q", "text": "Who made it?", "answers": ["Ada Marsh"], "evidence": []}]
    write_set(here / "mine", corpus, questions)
    assert roles("dataset=jsonl", "dataset.root=mine") == ["zeroshot", "bm25", "vanilla"]


@pytest.mark.slow
def test_each_of_them_runs_once_in_a_sweep_with_its_own_settings() -> None:
    ended = ran("-m", *TOY, "limit=2", "method=vanilla,hipporag", "method.top_k=1")
    assert sorted(ended.methods) == sorted(
        ["vanilla", "vanilla", "zeroshot", "bm25", "oracle", "hipporag"]
    )
    assert len(asked) == len(set(asked))
    assert "top_k=1" in ended.out and "top_k=4" in ended.out


@pytest.mark.slow
def test_the_plan_of_a_sweep_sums_what_is_left_and_counts_an_artifact_once() -> None:
    words = [*TOY, "method=hipporag", "method.conversion=llm", "reference_rows=off"]

    def left(*more: str) -> list[int]:
        """The calls for artifacts, for questions, and all."""
        planned = command("plan", "-m", *words, "method.damping=0.2,0.4,0.2", *more)
        assert planned.code == 0, planned.err
        table = planned.out.rpartition("left to do in 2 runs")[2].splitlines()[1:4]
        return [int(line[44:].split()[0].replace(",", "")) for line in table]

    # at most two calls for each of eight passages; for each of six questions two for names, one to
    # answer
    assert left("build.extraction=llm") == [16, 2 * 6 * 3, 52]
    run_folder(*words, "method.damping=0.2")
    assert left()[0] == 0 and left()[1] <= 6 * 3


@pytest.mark.slow
def test_a_run_leaves_its_configuration_and_its_log_in_one_folder_wherever_hydra_works(
    here: Path,
) -> None:
    ended = command("run", *QUIET, "method=bm25", "hydra.run.dir=out")
    for folder in (here / "out", ended.folder):
        found = {path.name for path in (folder / ".hydra").iterdir()}
        assert found == {"config.yaml", "overrides.yaml", "hydra.yaml"}
        assert (folder / "run.log").is_file()
    assert (here / "out" / "run").resolve() == ended.folder
    moved = command("run", *QUIET, "method=bm25", "hydra.run.dir=other", "hydra.job.chdir=true")
    assert moved.folder == ended.folder


def test_methods_share_a_graph_without_some_edges_and_never_the_whole_one() -> None:
    def graphs() -> list[Graph]:
        paths = sorted(Path("artifacts/toy/graph").glob("*/recipe.json"))
        return [Graph.load(path.parent) for path in paths]

    drop = "build.graph.edge_drop=0.4"
    run_folder(*QUIET, "method=gretriever", drop)
    (first,) = graphs()
    run_folder(*QUIET, "method=tog", drop)
    assert len(graphs()) == 1
    run_folder(*QUIET, "method=tog")
    sizes = sorted(len(graph.pairs.source) for graph in graphs())
    assert sizes[0] == sizes[1] - round(0.4 * sizes[1])
    assert all(graph.n_nodes == first.n_nodes for graph in graphs())
