"""executor=ray where Ray is not installed: one error that says what to install."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_runs import TOY, refused

from graphrag_bench.executors import on_ray


def test_a_run_on_ray_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(on_ray, "find_spec", lambda name: None)
    said = refused(*TOY, "method=vanilla", "answer=off", "executor=ray")
    assert "executor=ray needs Ray: pip install 'graphrag-bench[ray]'." in said


def test_another_executor_is_refused_with_those_there_are() -> None:
    said = refused(*TOY, "method=bm25", "executor=dask")
    assert "executor='dask': Input should be 'local' or 'ray'" in said
