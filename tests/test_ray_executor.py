"""executor=ray: the bytes of a local run, whatever becomes of the workers."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import psutil
import pytest
from dying_models import (
    MARK,
    PARENT,
    DyingModel,
    WorldModel,
    always_dying,
    refusing_seven,
)
from fake_openai import FakeOpenAI
from toy_runs import command

from graphrag_bench.config.compose import composed
from graphrag_bench.errors import UserError
from graphrag_bench.executors import servers_on_ray
from graphrag_bench.executors.executor import BLOCKS_AHEAD
from graphrag_bench.executors.on_ray import OnRay, room_on_gpus
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.models.budget import Budget, Budgeted
from graphrag_bench.models.ledger import read_ledger
from graphrag_bench.models.llm import Chat
from graphrag_bench.models.local import PACKAGED, Local
from graphrag_bench.models.local_on_ray import LocalOnRay
from graphrag_bench.models.outcomes import CallFailed, Completion, RunStopped
from graphrag_bench.prompts import Message

ray = pytest.importorskip("ray")
RAY = ["executor=ray", "ray.workers=2"]
WORLD = [
    "dataset=world", "dataset.size=520", "dataset.n_questions=150", "method=hipporag", "answer=10",
    "reference_rows=off", "build.extraction=nlp", "llm=scripted", "llm._target_=toy_runs.reader",
]  # fmt: skip
PLAIN = ["nlp._target_=toy_runs.Capitals", "embedder=hashing"]
DYING = ["nlp._target_=dying_models.DyingTagger", "embedder=hashing",
         "embedder._target_=dying_models.DyingEmbedder"]  # fmt: skip
ASKED = [
    "dataset=world", "dataset.size=60", "dataset.n_questions=12", "method=hipporag", "workers=8",
    "reference_rows=off", "build.extraction=llm", "embedder=hashing",
]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _marks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cluster that ends with these tests; its workers take over the environment of its start."""
    marks = tmp_path_factory.mktemp("marks")
    os.environ |= {PARENT: str(os.getpid()), MARK: str(marks)}
    yield marks
    ray.shutdown()
    del os.environ[PARENT], os.environ[MARK]


def contents(home: Path) -> dict[str, object]:
    """What a run leaves that its configuration decides: rows, contexts, files of artifacts."""
    found: dict[str, object] = {}
    for path in sorted(home.glob("runs/*/*/*/*")):
        if path.name in ("records.jsonl", "contexts.jsonl", "artifacts.json"):
            found[str(path.relative_to(home))] = path.read_bytes()
    for path in sorted(home.glob("artifacts/*/*/*/manifest.json")):
        files = json.loads(path.read_text())
        found[str(path.relative_to(home))] = json.dumps(without_times(files), sort_keys=True)
    return found


def without_times(manifest: dict[str, object]) -> dict[str, object]:
    """A manifest less the hashes of files that have the seconds of the build and of its calls."""
    files = manifest["files"]
    assert isinstance(files, dict)
    timed = ("recipe.json", "ledger.jsonl")
    return {name: value for name, value in files.items() if name not in timed}


def stored(home: Path, name: str) -> int:
    """How many readings or vectors a run has stored."""
    table = {"sentences": "readings"}.get(name, name)
    with closing(sqlite3.connect(home / "cache" / f"{name}.sqlite")) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def test_a_run_on_ray_leaves_the_bytes_of_a_local_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    here = command("run", *WORLD, *PLAIN, "paths.home=here")
    there = command("run", *WORLD, *PLAIN, *RAY, "paths.home=there")
    assert (here.code, there.code) == (0, 0), there.err
    assert contents(tmp_path / "here") == contents(tmp_path / "there")
    for name in ("sentences", "vectors"):
        assert stored(tmp_path / "here", name) == stored(tmp_path / "there", name) > 500


def test_killed_workers_change_no_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, _marks: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    here = command("run", *WORLD, *DYING, "nlp_workers=1", "paths.home=here")
    there = command("run", *WORLD, *DYING, *RAY, "paths.home=there")
    assert (here.code, there.code) == (0, 0), there.err
    assert {path.name for path in _marks.iterdir()} >= {"sentences", "passages", "entities"}
    assert contents(tmp_path / "here") == contents(tmp_path / "there")


def test_results_come_in_order_and_few_blocks_are_taken_ahead() -> None:
    taken: list[int] = []
    blocks = (taken.append(number) or number for number in range(30))  # type: ignore[func-returns-value]
    results = OnRay(workers=2).map(partial(pow, 2), blocks)
    for number in range(30):
        assert next(results) == 2**number
        assert len(taken) <= number + BLOCKS_AHEAD * 2


