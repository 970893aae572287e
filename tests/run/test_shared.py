"""What the runs of a process share, and what a run makes only once."""

import shutil
from functools import partial
from types import SimpleNamespace
from unittest.mock import Mock, patch

import pytest
from toy_runs import TOY, WEIGHTLESS, metrics, plan_of, run_command

from graphrag_bench.config.compose import compose_settings
from graphrag_bench.config.settings import RunSettings
from graphrag_bench.llm.ledger import Ledger, LedgerLine, read_ledger
from graphrag_bench.progress import Progress
from graphrag_bench.run import models, results
from graphrag_bench.run.execute import _charge, execute
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.method import Method
from graphrag_bench.run.models import Models, ProcessCache
from scripts import measures

CELLS = ("method.damping=0.2", "method.damping=0.7")


def cell(home, *settings, of=None):
    words = ["dataset=toy", *WEIGHTLESS, "method=hipporag", "limit=2", f"paths.home={home}"]
    return Experiment.prepare(compose_settings([*words, *settings]), swept=True, shared=of)


def calls(run):
    return sorted((line.step, line.item) for line in read_ledger(run.folder.file("ledger")))


def test_second_cell_reuses_models_and_artifacts(tmp_path, monkeypatch):
    made, loads = (Mock(wraps=one) for one in (models.make_model, models.load_artifact))
    monkeypatch.setattr(models, "make_model", made)
    monkeypatch.setattr(models, "load_artifact", loads)
    common = ProcessCache()
    first, second = (cell(tmp_path, one, of=common) for one in CELLS)
    execute(first, Progress(quiet=True))
    execute(second, Progress(quiet=True))
    names = [one.args[0] for one in made.mock_calls]
    names += [one.args[1].parent.name for one in loads.mock_calls]
    assert {"llm", "embedder", "nlp", "graph", "chunk_table"} <= set(names)
    assert len(set(names)) == len(names)
    execute(alone := cell(tmp_path / "alone", CELLS[1]), Progress(quiet=True))
    files = [run.folder.file("records").read_bytes() for run in (second, alone)]
    assert files[0] == files[1] and files[0].count(b"\n") == 2
    assert calls(second) == calls(alone)
    own, other = (cell(tmp_path, one, "budget.tokens=99", of=common).models for one in CELLS)
    assert own.unwrapped("llm") is other.unwrapped("llm") and own.budget is not other.budget
    common.close()


def test_least_recently_used_entry_is_closed():
    closed = []
    each = {name: SimpleNamespace(close=partial(closed.append, name)) for name in "abc"}
    common = ProcessCache()
    for name in "abac":
        assert common.get_or_make("llm", name, partial(each.get, name)) is each[name]
    assert closed == ["b"]
    common.close()
    assert closed == ["b", "a", "c"]


def test_artifact_cache_is_bounded_and_reloads_rebuilt_artifacts(tmp_path, monkeypatch):
    def load(name, text=""):
        folder = tmp_path / name
        if text:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            (folder / "recipe.json").write_text(text)
        return str(common.load(str, folder))

    loads = Mock(side_effect=lambda _, folder: (folder / "recipe.json").read_text())
    monkeypatch.setattr(models, "load_artifact", loads)
    common = ProcessCache()
    for text in ("one", "another"):
        assert [load("graph", text), load("graph")] == [text, text]
    for number in range(64):
        load(str(number), "one")
    n_loads = [loads.call_count for name in ("0", "graph") if load(name)]
    assert n_loads == [66, 67]  # `0` is cached, and `graph` was evicted


@pytest.mark.parametrize("setting", ["repeats=1", "repeats=2", "shard=1/2"])
def test_each_ledger_counts_once(tmp_path, setting):
    first = cell(tmp_path, "budget.tokens=99", setting)
    experiment = [first, *first.trials()][-1]
    own = experiment.folder.file("ledger")
    places = ("ledger.jsonl", "trial-1/ledger.jsonl", "ledger.1-of-2.jsonl", "ledger.2-of-2.jsonl")
    ledgers = {own, *(experiment.run_path / place for place in places)}
    for ledger in ledgers:
        Ledger(ledger).write(LedgerLine("generate", "answer", "q", "stop", prompt_tokens=7))
    _charge(experiment, experiment.folder, experiment.dataset.questions)
    assert own in ledgers and len(ledgers) == 4
    assert experiment.models.budget.spent.tokens == 4 * 7


def test_a_finished_run_counts_no_tokens_again(tmp_path, monkeypatch):
    """Only code of the same commit may have stored the counts."""
    counts = Mock(wraps=results.estimates)
    monkeypatch.setattr(results, "estimates", counts)
    for commit, n_counts in (("a", 1), ("a", 1), ("b", 2)):
        monkeypatch.setattr(results, "commit", lambda commit=commit: commit)
        assert execute(cell(tmp_path), Progress(quiet=True))["estimate"]
        assert counts.call_count == n_counts


@pytest.mark.slow
def test_preparation_enters_few_folders_and_makes_objects_once(home, monkeypatch):
    measures.run(home)
    shutil.rmtree(home / "runs")
    made = Mock(wraps=RunSettings.model_validate)
    monkeypatch.setattr(RunSettings, "model_validate", made)
    with (
        patch.object(Method, "__init__", autospec=True, side_effect=Method.__init__) as methods,
        patch.object(Models, "__init__", autospec=True, side_effect=Models.__init__) as every,
    ):
        files = measures.files_of(lambda: measures.run(home), measures.FIRST_STEP)
    folders = {"/".join(file.split("/")[:2]) if file.count("/") > 1 else "" for file in files}
    assert len(folders) <= 12, folders
    assert [one.call_count for one in (made, methods, every)] == [1, 1, 1]


@pytest.mark.usefixtures("home")
def test_long_texts_are_reported_by_plan_run_and_metrics(fake):
    own = ("model=fake", "dimension=8", f"base_url={fake.scenario()}", "api_key_env=null",
           "window=15", "tokenizer=cl100k")  # fmt: skip
    words = [*TOY, "embedder=openai_compatible", *(f"embedder.{one}" for one in own)]
    words += ["method=vanilla", "reference_rows=off", "limit=2"]
    longer = "chunks are longer than the window of 15 tokens"
    assert "overlapping windows" in plan_of(*words) and longer not in plan_of(*words)
    ended = run_command(*words)
    assert longer in ended.err.splitlines()[0] and longer in plan_of(*words)
    (row,) = metrics(ended.folder)["long_texts"]
    assert row["what"] == "chunks" and row["n_long"] and row["long_texts"] == "windows"
    again = run_command(*words)
    assert metrics(again.folder)["long_texts"] == [row] and longer not in again.err
