"""Every study in configs/experiment says how it is run, and each of its cells is another run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from toy_runs import WEIGHTLESS, command

from graphrag_bench.config.sources import names
from graphrag_bench.locations import project_folder

pytestmark = pytest.mark.slow

OLDER = {"retrieval_only", "world_noise"}
STUDIES = [name for name in names("experiment") if name not in OLDER]
EXPECTED = {
    "pathrag_order": [10, 10, 3, 10],
    "pathrag_flat": [2, 9],
    "pathrag_sizes": [6, 6, 2],
    "pathrag_flow": [5, 6, 6, 3],
    "edge_sparsity": [18, 36, 42],
    "pathcorag_paths": [2],
    "pathcorag_steps": [12],
    "pathcorag_sizes": [5, 5, 5],
    "pankrag_parts": [2, 2],
    "pankrag_alpha": [6, 6],
    "context_budgets": [6],
    "pooling_search": [6, 2],
    "pooling_type": [4, 10, 4],
    "pooling_order": [6],
    "pooling_sizes": [5, 4, 5],
}
"""The cells of each command of a study."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def header(name: str) -> str:
    text = (project_folder("configs") / "experiment" / f"{name}.yaml").read_text(encoding="utf-8")
    return "\n".join(line[2:] for line in text.splitlines() if line.startswith("# "))


def commands(name: str) -> list[list[str]]:
    """The words of every command under `Run:`, after the program's name."""
    text = header(name).partition("Run:")[2].replace("\\\n", " ")
    return [shlex.split(line)[1:] for line in text.splitlines() if "graphrag-bench" in line]


@pytest.mark.parametrize("name", names("experiment"))
def test_a_study_says_what_it_asks_what_to_expect_and_how_to_run_it(name: str) -> None:
    kept = [word for word in ("Question", "Cost", "Run") if f"{word}:" in header(name)]
    assert kept == ["Question", "Cost", "Run"]
    if name in STUDIES:
        assert "Expected:" in header(name)
        assert re.search(rf"experiment={name}\b", header(name))


def test_the_studies_are_those_counted_here() -> None:
    assert set(EXPECTED) <= set(STUDIES)


@pytest.mark.parametrize(
    ("name", "number"), [(name, n) for name, held in EXPECTED.items() for n in range(len(held))]
)
def test_every_command_of_a_study_is_planned_and_every_cell_is_another_run(
    name: str, number: int
) -> None:
    given = commands(name)
    assert len(given) == len(EXPECTED[name])
    verb, *words = given[number]
    assert verb == "run"
    small = [word for word in words if not word.startswith("dataset=")]
    planned = command("plan", *small, "dataset=toy", *WEIGHTLESS)
    assert planned.code == 0, planned.err
    n = EXPECTED[name][number]
    assert planned.out.splitlines()[-1] == f"cells: {n}, different runs: {n}, same: 0"
