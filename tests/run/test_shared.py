"""The cache that the runs of a process share."""

import shutil
from collections import Counter
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from toy_runs import WEIGHTLESS

from graphrag_bench.config.compose import compose_settings
from graphrag_bench.llm.ledger import Ledger, LedgerLine, read_ledger
from graphrag_bench.progress import Progress
from graphrag_bench.run import models, results
from graphrag_bench.run.execute import RunResult, _charge, execute
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.models import ProcessCache

CELLS = ("method.damping=0.2", "method.damping=0.7")


def cell(home: Path, *settings: str, of: ProcessCache | None = None) -> Experiment:
    words = ["dataset=toy", *WEIGHTLESS, "method=hipporag", "limit=2", f"paths.home={home}"]
    return Experiment.prepare(compose_settings([*words, *settings]), swept=True, shared=of)


def calls(run: RunResult) -> list[tuple[str, str]]:
    return sorted((line.step, line.item) for line in read_ledger(run.folder.file("ledger")))


def test_second_cell_reuses_models_and_artifacts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, loads = (Mock(wraps=one) for one in (models.make_model, models.load_artifact))
    monkeypatch.setattr(models, "make_model", made)
    monkeypatch.setattr(models, "load_artifact", loads)
    common = ProcessCache()
    _, second = (execute(cell(tmp_path, one, of=common), Progress(quiet=True)) for one in CELLS)
    names = [one.args[0] for one in made.mock_calls]
    names += [one.args[1].parent.name for one in loads.mock_calls]
    assert {"llm", "embedder", "nlp", "graph", "chunk_table"} <= set(names)
    assert len(set(names)) == len(names)
    alone = execute(cell(tmp_path / "alone", CELLS[1]), Progress(quiet=True))
    files = [run.folder.file("records").read_bytes() for run in (second, alone)]
    assert files[0] == files[1] and files[0].count(b"\n") == 2
    assert calls(second) == calls(alone)
    own, other = (cell(tmp_path, one, "budget.tokens=99", of=common).models for one in CELLS)
    assert own.unwrapped("llm") is other.unwrapped("llm") and own.replies is other.replies
    assert own.budget is not other.budget and own.ledger is not other.ledger
    common.close()


def test_least_recently_used_entry_is_closed() -> None:
    closed: list[str] = []
    each = {name: SimpleNamespace(close=partial(closed.append, name)) for name in "abc"}
    common = ProcessCache()
    for name in "abac":
        assert common.get_or_make("llm", name, partial(each.get, name)) is each[name]
    assert closed == ["b"]
    common.close()
    assert closed == ["b", "a", "c"]


def test_artifact_cache_is_bounded_and_reloads_rebuilt_artifacts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = Mock(side_effect=lambda _, folder: (folder / "text").read_text())

    def load(name: str, text: str = "") -> str:
        folder = tmp_path / name
        if text:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            (folder / "text").write_text(text)
            (folder / "recipe.json").write_text("{}")
        return str(common.load(str, folder))

    monkeypatch.setattr(models, "load_artifact", loads)
    common = ProcessCache()
    for text in ("one", "another"):
        assert [load("graph", text), load("graph")] == [text, text]
    for number in range(64):
        load(str(number), "one")
    load("0")
    load("graph")
    n_loads = Counter(one.args[1].name for one in loads.mock_calls)
    assert (n_loads["0"], n_loads["graph"]) == (1, 3)


@pytest.mark.parametrize("setting", ["repeats=1", "repeats=2", "shard=1/2"])
def test_each_ledger_counts_once(tmp_path: Path, setting: str) -> None:
    """Ledgers of the run, its repeats and its shards."""
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


def test_a_finished_run_counts_no_tokens_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only code of the same commit may have stored the counts."""
    monkeypatch.setattr(results, "commit", lambda: "a")
    first = execute(cell(tmp_path), Progress(quiet=True)).metrics
    estimates, fits = Mock(wraps=results.estimates), Mock(wraps=results.holds_corpus)
    monkeypatch.setattr(results, "estimates", estimates)
    monkeypatch.setattr(results, "holds_corpus", fits)
    assert execute(cell(tmp_path), Progress(quiet=True)).metrics["estimate"] == first["estimate"]
    assert not estimates.called and not fits.called
    monkeypatch.setattr(results, "commit", lambda: "b")
    execute(cell(tmp_path), Progress(quiet=True))
    assert estimates.called and fits.called
