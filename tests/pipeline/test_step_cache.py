"""Kept steps: the same rows as without, nothing computed twice, and only what a change reaches."""

from collections import OrderedDict
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pytest
from toy_runs import TAGGER

import graphrag_bench as gb
from graphrag_bench.pipeline.step_cache import Results, value_digest
from graphrag_bench.run.execute import Retrieved, execute, retrieved
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.record import record
from graphrag_bench.values import Chunk, ChunkScores, Node, NodeScores, Ranked, Subgraph
from graphrag_bench.values import Path as Walk

SETTINGS = {"embedder": "hashing", "nlp": TAGGER, "llm": "scripted", "answer": "off"}
FIELDS = ("documents", "context", "trace", "fallbacks", "status")


def experiment(home: Path, method: str, **changes: Any) -> Experiment:
    toy, settings = gb.dataset("toy"), SETTINGS
    return gb.method(method, **changes).experiment(toy, **settings, paths={"home": str(home)})


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


def rows(result: Retrieved) -> list[dict[str, Any]]:
    base = [record(one, result.resources[None]["chunk_table"]) for one in result.finished]
    return [{name: row.get(name) for name in FIELDS} for row in base]


@pytest.mark.parametrize("method", ["bm25", "hipporag", "pathrag"])
def test_a_method_without_a_model_gives_the_rows_of_a_run_and_computes_them_once(
    home: Path, method: str
) -> None:
    results: Results = OrderedDict()
    prepared = experiment(home, method)
    questions = prepared.dataset.questions
    stored_rows = execute(prepared).folder.rows()
    stored = [{name: stored_rows[one.id].get(name) for name in FIELDS} for one in questions]
    first, again = (retrieved(prepared, questions, results) for _ in range(2))
    assert rows(first) == stored
    assert rows(again) == stored
    assert not any(again.computed.values()), again.computed
    assert sum(again.reused.values()) == sum(first.reused.values()) + sum(first.computed.values())


def test_only_what_a_change_reaches_is_computed_and_methods_share_first_steps(home: Path) -> None:
    results: Results = OrderedDict()
    base = experiment(home, "hipporag")
    n = len(base.dataset.questions)
    retrieved(base, base.dataset.questions, results)
    changed = experiment(home, "hipporag", damping=0.85)
    result = retrieved(changed, base.dataset.questions, results)
    computed = {label.rpartition(" ")[2] for label, count in result.computed.items() if count}
    assert "node.ppr" in computed
    assert computed <= {"node.ppr", "relationship.aggregator", "chunk.aggregator", "context.chunks"}
    assert result.reused["retrieve.0 node.link"] == n
    assert rows(result) == rows(retrieved(changed, base.dataset.questions))
    other = retrieved(experiment(home, "linearrag"), base.dataset.questions, results)
    assert other.reused["convert.0 question.entities.nlp"] == n
    assert other.computed["convert.0 question.entities.nlp"] == 0


def test_equal_values_have_equal_digests_and_others_have_not(tmp_path: Path) -> None:
    one = Ranked[Chunk]([1], [0.5])
    assert value_digest(one) == value_digest(Ranked[Chunk](np.array([1]), [0.5]))
    values: list[Any] = [
        one, Ranked[Chunk]([1], [0.25]), Ranked[Node].empty(),
        NodeScores([1.0]), ChunkScores([1.0]),
        ChunkScores.sparse(np.array([3]), np.array([0.1]), 9), Subgraph((1,)), None, "None",
        Subgraph((1,), (0,), (Walk((1, 2), (0,), 0.5),)), (1,), [1], 1, 1.0, True, frozenset({"a"}),
    ]  # fmt: skip
    assert len({value_digest(value) for value in values}) == len(values)
    array, walk = np.arange(6.0).reshape(2, 3), Walk((1000, 2000), (0,))
    np.save(tmp_path / "array.npy", array)
    mapped = np.load(tmp_path / "array.npy", mmap_mode="r")
    assert value_digest(array) == value_digest(mapped) == value_digest(np.asfortranarray(array))
    assert value_digest(NodeScores(array[:, 0])) == value_digest(NodeScores([0.0, 3.0]))
    assert value_digest((walk, walk)) == value_digest((walk, replace(walk, nodes=(1000, 2000))))
    cycle: list[Any] = []
    cycle.append(cycle)
    for value in (lambda: 0, {"a": Lock()}, cycle):
        with pytest.raises(TypeError):
            value_digest(value)
