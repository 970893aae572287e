"""Kept steps: the same rows as without, nothing computed twice, and only what a change reaches."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from toy_runs import TAGGER

import graphrag_bench as gb
from graphrag_bench.config.sources import names
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.execute import execute
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.stored_steps import Retrieved, retrieved
from graphrag_bench.pipeline.kept_steps import Results
from graphrag_bench.runs.record import record

SETTINGS = {"embedder": "hashing", "nlp": TAGGER, "llm": "scripted", "answer": "off"}
BUILT = {"gfmrag": {"build": {"gnn_weights": {"world_size": 12, "questions": 6, "epochs": 1}}}}
"""Settings of a method that trains something for longer than a test may take."""
TOLD = ("documents", "context", "trace", "fallbacks", "status")


def experiment(home: Path, method: str, **changes: Any) -> Experiment:
    toy, settings = gb.dataset("toy"), {**SETTINGS, **BUILT.get(method, {})}
    return gb.method(method, **changes).experiment(toy, **settings, paths={"home": str(home)})


def llm_free(home: Path) -> Iterator[str]:
    for name in sorted(names("method")):
        try:
            made = experiment(home, name)
        except UserError:
            continue
        early = (*made.method.pipeline.convert, *made.method.pipeline.retrieve)
        if not any(step.bound() for step in early) and not any(
            item.builder.calls for item in made.plan
        ):
            yield name


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


def rows(found: Retrieved) -> list[dict[str, Any]]:
    made = [record(one, found.resources[None]["chunk_table"]) for one in found.finished]
    return [{name: row.get(name) for name in TOLD} for row in made]


def test_every_method_without_a_model_gives_the_rows_of_a_run_and_computes_them_once(
    home: Path,
) -> None:
    results: Results = OrderedDict()
    found = list(llm_free(home))
    assert len(found) > 12, found
    for method in found:
        made = experiment(home, method)
        questions = made.dataset.questions
        stored = [
            {name: row.get(name) for name in TOLD}
            for question in questions
            if (row := execute(made).folder.rows()[question.id])
        ]
        first, again = (retrieved(made, questions, results) for _ in range(2))
        assert rows(first) == stored, method
        assert rows(again) == stored, method
        assert not any(again.computed.values()), (method, again.computed)
        assert sum(again.taken.values()) == sum(first.taken.values()) + sum(first.computed.values())


def test_after_a_change_only_what_it_reaches_is_computed(home: Path) -> None:
    results: Results = OrderedDict()
    made = experiment(home, "hipporag")
    n = len(made.dataset.questions)
    retrieved(made, made.dataset.questions, results)
    changed = experiment(home, "hipporag", damping=0.85)
    found = retrieved(changed, made.dataset.questions, results)
    computed = {label.rpartition(" ")[2] for label, count in found.computed.items() if count}
    assert "node.ppr" in computed
    assert computed <= {"node.ppr", "relationship.aggregator", "chunk.aggregator", "context.chunks"}
    assert found.taken["retrieve.0 node.link"] == n
    assert rows(found) == rows(retrieved(changed, made.dataset.questions))


def test_pipelines_that_begin_alike_share_their_steps(home: Path) -> None:
    results: Results = OrderedDict()
    hippo, linear = experiment(home, "hipporag"), experiment(home, "linearrag")
    questions = hippo.dataset.questions
    retrieved(hippo, questions, results)
    found = retrieved(linear, questions, results)
    assert found.taken["convert.0 question.entities.nlp"] == len(questions)
    assert found.computed["convert.0 question.entities.nlp"] == 0
