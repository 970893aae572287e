"""What the runs of one process share: made once, closed when displaced, never what a run spends."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from toy_runs import WEIGHTLESS, records

from graphrag_bench.config.compose import composed
from graphrag_bench.experiment import models, shared
from graphrag_bench.experiment.execute import RunResult, execute
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.shared import Shared
from graphrag_bench.models.ledger import read_ledger
from graphrag_bench.progress import Progress

CELLS = ("method.damping=0.2", "method.damping=0.7")


def cell(home: Path, *settings: str, of: Shared | None = None) -> Experiment:
    words = ["dataset=toy", *WEIGHTLESS, "method=hipporag", "limit=2", f"paths.home={home}"]
    return Experiment.prepare(composed([*words, *settings]), swept=True, shared=of)


def calls(run: RunResult) -> list[tuple[str, str]]:
    return sorted((line.step, line.item) for line in read_ledger(run.folder.file("ledger")))


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each model was made and each artifact loaded."""
    counted: Counter[str] = Counter()
    make, loaded = models.make, shared.loaded

    def make_counted(group: str, config: dict[str, Any]) -> Any:
        counted[group] += 1
        return make(group, config)

    def load_counted(produces: Any, folder: Path) -> Any:
        counted[folder.parent.name] += 1
        return loaded(produces, folder)

    monkeypatch.setattr(models, "make", make_counted)
    monkeypatch.setattr(shared, "loaded", load_counted)
    return counted


def test_the_second_cell_makes_no_model_and_loads_no_graph(
    tmp_path: Path, made: Counter[str]
) -> None:
    common = Shared()
    first, second = (
        execute(cell(tmp_path / "swept", setting, of=common), Progress(quiet=True))
        for setting in CELLS
    )
    assert {"llm", "embedder", "nlp", "graph", "chunk_table"} <= set(made)
    assert set(made.values()) == {1}
    assert first.experiment.dataset is second.experiment.dataset
    alone = execute(cell(tmp_path / "alone", CELLS[1]), Progress(quiet=True))
    files = [one.folder.path / "records.jsonl" for one in (second, alone)]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert calls(second) == calls(alone)
    assert len(records(second.folder.path)) == 2
    common.close()


def test_a_budget_is_the_run_s_own(tmp_path: Path) -> None:
    common = Shared()
    first, second = (cell(tmp_path, one, "budget.tokens=99", of=common).models for one in CELLS)
    assert first.bare("llm") is second.bare("llm")
    assert first.replies is second.replies
    assert first.budget is not second.budget
    assert first.ledger is not second.ledger
    common.close()


def test_what_was_used_longest_ago_is_closed() -> None:
    closed = []

    class Model:
        def __init__(self, name: str) -> None:
            self.name = name

        def close(self) -> None:
            closed.append(self.name)

    common = Shared()
    for name in "abac":
        assert common.once("llm", name, lambda name=name: Model(name)).name == name
    assert closed == ["b"]
    common.close()
    assert closed == ["b", "a", "c"]


def test_artifacts_are_bounded_and_loaded_again_once_their_files_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Kind:
        @staticmethod
        def load(folder: Path) -> str:
            return (folder / "text").read_text()

    monkeypatch.setattr(shared, "loaded", lambda kind, folder: kind.load(folder))
    common = Shared()
    file = tmp_path / "graph" / "text"
    file.parent.mkdir()
    file.write_text("one")
    once = common.load(Kind, file.parent)
    assert common.load(Kind, file.parent) is once
    file.write_text("another")
    assert common.load(Kind, file.parent) == "another"
    for number in range(200):
        common.load(Kind, _folder(tmp_path / str(number)))
    assert len(common._artifacts._weighed) == shared.MOST_BYTES // shared.LEAST_BYTES


def _folder(path: Path) -> Path:
    path.mkdir()
    (path / "text").write_text("text")
    return path
