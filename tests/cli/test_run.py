"""Runs on the toy data set: folders, limits, answers, repeats and costs."""

import gc
import os
import shutil
import threading
from pathlib import Path

import pytest
import toy_runs
from killing import served
from toy_runs import TOY, metrics, records, run_command, run_error, run_folder, write_set

from graphrag_bench.errors import UserError
from graphrag_bench.llm.calls import Completion
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.run.folder import RunFolder
from graphrag_bench.run.stored import EXTENT, StoredRun

pytestmark = pytest.mark.slow

VANILLA = [*TOY, "method=vanilla", "reference_rows=off"]


def test_a_larger_limit_resumes_and_a_smaller_limit_keeps_the_scores():
    off = [*VANILLA, "cache.mode=off"]
    folder = run_folder(*off, "limit=2")
    before = records(folder)
    assert run_folder(*off) == folder
    assert len(toy_runs.reader_prompts) == len(set(toy_runs.reader_prompts)) == 6
    assert [row for row in records(folder) if row in before] == before
    stored = (folder / "metrics.json").read_bytes()
    run_command(*off, "limit=2")
    assert (folder / "metrics.json").read_bytes() == stored
    assert metrics(folder)["n"] == len(toy_runs.reader_prompts) == 6


def test_only_requested_answers_are_generated():
    for n, word in ((0, "answer=off"), (2, "answer=2"), (6, "answer=on")):
        numbers = metrics(run_folder(*VANILLA, word))
        assert (numbers["n"], numbers["answered"], len(toy_runs.reader_prompts)) == (6, n, n)
        assert ("accuracy" in numbers["metrics"]) == (n > 0)
        assert numbers["metrics"]["evidence_recall@2"]["n"] == 5


def test_graph_per_partition_retrieves_within_the_scope(home):
    corpus = [{"id": f"{book}{name}", "text": f"{name} met Carl in {book}.", "scope": book}
              for book in "12" for name in ("Anna", "Bert")]  # fmt: skip
    questions = [{"id": book, "text": "Who met Bert?", "scope": book} for book in "12"]
    write_set(home / "books", corpus, questions)
    words = ["dataset=jsonl", "dataset.root=books", *TOY[1:], "answer=off"]
    for method in ("vanilla", "hipporag"):
        rows = records(run_folder(*words, f"method={method}", "graph.per=partition"))
        assert [set(row["documents"]) for row in rows] == [{"1Anna", "1Bert"}, {"2Anna", "2Bert"}]


class Moody(Scripted):
    """A reader that is right in its first repeat only."""

    def call(self, request):
        text = "Ada Marsh" if request.trial == 0 else "I forgot"
        return Completion(text, prompt_tokens=5, completion_tokens=2, model="moody")


def moody(replies=None):
    return Moody(replies or {})


MOODY = [f"llm._target_={__name__}.moody" if "llm._t" in word else word for word in TOY]


def test_repeats_resume_keep_earlier_answers_and_are_in_the_budget():
    first = run_folder(*VANILLA)
    before, used = (first / "records.jsonl").read_bytes(), metrics(first)["usage"]
    budget = f"budget.tokens={round(1.5 * (used['prompt_tokens'] + used['completion_tokens']))}"
    assert "answer=on" in run_error(*VANILLA, "answer=off", "repeats=2")
    assert "budget.tokens" in run_error(*VANILLA, "repeats=3", budget, exit_code=1)
    toy_runs.reader_prompts.clear()
    assert run_folder(*VANILLA, "repeats=3") == first
    assert metrics(first)["repeats"]["cost"]["paid"]["calls"] == 12 > len(toy_runs.reader_prompts)
    assert (first / "records.jsonl").read_bytes() == before
    file = first / "trial-1" / "records.jsonl"
    whole = file.read_text()
    file.write_text("".join(whole.splitlines(keepends=True)[:4]))
    toy_runs.reader_prompts.clear()
    run_folder(*VANILLA, "repeats=2", "cache.mode=off")  # resumes a cut repeat
    assert (len(toy_runs.reader_prompts), file.read_text()) == (2, whole)


