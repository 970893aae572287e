"""Nothing is lost and nothing is paid for twice: kills, budgets, shards, replays, stops.

Real processes of the command ask a real server over HTTP, in building and in answering.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from fake_openai import FakeOpenAI
from toy_runs import command, metrics, records

from cli.killing import (
    CONCURRENCY,
    Setup,
    determined,
    ended,
    finished,
    kill,
    killed_at_random,
    served,
    started,
    tiny_set,
    wait_for_calls,
    wait_for_rows,
)

pytestmark = pytest.mark.slow

N_CALLS = 140
"""Two for each of 40 documents and two for each of 30 questions, no two alike."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_set(tmp_path_factory.mktemp("sets") / "towns")


@pytest.fixture(scope="module")
def whole(fake: FakeOpenAI, root: Path, tmp_path_factory: pytest.TempPathFactory) -> Setup:
    """A run that nothing has disturbed."""
    setup = Setup(root, tmp_path_factory.mktemp("undisturbed"), fake.scenario(reads=True))
    finished(setup.arguments())
    answered = fake.stats(setup.url).answered
    assert (answered.total(), len(answered)) == (N_CALLS, N_CALLS)
    return setup


@pytest.fixture(scope="module")
def undisturbed(whole: Setup) -> dict[str, bytes]:
    """What it leaves behind."""
    found = determined(whole.home)
    assert {Path(name).name for name in found} >= {"records.jsonl", "table.md", "recipe.json"}
    return found


@pytest.fixture
def setup(fake: FakeOpenAI, root: Path, tmp_path: Path) -> Setup:
    """The same run in a home of its own, asking a server that takes a moment."""
    return Setup(root, tmp_path / "home", fake.scenario(reads=True, latency=0.02))


def test_kills_at_random_times_lose_and_double_no_call_but_those_in_flight(
    setup: Setup, fake: FakeOpenAI, undisturbed: dict[str, bytes]
) -> None:
    n_kills = killed_at_random(setup, fake, random.Random(0), n_kills=5, most_calls=30)
    assert n_kills >= 4
    assert N_CALLS // 4 < len(fake.stats(setup.url).answered) <= N_CALLS
    finished(setup.arguments())
    assert determined(setup.home) == undisturbed
    answered = fake.stats(setup.url).answered
    assert len(answered) == N_CALLS
    assert answered.total() <= N_CALLS + n_kills * CONCURRENCY


def test_a_budget_stops_the_run_and_a_larger_one_goes_on(
    setup: Setup, fake: FakeOpenAI, undisturbed: dict[str, bytes]
) -> None:
    stopped = ended(started(setup.arguments("budget.tokens=8000")))
    assert stopped.code == 1
    assert "budget.tokens=8000 could be passed" in stopped.err
    assert "raise the budget and run the same command again" in stopped.err
    assert "Traceback" not in stopped.err
    assert 3500 < fake.stats(setup.url).tokens <= 8000
    finished(setup.arguments("budget.tokens=70000"))
    assert determined(setup.home) == undisturbed
    assert set(fake.stats(setup.url).answered.values()) == {1}


def test_shards_one_of_them_killed_equal_one_process(
    setup: Setup, fake: FakeOpenAI, undisturbed: dict[str, bytes]
) -> None:
    parts = [f"shard={number}/4" for number in range(1, 5)]
    processes = [started(setup.arguments(part)) for part in parts]
    wait_for_rows(setup.home, "3-of-4", processes[2])
    assert processes[2].poll() is None
    kill(processes[2])
    again = started(setup.arguments(parts[2]))
    for process in (*processes[:2], processes[3], again):
        end = ended(process)
        assert end.code == 0, end.err
    finished(setup.arguments())
    assert determined(setup.home) == undisturbed
    answered = fake.stats(setup.url).answered
    assert answered.total() <= len(answered) + CONCURRENCY == N_CALLS + CONCURRENCY


def test_a_second_process_on_the_same_work_refuses(
    fake: FakeOpenAI, root: Path, tmp_path: Path
) -> None:
    slow = Setup(root, tmp_path / "home", fake.scenario(reads=True, latency=60.0))
    process = started(slow.arguments("shard=2/4"))
    wait_for_calls(fake, slow.url, 1, process)
    for shard in ("shard=2/4", "shard=null", "shard=1/2"):
        refused = command("run", *slow.arguments(shard))
        assert refused.code == 2
        assert "Another process is at work on shard 2/4 of this run" in refused.err
    assert process.poll() is None
    kill(process)
    assert fake.stats(slow.url).requests == 1


