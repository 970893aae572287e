"""A sweep that is killed, or shared by processes, ends in the table of one that was left alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fake_openai import FakeOpenAI
from toy_runs import Ended

from cli.killing import (
    CONCURRENCY,
    ended,
    finished,
    kill,
    served,
    started,
    tiny_set,
    wait_for_calls,
)

pytestmark = pytest.mark.slow

N_CELLS, N_QUESTIONS = 10, 4
N_CALLS = N_CELLS * N_QUESTIONS
"""An answer for each cell and question; no two prompts are alike, as each has more passages."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_set(tmp_path_factory.mktemp("sets") / "towns", n_questions=N_QUESTIONS)


def sweep(root: Path, home: Path, url: str) -> list[str]:
    """What stands behind `run`: ten cells of VanillaRAG."""
    sizes = ",".join(str(number) for number in range(1, N_CELLS + 1))
    return ["-m", "dataset=jsonl", f"dataset.root={root}", "method=vanilla", "embedder=hashing",
            "reference_rows=off", f"method.top_k={sizes}", f"method.n_retrieved={N_CELLS}",
            f"paths.home={home}",
            *served(url)]  # fmt: skip


def done(home: Path) -> set[int]:
    """The numbers of the cells that one of the processes has done."""
    cells = [json.loads(path.read_text()) for path in home.glob("multirun/*/*/*/cell.json")]
    return {cell["number"] for cell in cells if cell["status"] == "done"}


def table(end: Ended) -> bytes:
    return (end.folder / "table.md").read_bytes()


@pytest.fixture(scope="module")
def undisturbed(fake: FakeOpenAI, root: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The table of a sweep that nothing has disturbed."""
    url = fake.scenario(reads=True)
    end = finished(sweep(root, tmp_path_factory.mktemp("undisturbed"), url))
    assert (len(end.folders), fake.stats(url).answered.total()) == (N_CELLS, N_CALLS)
    return table(end)


def test_a_sweep_killed_in_the_middle_and_gone_on_with_by_two_processes_ends_in_the_same_table(
    fake: FakeOpenAI, root: Path, tmp_path: Path, undisturbed: bytes
) -> None:
    url = fake.scenario(reads=True, latency=0.02)
    words = sweep(root, tmp_path, url)
    process = started(words)
    wait_for_calls(fake, url, N_CALLS // 2, process)
    assert process.poll() is None
    kill(process)
    n_done = len(done(tmp_path))
    assert 3 <= n_done < N_CELLS
    assert done(tmp_path) == set(range(n_done))
    ends = [ended(process) for process in [started(words) for _ in range(2)]]
    for end in ends:
        assert end.code == 0, end.err
        assert table(end) == undisturbed
    assert done(tmp_path) == set(range(N_CELLS))
    answered = fake.stats(url).answered
    assert len(answered) == N_CALLS
    assert answered.total() <= N_CALLS + CONCURRENCY