def test_a_block_that_kills_every_worker_is_one_clear_error() -> None:
    with pytest.raises(UserError, match="ended 3 times without a result"):
        list(OnRay(workers=2).map(always_dying, [1]))


def test_an_error_of_the_work_is_raised_as_it_is() -> None:
    results = OnRay(workers=2).map(refusing_seven, range(20))
    assert [next(results) for _ in range(7)] == list(range(7))
    with pytest.raises(UserError, match="^seven is refused$"):
        next(results)


def spread(model: Local, n_servers: int = 2, **settings: object) -> LocalOnRay:
    """The model on servers of Ray, made with these settings."""
    kind = f"{type(model).__module__}.{type(model).__name__}"
    given = {"_target_": kind, **settings}
    return LocalOnRay.of(model, given, OnRay(workers=2), n_servers=n_servers, gpus=0.0)


def chat(text: str) -> Chat:
    return (Message("user", text),)


def costs(home: Path) -> list[tuple[str, ...]]:
    """The calls of a run and of what it has built, less their times and tries."""
    return sorted(
        (line.stage, line.step, line.item, str(line.prompt_tokens), str(line.completion_tokens))
        for line in read_ledger(*ledgers(home))
    )


def ledgers(home: Path) -> list[Path]:
    """The ledger of a run, and that of the artifact that it has built with a model."""
    paths = [*home.glob("runs/*/*/*/ledger.jsonl"), *home.glob("artifacts/*/*/*/ledger.jsonl")]
    assert len(paths) == 2
    return paths


def test_a_local_model_on_ray_builds_and_answers_as_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = "llm._target_=dying_models.WorldModel"
    here = command("run", *ASKED, model, "paths.home=here")
    called: list[int] = []
    monkeypatch.setattr(WorldModel, "call", lambda *_: called.append(1))  # in this process alone
    there = command("run", *ASKED, model, *RAY, "paths.home=there")
    assert (here.code, there.code) == (0, 0), there.err
    assert contents(tmp_path / "here") == contents(tmp_path / "there")
    assert replies(tmp_path / "here") == replies(tmp_path / "there")
    assert costs(tmp_path / "here") == costs(tmp_path / "there")
    assert len(costs(tmp_path / "here")) > 60
    assert not called


def replies(home: Path) -> list[tuple[str, str]]:
    """Key and text of every reply that a run has stored."""
    with closing(sqlite3.connect(home / "cache" / "replies.sqlite")) as connection:
        return sorted(connection.execute("SELECT key, text FROM replies"))


def test_killed_model_servers_lose_no_reply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, _marks: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    model = "llm._target_=dying_models.DyingModel"
    here = command("run", *ASKED, model, "paths.home=here")
    there = command("run", *ASKED, model, *RAY, "paths.home=there")
    assert (here.code, there.code) == (0, 0), there.err
    assert {path.name for path in _marks.iterdir()} >= {"extraction", "answer"}
    assert contents(tmp_path / "here") == contents(tmp_path / "there")
    assert costs(tmp_path / "here") == costs(tmp_path / "there")
    assert sum(line.retries for line in read_ledger(*ledgers(tmp_path / "there"))) == 2


def test_a_model_behind_an_api_is_called_here_and_no_worker_gets_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake: FakeOpenAI
) -> None:
    assert list(OnRay(workers=2).map(abs, [-1])) == [1]  # workers start before there is a key
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OWN_KEY", "sk-own")
    url = fake.scenario(key="sk-own")
    model = ["llm=openai_compatible", "llm.model=fake", f"llm.base_url={url}",
             "llm.api_key_env=OWN_KEY"]  # fmt: skip
    plain = ["dataset=toy", "embedder=hashing", "method=vanilla", "reference_rows=off"]
    ended = command("run", *plain, *model, *RAY, "answer=3")
    assert ended.code == 0, ended.err
    assert fake.stats(url).requests == 3
    assert list(OnRay(workers=2).map(os.getenv, ["OWN_KEY"] * 4)) == [None] * 4


def test_each_server_is_a_process_of_one_thread_and_tasks_run_beside_it() -> None:
    model = spread(WorldModel(parallel=2))
    found = model.complete([chat("where: here")] * 12, max_tokens=2)
    said = [reply.text.split() for reply in found if isinstance(reply, Completion)]
    assert len(said) == 12 and model.concurrency == 4
    assert len({process for process, _ in said} - {str(os.getpid())}) == 2
    assert {threads for _, threads in said} == {"1"}
    assert list(OnRay(workers=2).map(abs, range(4))) == [0, 1, 2, 3]