def test_mean_and_spread_over_repeats_of_all_questions():
    """One of five questions is right in the first of three repeats: mean 1/15."""
    words = [*MOODY, "method=vanilla"]
    folder = run_folder(*words, "repeats=2", "limit=3")
    repeats = metrics(folder)["repeats"]
    assert metrics(run_folder(*words, "limit=3"))["repeats"] == repeats
    assert " ±" in toy_runs.table_of(folder)
    wider = metrics(run_folder(*words))
    assert (wider["n"], wider["repeats"]["n"], wider["repeats"]["questions"]) == (6, 2, 3)
    assert " ±0" not in toy_runs.table_of(folder)
    repeats = metrics(run_folder(*words, "repeats=3"))["repeats"]
    assert repeats["changed"] == 6 and "evidence_recall@2" not in repeats["metrics"]
    accuracy = repeats["metrics"]["accuracy"]
    assert accuracy["values"] == [0.2, 0.0, 0.0]
    assert accuracy["mean"] == pytest.approx(1 / 15, abs=1e-6)
    assert accuracy["spread"] == pytest.approx(0.2 / 3**0.5, abs=1e-6)
    assert "0.067 ±0.115 (5 of 6)" in toy_runs.table_of(folder)


# ---- costs are counted completely and once, over scopes, kills and shards

BUILT_BY_LLM = ["method=hipporag", "method.conversion=llm", "build.extraction=llm"]
BUILT_BY_LLM += ["embedder=hashing", "reference_rows=off"]
PAID = ["dataset=toy", *BUILT_BY_LLM]
TOWNS = ["Alba", "Beldor", "Corfast", "Dungard", "Elholm", "Falmere"]


@pytest.fixture
def scoped(home):
    return [*toy_runs.write_scopes(home / "scoped", *TOWNS), *BUILT_BY_LLM]


def test_the_cost_has_the_build_of_every_scope_and_no_file_stays_open(fake, scoped):
    url = fake.scenario(reads=True)
    folder = run_folder(*scoped, *served(url))
    cost = metrics(folder)["cost"]
    n_calls = fake.stats(url).answered.total()
    assert n_calls == 4 * len(TOWNS) == cost["total"]["paid"]["calls"]
    assert set(cost["stages"]) == {"build", "convert", "generate"}
    gc.collect()
    n_files, n_threads = len(os.listdir("/proc/self/fd")), threading.active_count()
    run_folder(*scoped, *served(url), "paths.home=second")
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= n_files
    assert threading.active_count() <= n_threads


def test_a_smaller_limit_has_the_cost_of_its_builds_and_questions(fake):
    words = [*PAID, *served(fake.scenario(reads=True))]
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


def test_a_call_counts_once_with_the_version_of_its_model_despite_a_leftover_folder(fake, home):
    url = fake.scenario(reads=True, fingerprints=("a", "b"))
    numbers = metrics(run_folder(*PAID, *served(url)))
    assert (numbers["cost"]["mixed"], numbers["cost"]["models"]) == (True, ["fake a", "fake b"])
    assert numbers["estimate"]["extraction"]["calls"] == 16
    assert numbers["cost"]["steps"]["extraction"]["paid"]["calls"] == 16
    (built,) = home.glob("artifacts/toy/extraction/*/ledger.jsonl")
    (scratch := Path(f"{built.parent}.scratch")).mkdir()
    shutil.copy(built, scratch)
    again = metrics(run_folder(*PAID, *served(url)))["cost"]
    assert again["total"] == numbers["cost"]["total"]
    assert again["total"]["paid"]["calls"] == fake.stats(url).requests


def test_two_processes_share_a_run_only_as_shards_of_one_division(home):
    def part(name):
        return RunFolder(home / "run", name).exclusive()

    with part("1-of-4"), part("2-of-4"):
        pass
    for first, second in (("", ""), ("", "1-of-4"), ("1-of-4", ""), ("1-of-4", "1-of-2")):
        with part(first), pytest.raises(UserError, match="shard=1/4"), part(second):
            pass
        with part(second):
            pass
