"""The plan of a sweep counts what is left to do, and what its runs have in common."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_runs import TOY, command, ran

HIPPORAG = [*TOY, "method=hipporag", "method.conversion=llm"]
SWEEP = ["-m", *HIPPORAG, "method.damping=0.2,0.4,0.6"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def left(*more: str) -> dict[str, list[int]]:
    """What the plan says is left, by what it is: one by one, shared, saved."""
    planned = command("plan", *SWEEP, *more)
    assert planned.code == 0, planned.err
    found = {}
    for line in planned.out.splitlines():
        name, numbers = line[:36].strip(), line[36:].split()
        if name.startswith(("artifacts to build", "LLM calls for q", "LLM calls to b")):
            found[name.partition(",")[0]] = [int(number.replace(",", "")) for number in numbers]
    return found


def test_sharing_builds_every_artifact_once_and_asks_for_names_once() -> None:
    # chunks, extraction, graph, name index and two more; two calls for each of eight passages;
    # for each of six questions at most two calls for its names, and one for its answer
    assert left("reference_rows=off", "build.extraction=llm") == {
        "artifacts to build": [18, 6, 12],
        "LLM calls to build them": [48, 16, 32],
        "LLM calls for questions": [3 * 6 * 3, 6 * (2 + 3), 24],
    }


def test_without_a_cache_no_call_is_shared() -> None:
    assert left("reference_rows=off", "cache.mode=off")["LLM calls for questions"] == [54, 54, 0]


def test_what_is_done_is_not_counted_again() -> None:
    ran(*HIPPORAG, "reference_rows=off", "method.damping=0.2")
    assert left("reference_rows=off")["artifacts to build"] == [0, 0, 0]
    assert left("reference_rows=off")["LLM calls for questions"] == [2 * 6 * 3, 6 * (2 + 2), 12]