def test_a_replay_gives_the_same_run_with_no_server(
    whole: Setup, fake: FakeOpenAI, tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    shared, home = tmp_path / "shared.jsonl.gz", tmp_path / "home"
    assert command("cache", "export", str(shared), "--home", str(whole.home)).code == 0
    replayed = [word for word in whole.arguments() if not word.startswith("llm")]
    replayed += ["llm=replay", f"llm.path={shared}", f"paths.home={home}"]
    before = fake.stats(whole.url).requests
    ran = command("run", *replayed)
    assert ran.code == 0, ran.err
    assert determined(home) == undisturbed

    changed = command("run", *replayed, "method.top_k=1")
    assert changed.code == 2
    assert "holds no reply to this prompt" in changed.err
    assert "differ from those of the recorded run" in changed.err
    assert fake.stats(whole.url).requests == before


def test_what_other_shards_have_spent_counts_in_the_budget(
    whole: Setup, fake: FakeOpenAI, setup: Setup
) -> None:
    """The first shard stops at a budget that the second has spent in the meantime."""
    (ledger,) = whole.home.glob("runs/*/*/*/ledger.jsonl")
    folder = setup.home / ledger.parent.relative_to(whole.home)
    folder.mkdir(parents=True)
    n_tokens = fake.stats(whole.url).tokens
    (folder / "ledger.2-of-2.jsonl").write_bytes(ledger.read_bytes())
    stopped = command("run", *setup.arguments("shard=1/2", f"budget.tokens={n_tokens}"))
    assert stopped.code == 1
    assert f"budget.tokens={n_tokens} could be passed" in stopped.err
    assert 0 < fake.stats(setup.url).tokens < n_tokens


def test_shards_at_work_at_the_same_time_keep_one_budget(setup: Setup, fake: FakeOpenAI) -> None:
    slow = replace(setup, url=fake.scenario(reads=True, latency=0.2))
    finished(slow.arguments("answer=off", "limit=1"))
    built = fake.stats(slow.url).tokens
    budget = built + 1200
    shards = [
        started(slow.arguments(f"shard={number}/3", f"budget.tokens={budget}"))
        for number in (1, 2, 3)
    ]
    assert 1 in {ended(process).code for process in shards}
    assert built < fake.stats(slow.url).tokens <= budget


TOY = ["dataset=toy", "method=hipporag", "method.conversion=llm", "build.extraction=llm"]
TOY += ["embedder=hashing", "reference_rows=off"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("scenario", "settings", "words"),
    [
        ({"key": "right"}, ["llm.api_key_env=WRONG_KEY"], "refuses the key in WRONG_KEY"),
        ({"models": ["other"]}, [], "has no model 'fake'"),
    ],
    ids=["bad key", "unknown model"],
)
def test_what_no_call_can_mend_stops_the_run_at_the_first_call(
    fake: FakeOpenAI,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    scenario: dict[str, object],
    settings: list[str],
    words: str,
) -> None:
    monkeypatch.setenv("WRONG_KEY", "sk-planted-wrong")
    url = fake.scenario(reads=True, **scenario)
    stopped = command("run", *TOY, *served(url), *settings)
    assert stopped.code == 2
    assert words in stopped.err
    assert len(stopped.err.splitlines()) <= 2, stopped.err
    assert fake.stats(url).requests == 1
    for path in home.rglob("*"):
        assert path.is_dir() or b"sk-planted-wrong" not in path.read_bytes(), path
    assert "sk-planted-wrong" not in stopped.out + stopped.err


def test_a_fifth_of_failing_calls_stops_a_step(fake: FakeOpenAI, home: Path) -> None:
    url = fake.scenario(reads=True, filter_word="Otto Brandt")
    asked = [*TOY, *served(url), "failures.after=4"]
    stopped = command("run", *asked)
    assert stopped.code == 1
    assert "Step extraction.llm: " in stopped.err
    assert "the limit is 20%" in stopped.err
    assert "failures.limit" in stopped.err
    assert not list(home.rglob("records.jsonl"))


def test_failures_below_the_limit_are_counted_and_the_run_goes_on(
    fake: FakeOpenAI, home: Path
) -> None:
    url = fake.scenario(reads=True, filter_word="Otto Brandt")
    went_on = command("run", *TOY, *served(url))
    assert went_on.code == 0, went_on.err
    held = metrics(went_on.folder)
    n_failed = held["cost"]["total"]["failed"]["content_filter"]
    assert n_failed == fake.stats(url).faults["400"] > 0
    assert held["extraction_statistics"]["failed_chunks"] == 2
    assert held["failed"] == sum(row["status"] == "failed" for row in records(went_on.folder)) > 0
    assert "the server filtered" in went_on.out.lower()


def test_two_builds_of_a_model_mark_the_run(fake: FakeOpenAI, home: Path) -> None:
    one = command("run", *TOY, *served(fake.scenario(reads=True)))
    two = command(
        "run", *TOY, *served(fake.scenario(reads=True, fingerprints=("a", "b"))), "paths.home=two"
    )
    assert metrics(one.folder)["cost"]["mixed"] is False
    assert metrics(two.folder)["cost"]["mixed"] is True
    assert metrics(two.folder)["cost"]["models"] == ["fake a", "fake b"]
    assert "more than one model or build has served" in two.out
    assert "more than one model or build" in (two.folder / "table.md").read_text()


def test_another_embedding_builds_another_index_and_says_why(fake: FakeOpenAI, home: Path) -> None:
    url = fake.scenario(reads=True)
    first = command("run", *TOY, *served(url))
    second = command("run", *TOY, *served(url), "embedder.dimension=64")
    assert second.code == 0, second.err
    assert first.folder != second.folder
    said = "build name_index (extraction): embedder is hashing:64, not hashing:256"
    assert said in second.err
    assert said not in first.err
    assert "build extraction" not in second.err
    assert len(list(home.glob("artifacts/toy/name_index/*/recipe.json"))) == 2
    assert set(fake.stats(url).answered.values()) == {1}
