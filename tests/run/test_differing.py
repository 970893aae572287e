"""Settings that differ between stored runs, and become columns."""

from pathlib import Path
from typing import Any

import pytest

from graphrag_bench.run.folder import RunFolder
from graphrag_bench.run.stored import StoredRun, differing_settings


def run(method: str = "walk", step: int = 2, evaluation: Any = None, **config: Any) -> StoredRun:
    """Return a run with these settings and one step with `top_k=step`, without a folder."""
    own = {"name": method, **config.pop("parameters", {}),
           "retrieve": [{"op": "walk", "top_k": step}]}  # fmt: skip
    stored = StoredRun(RunFolder(Path("runs", "toy", method, "key")))
    stored.__dict__["config"] = {
        "dataset": {"name": "toy", "root": None}, "method": own, "llm": {"_target_": "a.B"},
        "build": {}, "pooling": None, "limit": None, **config,
    }  # fmt: skip
    steps = {"method.retrieve.0.op": "walk", "method.retrieve.0.top_k": step}
    stored.__dict__["metrics"] = {
        "dataset": "toy", "method": method, "llm": "b:1", "settings": steps,
        "evaluation": evaluation or {"cuts": [2, 5]},
    }  # fmt: skip
    return stored


def columns(*runs: StoredRun) -> dict[str, list[object]]:
    rows = differing_settings(runs)
    return {path: [row[path] for row in rows] for path in rows[0]} if rows else {}


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([], {}),
        ([run(seed=1), run(seed=1.0)], {}),
        ([run(limit=20), run()], {"limit": [20, None]}),
        ([run(build={"graph": {"drop": 0.5}}), run()], {"build.graph.drop": [0.5, None]}),
        ([run(), run(pooling={"search": "bfs"})], {"pooling.search": [None, "bfs"]}),
        ([run(dataset={"name": "a", "noise": 0.1}), run()], {"dataset.noise": [0.1, None]}),
        ([run(), run(evaluation={"cuts": [5]})], {"evaluation.cuts": ["[2,5]", "[5]"]}),
        ([run(llm={"_target_": "a.B", "model": "m"}), run()], {"llm.model": ["m", None]}),
        # what changes no result
        ([run(workers=4, cache={"mode": "write"}, parallel="local"),
          run(workers=8, cache={"mode": "off"}, parallel="ray", trace="off", objective="f1",
              dataset={"name": "toy", "root": "elsewhere"},
              llm={"_target_": "c.D", "base_url": "http://host", "limits": {"concurrency": 2}})],
         {}),
    ],
)  # fmt: skip
def test_differing_setting_is_a_column(
    runs: list[StoredRun], expected: dict[str, list[object]]
) -> None:
    assert columns(*runs) == expected


def test_parameter_is_compared_between_methods_that_have_it() -> None:
    slow, fast = (run(parameters={"damping": value}) for value in (0.1, 0.5))
    assert columns(slow, run("words")) == {}
    assert columns(slow, run("words"), fast) == {"method.damping": [0.1, None, 0.5]}


def test_step_setting_is_a_column_unless_a_parameter_explains_it() -> None:
    path = "method.retrieve.0.top_k"
    assert columns(run(step=2), run(step=4)) == {path: [2, 4]}
    named = [run(step=size, parameters={"top_k": size}) for size in (2, 4)]
    assert columns(*named) == {"method.top_k": [2, 4]}
    assert columns(*named, run(step=8, parameters={"top_k": 4}))[path] == [2, 4, 8]
    assert columns(run(step=2), run("words", step=4)) == {}


def test_imported_run_does_not_differ_in_unknown_settings() -> None:
    other = run("imported-x", imported={"file": "results"})
    for name in ("llm", "build", "pooling", "limit"):
        del other.config[name]  # type: ignore[attr-defined]
    other.metrics["llm"] = ""  # type: ignore[index]
    other.metrics["settings"] = {"imported.file": "results"}  # type: ignore[index]
    assert columns(other, run(limit=20)) == {}
    assert columns(other, run(limit=20), run()) == {"limit": [None, 20, None]}
