"""Costs are counted completely and once, over scopes, kills and shards."""

import gc
import os
import shutil
import threading
from pathlib import Path

import pytest
from killing import served
from toy_runs import metrics, run_command, run_error, run_folder, write_scopes

from graphrag_bench.errors import UserError
from graphrag_bench.run.folder import RunFolder
from graphrag_bench.run.stored import EXTENT, StoredRun

pytestmark = pytest.mark.slow

METHOD = ["method=hipporag", "method.conversion=llm", "build.extraction=llm"]
METHOD += ["embedder=hashing", "reference_rows=off"]
TOY = ["dataset=toy", *METHOD]
TOWNS = ["Alba", "Beldor", "Corfast", "Dungard", "Elholm", "Falmere"]


@pytest.fixture
def scoped(home):
    return [*write_scopes(home / "scoped", *TOWNS), *METHOD]


def n_paid(folder):
    return int(metrics(folder)["cost"]["total"]["paid"]["calls"])


def test_the_cost_has_the_build_of_every_scope_and_no_file_stays_open(fake, scoped):
    url = fake.scenario(reads=True)
    folder = run_folder(*scoped, *served(url))
    assert fake.stats(url).answered.total() == 4 * len(TOWNS) == n_paid(folder)
    assert set(metrics(folder)["cost"]["stages"]) == {"build", "convert", "generate"}
    gc.collect()
    n_files, n_threads = len(os.listdir("/proc/self/fd")), threading.active_count()
    run_folder(*scoped, *served(url), "paths.home=second")
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= n_files
    assert threading.active_count() <= n_threads


def test_a_smaller_limit_has_the_cost_of_its_builds_and_questions(fake):
    words = [*TOY, *served(fake.scenario(reads=True))]
    fresh = run_command(*words, "limit=2", "paths.home=fresh").out.splitlines()
    whole = run_command(*words).out.splitlines()
    again = run_command(*words, "limit=2").out.splitlines()
    assert "cost, tokens" in again[2] and again[:6] == fresh[:6]
    assert again[4].split()[-2] != whole[4].split()[-2]


def test_calls_of_an_embedding_api_are_part_of_the_cost(fake):
    url = fake.scenario(models=["fake"])
    own = ["model=fake", f"base_url={url}", "api_key_env=null", "dimension=8"]
    words = ["dataset=toy", "method=vanilla", "answer=off", "reference_rows=off",
             "embedder=openai_compatible", *(f"embedder.{one}" for one in own)]  # fmt: skip
    for limit in ("limit=4", "limit=2"):
        cost = metrics(run_folder(*words, limit))["cost"]
        assert cost["steps"]["embedder"]["paid"]["prompt_tokens"] > 0
        assert cost["total"]["paid"]["prompt_tokens"] > 0
    folder = RunFolder(run_folder(*words, limit))
    extent = {name: folder.metrics().get(name) for name in EXTENT} | {"repeats": 1, "limit": 1}
    narrow = StoredRun(folder, extent=extent).metrics
    assert narrow["n"] == 1 and narrow["cost"]["steps"]["embedder"] == cost["steps"]["embedder"]


def test_failures_are_counted_over_all_scopes(fake, scoped):
    url = fake.scenario(reads=True, filter_word="Short answer")
    assert "answer.direct" in run_error(*scoped, *served(url), "failures.after=15", exit_code=1)


def test_a_leftover_scratch_folder_counts_no_call_twice(fake, home):
    url = fake.scenario(reads=True)
    first = n_paid(run_folder(*TOY, *served(url)))
    (built,) = home.glob("artifacts/toy/extraction/*/ledger.jsonl")
    scratch = Path(f"{built.parent}.scratch")
    scratch.mkdir()
    shutil.copy(built, scratch)
    again = n_paid(run_folder(*TOY, *served(url)))
    assert again == first == fake.stats(url).requests


def test_two_versions_of_a_model_are_marked_and_expected_calls_are_stored(fake):
    numbers = metrics(run_folder(*TOY, *served(fake.scenario(reads=True, fingerprints=("a", "b")))))
    assert (numbers["cost"]["mixed"], numbers["cost"]["models"]) == (True, ["fake a", "fake b"])
    assert numbers["estimate"]["extraction"]["calls"] == 16
    assert numbers["cost"]["steps"]["extraction"]["paid"]["calls"] == 16


@pytest.mark.parametrize(("first", "second"), [("", ""), ("", "1-of-4"), ("1-of-4", "1-of-2")])
def test_two_processes_share_a_run_only_as_shards_of_one_division(home, first, second):
    with (
        RunFolder(home / "run", "1-of-4").exclusive(),
        RunFolder(home / "run", "2-of-4").exclusive(),
    ):
        pass
    with RunFolder(home / "run", first).exclusive(), pytest.raises(UserError, match="shard=1/4"):
        RunFolder(home / "run", second).exclusive().__enter__()
    with RunFolder(home / "run", second).exclusive():
        pass