def test_the_cluster_is_joined_by_the_thread_that_makes_the_model() -> None:
    cluster = OnRay(workers=2)
    given = {"_target_": "dying_models.WorldModel"}
    LocalOnRay.of(WorldModel(), given, cluster, n_servers=2, gpus=0.0)
    assert "ray" in vars(cluster)  # a thread of calls would take the cluster along when it ends


def test_a_call_that_kills_every_server_is_one_clear_error_and_others_go_on() -> None:
    model = spread(DyingModel())
    with pytest.raises(RunStopped, match="ended 3 times without a reply.*ray.llm_workers=N"):
        model.complete([chat("deadly:")], max_tokens=2)
    (fine,) = model.complete([chat("where: again")], max_tokens=2)
    assert isinstance(fine, Completion)


def test_a_try_that_was_lost_is_counted_at_its_most_by_the_budget_here() -> None:
    budget = Budget(tokens=1000)
    model = Budgeted(spread(WorldModel()), budget)
    (lost,) = model.complete([chat("lost: again and again")], max_tokens=100)
    assert isinstance(lost, CallFailed)
    assert (lost.reason, lost.retries, lost.of_server) == ("retries_exhausted", 3, True)
    assert 300 < budget.spent.tokens < 400
    with pytest.raises(RunStopped, match=r"budget.tokens=1000 could be passed"):
        for _ in range(3):
            model.complete([chat("lost: again and again")], max_tokens=100)
    assert budget.spent.tokens <= 1000


def test_a_refused_call_comes_back_with_all_that_it_says() -> None:
    (failed,) = spread(WorldModel()).complete([chat("refused: here")], max_tokens=2)
    assert isinstance(failed, CallFailed) and str(failed) == "refused here"
    assert (failed.reason, failed.retries, failed.seconds) == ("refused", 2, 1.5)
    assert failed.paid == Completion("no", 3, 1)


def test_another_model_on_a_worker_is_refused() -> None:
    other = spread(Local(), _target_="dying_models.WorldModel")
    with pytest.raises(UserError, match="A worker has another llm: 'world model', and not 'Smol"):
        other.complete([chat("where: here")], max_tokens=2)


def test_idle_servers_end_and_start_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers_on_ray, "IDLE_SECONDS", 0.1)
    model = spread(WorldModel(), n_servers=1)
    processes = []
    for _ in range(2):
        (reply,) = model.complete([chat("where: here")], max_tokens=2)
        assert isinstance(reply, Completion)
        processes.append(int(reply.text.split()[0]))
        until = time.monotonic() + 30
        while psutil.pid_exists(processes[-1]) and time.monotonic() < until:
            time.sleep(0.1)
        assert not psutil.pid_exists(processes[-1])
    assert processes[0] != processes[1]


def test_servers_are_as_many_as_the_gpus_have_room_for() -> None:
    assert room_on_gpus([2.0, 1.0], 1.0) == 3
    assert room_on_gpus([2.0, 1.0], 0.1) == 30
    assert room_on_gpus([2.0, 1.0], 0.7) == 3
    assert room_on_gpus([4.0, 1.0], 2.0) == 2
    with pytest.raises(UserError, match=r"ray.llm_gpus=1 .*have 0 GPUs: ray.llm_gpus=0"):
        OnRay(workers=2).n_servers(None, 1.0)


def test_the_calls_at_a_time_are_told_without_a_cluster(tmp_path: Path) -> None:
    words = ["dataset=toy", "method=bm25", "embedder=hashing", f"paths.home={tmp_path}",
             "llm._target_=dying_models.WorldModel", "llm.parallel=3"]  # fmt: skip

    def at_once(*more: str) -> int:
        models = Experiment.prepare(composed([*words, *more])).models
        assert "ray" not in vars(models)
        return models.calls_at_once()

    assert at_once() == 3
    assert at_once("executor=ray") == 3
    assert at_once("executor=ray", "ray.workers=4") == 12
    assert at_once("executor=ray", "ray.workers=4", "ray.llm_workers=2") == 6


@pytest.mark.real
def test_the_packaged_model_says_on_ray_what_it_says_here() -> None:
    local = Local(context=256, threads=1)
    model = spread(local, context=256)
    prompts = [chat(f"Name a city in {country}.") for country in ("France", "Norway", "Japan")]
    there = model.complete(prompts, max_tokens=8)
    assert local._server is None
    here = local.complete(prompts, max_tokens=8)
    local.close()
    said = [[one.text for one in found if isinstance(one, Completion)] for found in (here, there)]
    assert said[0] == said[1] and len(said[0]) == 3
    assert {one.model for one in there if isinstance(one, Completion)} == {PACKAGED}
