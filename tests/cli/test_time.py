"""`graphrag-bench time`: questions of a stored run once more, one at a time and uncached."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from toy_runs import TOY, Ended, ada_marsh, asked, command, ran, records, refused

from graphrag_bench.cli import time as timing
from graphrag_bench.models.llm import Chat
from graphrag_bench.models.outcomes import CallFailed
from graphrag_bench.models.scripted import Scripted

pytestmark = pytest.mark.slow

PAUSE = 0.02
SLOW = [*TOY, f"llm._target_={__name__}.slow", "reference_rows=off"]
under_way: list[int] = [0, 0]
"""Calls that wait for a reply now, and the most that did at once."""
_counted = threading.Lock()


def slow(replies: object = (), concurrency: int = 4) -> Scripted:
    """A reader that takes 20 ms for every reply, several at once; `replies` are ignored."""
    return Scripted((), _slowly, concurrency=concurrency)


def _slowly(chat: Chat) -> str | CallFailed:
    with _counted:
        under_way[0] += 1
        under_way[1] = max(under_way)
    time.sleep(PAUSE)
    with _counted:
        under_way[0] -= 1
    return ada_marsh(chat)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home on a machine that is idle."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "220")
    monkeypatch.setattr(timing, "load", lambda: 0.0)
    monkeypatch.setattr("graphrag_bench.analysis.timing.serial.load", lambda: 0.0)
    return tmp_path


def timed(*words: str) -> Ended:
    ended = command("time", *words)
    assert ended.code == 0, ended.err
    return ended


def held(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "timing_serial.json").read_text()))


def test_questions_are_asked_again_although_their_replies_are_cached() -> None:
    folder = ran(*SLOW, "method=vanilla").folder
    asked.clear()
    timed(str(folder), "n=3", "warm_up=2")
    assert len(asked) == 5
    found = held(folder)
    assert (found["n"], found["warm_up"], found["failed"]) == (3, 2, 0)
    assert found["seconds"]["p50"] >= PAUSE and found["seconds"]["most"] < 2.0
    assert found["steps"]["generate.1 answer.direct"]["p50"] >= PAUSE
    assert len(found["questions"]) == 3


def test_warm_up_takes_questions_that_are_not_timed_as_long_as_there_are_some() -> None:
    folder = ran(*SLOW, "method=vanilla").folder
    asked.clear()
    timed(str(folder), "n=5")
    assert len(set(asked)) == 6
    asked.clear()
    timed(str(folder), "--n", "20")
    assert (len(asked), len(set(asked))) == (7, 6)
    assert held(folder)["n"] == 6


def test_one_call_waits_for_the_other_even_where_a_step_asks_for_several() -> None:
    """KGP asks for the next evidence of ten passages at once; the run had several under way."""
    under_way[1] = 0
    folder = ran(*SLOW, "method=kgp", "limit=2", "cache.mode=off").folder
    assert under_way[1] > 1
    under_way[1] = 0
    timed(str(folder), "n=1")
    assert under_way[1] == 1


def test_the_stored_rows_and_the_cost_of_the_run_stay_as_they_are() -> None:
    folder = ran(*SLOW, "method=vanilla").folder
    before = records(folder), (folder / "ledger.jsonl").read_bytes()
    timed(str(folder), "n=2")
    assert (records(folder), (folder / "ledger.jsonl").read_bytes()) == before
    again = ran(*SLOW, "method=vanilla").folder
    assert again == folder
    metrics = json.loads((folder / "metrics.json").read_text())
    assert metrics["cost"]["total"]["paid"]["calls"] == 6
    assert "timing_serial" not in metrics


def test_a_table_has_no_seconds_before_and_these_after() -> None:
    settings = [*SLOW, "method=vanilla"]
    first = ran(*settings, "--columns", "all")
    assert "s p50 / p95" not in first.out
    timed(str(first.folder), "n=2")
    seconds = held(first.folder)["seconds"]
    again = ran(*settings, "--columns", "all").out
    assert "s p50 / p95" in again
    assert f"{seconds['p50']:.2f} / {seconds['p95']:.2f}" in again


def test_what_the_seconds_were_measured_on_is_written_down() -> None:
    folder = ran(*SLOW, "method=vanilla").folder
    timed(str(folder), "n=1")
    found = held(folder)
    assert found["hardware"]["cores"] >= found["hardware"]["cores_allowed"] >= 1
    assert {"processor", "memory_gib", "threads"} <= set(found["hardware"])
    assert found["environment"]["packages"]["numpy"]
    assert "Hyndman" in found["percentiles"]


def test_a_busy_machine_is_refused_and_marked_when_one_insists(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = ran(*SLOW, "method=vanilla").folder
    monkeypatch.setattr(timing, "load", lambda: 99.0)
    monkeypatch.setattr("graphrag_bench.analysis.timing.serial.load", lambda: 99.0)
    assert "busy" in refused(str(folder), name="time")
    assert not (folder / "timing_serial.json").exists()
    assert "marked" in timed(str(folder), "n=1", "--busy").out
    assert held(folder)["busy"] is True
    seconds = held(folder)["seconds"]
    shown = f"{seconds['p50']:.2f} / {seconds['p95']:.2f}!"
    assert shown in ran(*SLOW, "method=vanilla", "--columns", "all").out.replace(" !", "!")


def test_calls_and_cost_are_said_first_and_a_budget_is_kept() -> None:
    folder = ran(*SLOW, "method=vanilla").folder
    assert "about 4 LLM calls" in timed(str(folder), "n=3").out
    (folder / "timing_serial.json").unlink()
    asked.clear()
    assert "budget.tokens=10" in refused(str(folder), "budget.tokens=10", name="time")
    assert asked == [] and not (folder / "timing_serial.json").exists()


def test_the_budget_of_a_timing_is_its_own() -> None:
    """What the run has spent does not count, so the run's own budget is enough once more."""
    folder = ran(*SLOW, "method=vanilla", "budget.tokens=3000").folder
    for _ in range(3):
        timed(str(folder), "n=3")
    assert 0 < held(folder)["spent"]["tokens"] < 3000


def test_a_run_without_answers_is_timed_up_to_its_context() -> None:
    folder = ran(*SLOW, "method=vanilla", "answer=off").folder
    asked.clear()
    timed(str(folder))
    assert asked == []
    assert set(held(folder)["steps"]) == {"retrieve.0 chunk.vdb", "generate.0 context.chunks"}


def test_what_cannot_be_timed_is_refused_with_a_reason(home: Path) -> None:
    folder = ran(*SLOW, "method=vanilla").folder
    assert "n" in refused(str(folder), "m=3", name="time")
    assert "whole number" in refused(str(folder), "n=0", name="time")
    assert "No run '" in refused("abc", name="time")
    (index,) = (home / "artifacts" / "toy" / "chunk_index").glob("*/recipe.json")
    kept = index.read_bytes()
    index.unlink()
    assert "recipe.json is missing" in refused(str(folder), name="time")
    index.write_bytes(kept)
    other = folder.rename(folder.with_name("0" * 12))
    assert "have changed since" in refused(str(other), name="time")
