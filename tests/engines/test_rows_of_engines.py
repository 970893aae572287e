"""A released engine as a row: here a small one of our own, in a process, behind the same pipe."""

from __future__ import annotations

import json
from pathlib import Path

import fake_engine
import pytest
from toy_runs import command, metrics, ran, records, refused

FAKE = [
    "dataset=toy", "method=original", "engine._target_=fake_engine.engine", "embedder=hashing",
    "llm=scripted", "llm._target_=fake_engine.reader", "reference_rows=off",
]  # fmt: skip


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    fake_engine.asked.clear()
    return tmp_path


def test_equal_retrieves_our_chunks_and_our_reader_answers_from_its_context() -> None:
    ended = ran(*FAKE)
    held = metrics(ended.folder)
    assert (held["n"], held["failed"], held["answered"]) == (6, 0, 6)
    assert held["title"] == "fake 0.1 (equal)"
    first = records(ended.folder)[0]
    assert first["documents"]
    assert first["answer"] == "Ada Marsh"
