"""The plan of a sweep sums what is left to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_runs import TOY, command, ran

HIPPORAG = [*TOY, "method=hipporag", "method.conversion=llm", "reference_rows=off"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def left(*more: str) -> list[int]:
    """The calls that the plan says are left: for artifacts, for questions, and all."""
    planned = command("plan", "-m", *HIPPORAG, "method.damping=0.2,0.4,0.2", *more)
    assert planned.code == 0, planned.err
    table = planned.out.rpartition("left to do in 2 runs")[2].splitlines()[1:4]
    return [int(line[44:].split()[0].replace(",", "")) for line in table]


def test_an_artifact_of_several_cells_counts_once_and_so_does_a_cell_given_twice() -> None:
    # two calls for each of eight passages; for each of six questions one for names, one to answer
    assert left("build.extraction=llm") == [16, 2 * 6 * 2, 40]


def test_what_is_done_is_not_counted_again() -> None:
    ran(*HIPPORAG, "method.damping=0.2")
    assert left() == [0, 6 * 2, 12]
