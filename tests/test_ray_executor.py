"""executor=ray: the bytes of a local run, whatever becomes of the workers."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from dying_models import MARK, PARENT, always_dying, refusing_seven, squared_but_dying_at_seven
from toy_runs import command

from graphrag_bench.errors import UserError
from graphrag_bench.executors.executor import BLOCKS_AHEAD
from graphrag_bench.executors.on_ray import OnRay

ray = pytest.importorskip("ray")
RAY = ["executor=ray", "ray.workers=2"]
WORLD = [
    "dataset=world", "dataset.size=520", "dataset.n_questions=150", "method=hipporag", "answer=10",
    "reference_rows=off", "build.extraction=nlp", "llm=scripted", "llm._target_=toy_runs.reader",
]  # fmt: skip
PLAIN = ["nlp._target_=toy_runs.Capitals", "embedder=hashing"]
DYING = ["nlp._target_=dying_models.DyingTagger", "embedder=hashing",
         "embedder._target_=dying_models.DyingEmbedder"]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _marks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cluster that ends with these tests; its workers take over the environment of its start."""
    marks = tmp_path_factory.mktemp("marks")
    os.environ |= {PARENT: str(os.getpid()), MARK: str(marks)}
    yield marks
    ray.shutdown()
    del os.environ[PARENT], os.environ[MARK]


def contents(home: Path) -> dict[str, object]:
    """What a run leaves that its configuration decides: rows, contexts, files of artifacts."""
    found: dict[str, object] = {}
    for path in sorted(home.glob("runs/*/*/*/*")):
        if path.name in ("records.jsonl", "contexts.jsonl", "artifacts.json"):
            found[str(path.relative_to(home))] = path.read_bytes()
    for path in sorted(home.glob("artifacts/*/*/*/manifest.json")):
        files = json.loads(path.read_text())
        found[str(path.relative_to(home))] = json.dumps(without_recipe(files), sort_keys=True)
    return found


def without_recipe(manifest: dict[str, object]) -> dict[str, object]:
    """A manifest less the hash of the recipe, which has the seconds that the build took."""
    files = manifest["files"]
    assert isinstance(files, dict)
    return {name: value for name, value in files.items() if name != "recipe.json"}


def stored(home: Path, name: str) -> int:
    """How many readings or vectors a run has stored."""
    table = {"sentences": "readings"}.get(name, name)
    with closing(sqlite3.connect(home / "cache" / f"{name}.sqlite")) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def test_a_run_on_ray_leaves_the_bytes_of_a_local_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    here = command("run", *WORLD, *PLAIN, "paths.home=here")
    there = command("run", *WORLD, *PLAIN, *RAY, "paths.home=there")
    assert (here.code, there.code) == (0, 0), there.err
    assert contents(tmp_path / "here") == contents(tmp_path / "there")
    for name in ("sentences", "vectors"):
        assert stored(tmp_path / "here", name) == stored(tmp_path / "there", name) > 500


def test_killed_workers_change_no_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, _marks: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    here = command("run", *WORLD, *DYING, "nlp_workers=1", "paths.home=here")
    there = command("run", *WORLD, *DYING, *RAY, "paths.home=there")
    assert (here.code, there.code) == (0, 0), there.err
    assert {path.name for path in _marks.iterdir()} >= {"sentences", "passages", "entities"}
    assert contents(tmp_path / "here") == contents(tmp_path / "there")


def test_results_come_in_order_and_few_blocks_are_taken_ahead() -> None:
    taken: list[int] = []
    blocks = (taken.append(number) or number for number in range(30))  # type: ignore[func-returns-value]
    results = OnRay(workers=2).map(partial(pow, 2), blocks)
    for number in range(30):
        assert next(results) == 2**number
        assert len(taken) <= number + BLOCKS_AHEAD * 2


def test_a_block_whose_worker_was_killed_is_worked_on_again(_marks: Path) -> None:
    found = list(OnRay(workers=2).map(squared_but_dying_at_seven, range(20)))
    assert found == [number * number for number in range(20)]
    assert (_marks / "seven").exists()


def test_a_block_that_kills_every_worker_is_one_clear_error() -> None:
    with pytest.raises(UserError, match="ended 3 times without a result"):
        list(OnRay(workers=2).map(always_dying, [1]))


def test_an_error_of_the_work_is_raised_as_it_is() -> None:
    results = OnRay(workers=2).map(refusing_seven, range(20))
    assert [next(results) for _ in range(7)] == list(range(7))
    with pytest.raises(UserError, match="^seven is refused$"):
        next(results)
