"""What a run has cost is counted whole and once: over scopes, kills and shards."""

from __future__ import annotations

import gc
import os
import shutil
import threading
from pathlib import Path

import pytest
from fake_openai import FakeOpenAI
from killing import served
from toy_runs import command, metrics, write_set

from graphrag_bench.errors import UserError
from graphrag_bench.run.folder import RunFolder

pytestmark = pytest.mark.slow

METHOD = ["method=hipporag", "method.conversion=llm", "build.extraction=llm"]
METHOD += ["embedder=hashing", "reference_rows=off"]
SCOPED = ["dataset=jsonl", "dataset.root=scoped", "graph.per=partition", *METHOD]
TOY = ["dataset=toy", *METHOD]
TOWNS = ["Alba", "Beldor", "Corfast", "Dungard", "Elholm", "Falmere"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a set of one document and one question for each of six scopes."""
    monkeypatch.chdir(tmp_path)
    corpus = [
        {"id": town, "title": town, "text": f"{town} was founded by Ada Marsh.", "scope": town}
        for town in TOWNS
    ]
    questions = [
        {"id": f"q-{town}", "text": f"Who founded {town}?", "answers": ["Ada Marsh"],
         "evidence": [town], "scope": town}
        for town in TOWNS
    ]  # fmt: skip
    write_set(tmp_path / "scoped", corpus, questions)
    return tmp_path


def n_paid(folder: Path) -> int:
    return int(metrics(folder)["cost"]["total"]["paid"]["calls"])


def test_the_building_of_every_scope_is_part_of_the_cost(fake: FakeOpenAI) -> None:
    url = fake.scenario(reads=True)
    ran = command("run", *SCOPED, *served(url))
    assert ran.code == 0, ran.err
    assert fake.stats(url).answered.total() == 4 * len(TOWNS) == n_paid(ran.folder)
    assert set(metrics(ran.folder)["cost"]["stages"]) == {"build", "convert", "generate"}


def test_a_budget_counts_what_earlier_scopes_have_cost(fake: FakeOpenAI) -> None:
    url = fake.scenario(reads=True)
    own = "{variant: llm, max_entity_tokens: 512, max_triple_tokens: 2048}"
    words = ["run", *SCOPED, f"build.extraction={own}", *served(url)]
    stopped = command(*words, "budget.tokens=2800")
    assert stopped.code == 1
    assert "budget.tokens=2800 could be passed" in stopped.err
    n_tokens = fake.stats(url).tokens
    assert 400 < n_tokens <= 2800
    again = command(*words, "budget.tokens=2800")
    assert again.code == 1
    assert fake.stats(url).tokens == n_tokens
    assert command(*words).code == 0
    assert set(fake.stats(url).answered.values()) == {1}


def test_failures_are_counted_over_all_scopes(fake: FakeOpenAI) -> None:
    url = fake.scenario(reads=True, filter_word="Short answer")
    stopped = command("run", *SCOPED, *served(url), "failures.after=15")
    assert stopped.code == 1
    assert "answer.direct: 4 of 4 calls failed" in stopped.err, stopped.err


def test_a_kill_before_the_scratch_folder_is_gone_counts_no_call_twice(
    fake: FakeOpenAI, home: Path
) -> None:
    url = fake.scenario(reads=True)
    first = command("run", *TOY, *served(url))
    (built,) = home.glob("artifacts/toy/extraction/*/ledger.jsonl")
    scratch = Path(f"{built.parent}.scratch")
    scratch.mkdir()
    shutil.copy(built, scratch)
    again = command("run", *TOY, *served(url))
    assert again.code == 0, again.err
    assert n_paid(again.folder) == n_paid(first.folder) == fake.stats(url).requests
    assert command("run", *TOY, *served(url), "answer=off").code == 0


def test_the_expected_cost_of_building_stands_beside_the_actual_one(fake: FakeOpenAI) -> None:
    ran = command("run", *TOY, *served(fake.scenario(reads=True)))
    held = metrics(ran.folder)
    assert held["estimate"]["extraction"]["calls"] == 16
    assert held["cost"]["steps"]["extraction"]["paid"]["calls"] == 16
    planned = command("plan", *TOY, *served("http://127.0.0.1:9/v1"))
    (row,) = [line for line in planned.out.splitlines() if line.split()[:1] == ["extraction"]]
    assert row.split()[1] == "0", "what is built already costs nothing"


def test_two_builds_of_a_model_mark_the_run(fake: FakeOpenAI) -> None:
    one = command("run", *TOY, *served(fake.scenario(reads=True)))
    two = command(
        "run", *TOY, *served(fake.scenario(reads=True, fingerprints=("a", "b"))), "paths.home=two"
    )
    assert metrics(one.folder)["cost"]["mixed"] is False
    assert metrics(two.folder)["cost"]["mixed"] is True
    assert metrics(two.folder)["cost"]["models"] == ["fake a", "fake b"]
    assert "more than one model or build" in (two.folder / "table.md").read_text()


def test_calls_of_building_are_in_the_faults_of_a_table(fake: FakeOpenAI) -> None:
    url = fake.scenario(reads=True, filter_word="Otto Brandt")
    done = command("run", *TOY, *served(url), "answer=off", "columns=all")
    assert done.code == 0, done.err
    rates = metrics(done.folder)["build_rates"]["build extraction"]
    assert rates["calls"] == 14 and rates["failed"] == round(2 / 14, 4)
    assert "faults" in done.out


def open_things() -> tuple[int, int]:
    """Open files and threads, once nobody needs them any more."""
    gc.collect()
    return len(os.listdir("/proc/self/fd")), threading.active_count()


def test_scopes_share_one_cache_and_keep_no_file_open(fake: FakeOpenAI) -> None:
    asked = [*SCOPED, *served(fake.scenario(reads=True))]
    before = open_things()
    for limit in ("limit=1", "limit=4", "limit=6"):
        assert command("run", *asked, limit).code == 0
    n_files, n_threads = open_things()
    assert n_files <= before[0]
    assert n_threads <= before[1]


@pytest.mark.parametrize(
    ("held", "asked", "goes"),
    [
        ("", "", False),
        ("", "1-of-4", False),
        ("1-of-4", "", False),
        ("1-of-4", "1-of-4", False),
        ("1-of-4", "1-of-2", False),
        ("1-of-4", "2-of-4", True),
    ],
)
def test_two_processes_go_together_only_as_shards_of_one_number(
    home: Path, held: str, asked: str, goes: bool
) -> None:
    with RunFolder(home / "run", held).alone():
        if goes:
            with RunFolder(home / "run", asked).alone():
                pass
        else:
            with pytest.raises(UserError, match="Another process is at work on"):
                RunFolder(home / "run", asked).alone().__enter__()
    with RunFolder(home / "run", asked).alone():
        pass
