"""Sweeps over methods and settings: their cells, their rows, their plan."""

from __future__ import annotations

import fcntl
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from toy_runs import TOY, asked, command, ran, records, refused, stops_on

from graphrag_bench.models.embedder import Hashing
from graphrag_bench.offline.plan import Planned
from graphrag_bench.offline.store import Store
from graphrag_bench.sweeps import launching

pytestmark = pytest.mark.slow

VANILLA = [*TOY, "method=vanilla", "reference_rows=off"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def test_a_sweep_runs_every_cell_and_collapses_what_a_method_lacks() -> None:
    ended = ran(
        "-m", *TOY, "reference_rows=off", "method=vanilla,bm25,hipporag", "method.damping=0.3,0.5"
    )
    assert ended.methods == ["vanilla", "bm25", "hipporag", "hipporag"]
    table = (ended.folder / "table.md").read_text()
    assert "| HippoRAG damping=0.3 |" in table
    assert "| HippoRAG damping=0.5 |" in table
    assert "| VanillaRAG |" in table


def test_a_sweep_over_how_much_is_done_has_a_row_for_each_and_one_folder() -> None:
    ended = ran("-m", *VANILLA, "limit=2,4")
    assert len(ended.folders) == 1
    table = (ended.folder / "table.md").read_text()
    assert "| VanillaRAG limit=2 | 2 |" in table
    assert "| VanillaRAG limit=4 | 4 |" in table
    assert len(records(ended.folder)) == 4


def test_a_sweep_takes_launchers_and_sweepers_of_hydra() -> None:
    hydra = ["hydra/launcher=basic", "hydra/sweeper=basic", "hydra.sweep.dir=elsewhere"]
    ended = ran("-m", *hydra, *VANILLA, "limit=1", "method.top_k=1,2")
    assert len(set(ended.folders)) == 2


def test_a_home_with_signs_of_a_sweep_in_its_name_works(home: Path) -> None:
    folder = home / "a, b (c)"
    folder.mkdir()
    ended = ran("-m", *VANILLA, "limit=1", "method.top_k=1,2", f'paths.home="{folder}"')
    assert all(folder in path.parents for path in ended.folders)


@pytest.fixture
def stopped() -> Iterator[set[str]]:
    """Phrases at which the reader stops a run; none when the test ends."""
    yield stops_on
    stops_on.clear()


def manifest(home: Path) -> list[dict[str, Any]]:
    """The rows of the only sweep of a home."""
    (path,) = home.glob("runs/.sweeps/*/manifest.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_eight_damping_values_cost_one_graph_build_and_one_embedding_of_the_corpus(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    built: Counter[str] = Counter()
    embedded: Counter[str] = Counter()
    build, encode = Store._build, Hashing.encode

    def counted_build(self: Store, planned: Planned, get: Any) -> None:
        built[planned.resource] += 1
        build(self, planned, get)

    def counted_encode(self: Hashing, texts: Sequence[str], *, kind: Any) -> Any:
        embedded.update(texts)
        return encode(self, texts, kind=kind)

    monkeypatch.setattr(Store, "_build", counted_build)
    monkeypatch.setattr(Hashing, "encode", counted_encode)
    dampings = "method.damping=0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8"
    ended = ran("-m", *TOY, "method=hipporag", "answer=off", "reference_rows=off", dampings)
    assert len(set(ended.folders)) == 8
    assert built["graph"] == 1
    assert set(built.values()) == {1}
    passages = (Path(__file__).parents[2] / "datasets" / "toy" / "corpus.jsonl").read_text()
    texts = [json.loads(line)["text"] for line in passages.splitlines()]
    times = [sum(n for held, n in embedded.items() if text in held) for text in texts]
    assert times == [1] * len(texts)


def test_a_failing_cell_is_listed_and_the_others_go_on(home: Path, stopped: set[str]) -> None:
    stopped.add("\nPassage:")  # hyde's prompt
    sweep = ["run", "-m", *TOY, "reference_rows=off", "method=vanilla,hyde,bm25"]
    ended = command(*sweep)
    assert ended.code == 1
    assert ended.methods == ["vanilla", "bm25"]
    assert "cell 2 failed: the reader was told to stop" in ended.err
    assert [row["status"] for row in manifest(home)] == ["done", "failed", "done"]
    assert manifest(home)[1]["settings"] == {"method": "hyde"}
    assert manifest(home)[1]["error"] == "the reader was told to stop"
    listed = command("sweep", "list", *sweep[2:])
    assert "failed" in listed.out
    assert "the reader was told to stop" in listed.out


def test_the_same_command_retries_failed_cells_alone(home: Path, stopped: set[str]) -> None:
    stopped.add("\nPassage:")
    sweep = ["run", "-m", *TOY, "reference_rows=off", "method=vanilla,hyde,bm25"]
    command(*sweep)
    stopped.clear()
    asked.clear()
    ended = command(*sweep)
    assert ended.code == 0, ended.err
    assert ended.methods == ["vanilla", "hyde", "bm25"]
    assert {row["status"] for row in manifest(home)} == {"done"}
    passages = [text for text in asked if text.endswith("\nPassage:")]
    assert len(passages) == 6  # hyde writes one for each question
    assert len(asked) <= 12  # and answers it, unless vanilla was given the same prompt before


def test_an_error_of_the_program_ends_its_cell_alone_and_is_shown(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = Store._build

    def faulty(self: Store, planned: Planned, get: Any) -> None:
        if planned.resource == "graph":
            raise RuntimeError("a fault of ours")
        build(self, planned, get)

    monkeypatch.setattr(Store, "_build", faulty)
    ended = command("run", "-m", *TOY, "reference_rows=off", "method=hipporag,vanilla", "limit=1")
    assert ended.code == 1
    assert ended.methods == ["vanilla"]
    assert "cell 1 failed: RuntimeError: a fault of ours" in ended.err
    assert "Traceback" in ended.err
    assert [row["status"] for row in manifest(home)] == ["failed", "done"]


def test_equal_cells_are_worked_on_once_and_say_so(home: Path) -> None:
    ran(
        "-m",
        *TOY,
        "reference_rows=off",
        "method=vanilla,hipporag",
        "method.damping=0.3,0.5",
        "limit=1",
    )
    rows = manifest(home)
    assert [row["same_as"] for row in rows] == [None, 1, None, None]
    assert rows[0]["run"] == rows[1]["run"]
    assert rows[3]["settings"] == {"method": "hipporag", "method.damping": "0.5"}


def test_a_sweep_gone_on_with_in_another_way_is_the_same_sweep(home: Path) -> None:
    sweep = ["-m", *VANILLA, "limit=1", "method.top_k=1,2"]
    ran(*sweep)
    ran(*sweep, "workers=2", "budget.tokens=100000", "hydra/launcher=basic")
    assert len(manifest(home)) == 2


def test_the_cells_of_an_array_run_one_by_one_and_then_make_the_table_of_the_whole() -> None:
    sweep = [*VANILLA, "limit=2", "method.top_k=1,2,3"]
    whole = ran("-m", *sweep, "paths.home=whole")
    for cell in (3, 1, 2):
        ended = command("sweep", "run", f"cell={cell}", *sweep, "paths.home=array")
        assert ended.code == 0, ended.err
        assert f"cell {cell} of 3: done: method.top_k={cell}" in ended.out
    asked.clear()
    array = ran("-m", *sweep, "paths.home=array")
    assert not asked
    assert (array.folder / "table.md").read_bytes() == (whole.folder / "table.md").read_bytes()


def test_a_cell_that_failed_here_and_was_done_by_another_process_meanwhile_is_in_the_table(
    stopped: set[str], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = [*VANILLA, "limit=2", "method.top_k=1,2"]
    whole = ran("-m", *sweep, "paths.home=whole")
    assert command("sweep", "run", "cell=1", *sweep).code == 0
    at_work = (home / manifest(home)[0]["run"] / "run.lock").open("a")
    fcntl.flock(at_work, fcntl.LOCK_EX)
    stopped.add("Question")
    seen = []

    def meanwhile(_: float) -> None:
        """What the other process does while this one waits for it."""
        seen.append([row["status"] for row in manifest(home)])
        stopped.clear()
        assert command("sweep", "run", "cell=2", *sweep).code == 0
        at_work.close()

    monkeypatch.setattr(launching, "time", SimpleNamespace(sleep=meanwhile))
    shared = ran("-m", *sweep)
    assert seen == [["started", "failed"]]
    assert [row["status"] for row in manifest(home)] == ["done", "done"]
    assert (shared.folder / "table.md").read_bytes() == (whole.folder / "table.md").read_bytes()


def test_a_sweep_is_listed_before_and_after_it_has_begun_and_by_its_key(home: Path) -> None:
    sweep = [*VANILLA, "limit=1", "method.top_k=1,2"]
    before = command("sweep", "list", *sweep)
    assert before.code == 0, before.err
    assert "2 waiting" in before.out
    assert not (home / "runs").exists()
    command("sweep", "run", "cell=2", *sweep)
    assert "1 done, 1 waiting" in command("sweep", "list", *sweep).out
    (folder,) = (home / "runs" / ".sweeps").iterdir()
    assert "1 done, 1 waiting" in command("sweep", "list", folder.name[:6]).out
    assert folder.name in command("sweep", "list").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", *VANILLA, "method.top_k=1,2"], "takes one cell=N"),
        (["run", "cell=3", *VANILLA, "method.top_k=1,2"], "has the cells 1 to 2"),
        (["run", "cell=x", *VANILLA, "method.top_k=1,2"], "has the cells 1 to 2"),
        (["lst"], "Did you mean 'list'"),
        (["list", "0a1b"], "There are: none"),
    ],
)
def test_a_wrong_call_of_sweep_says_what_would_be_right(words: list[str], said: str) -> None:
    assert said in refused(*words, name="sweep")


def test_an_interval_needs_a_sweeper_that_knows_intervals() -> None:
    said = refused("-m", *TOY, "method=hipporag", "method.damping=interval(0.1,0.9)")
    assert "add hydra/sweeper=optuna, or list values" in said


def test_a_sweeper_or_launcher_that_is_not_installed_names_its_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("graphrag_bench.sweeps.tuning.find_spec", lambda name: None)
    assert "graphrag-bench[ray-sweeps]" in refused(
        "-m", "hydra/launcher=ray", *VANILLA, "limit=1,2"
    )
