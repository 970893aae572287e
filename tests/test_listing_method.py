"""A planted method that answers with every entity: it wins containment, and the metrics say so."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_runs import TAGGER

import graphrag_bench as gb
from graphrag_bench.contract import operator
from graphrag_bench.graph.graph import Graph
from graphrag_bench.runs.scoring import containment_flag
from graphrag_bench.values import Answer, Context, Question

SETTINGS = {"embedder": "hashing", "llm": "world_reader", "nlp": TAGGER}


@pytest.fixture
def means(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_registries: None):
    """The metrics of the lister and of two honest methods on one world."""
    monkeypatch.chdir(tmp_path)

    @operator("answer.every_entity")
    def every_entity(question: Question, context: Context, *, graph: Graph) -> Answer:
        """The names of all nodes, whatever is asked."""
        return Answer(", ".join(graph.names))

    world = gb.dataset("world", size=60, n_questions=24)
    vanilla = gb.pipeline("vanilla", **SETTINGS)
    lister = gb.pipeline("vanilla", **SETTINGS).renamed("lister")
    lister.method["build"] = {"graph": "kg", "extraction": "planted"}
    lister.steps[-1] = {"op": "answer.every_entity"}
    pipelines = {
        "lister": lister,
        "vanilla": vanilla,
        "oracle": gb.pipeline("oracle", **SETTINGS),
    }
    return {name: one.run(world).metrics for name, one in pipelines.items()}


def test_the_lister_wins_containment_loses_everything_else_and_is_flagged_alone(means) -> None:
    def mean(run: str, metric: str) -> float:
        return means[run]["metrics"][metric]["mean"]

    assert mean("lister", "accuracy") == mean("lister", "recall") == 1.0
    assert mean("lister", "accuracy") > mean("vanilla", "accuracy")
    assert mean("lister", "f1") < 0.1 and mean("lister", "exact_match") == 0.0
    assert mean("lister", "answer_words") > 60 > 4 > mean("oracle", "answer_words")
    assert mean("vanilla", "abstained") > 0 == mean("lister", "abstained")
    assert "accuracy counts a gold answer anywhere" in containment_flag(means["lister"])
    assert means["lister"]["flags"] == [containment_flag(means["lister"])]
    assert means["oracle"]["flags"] == means["vanilla"]["flags"] == []
    assert mean("oracle", "accuracy") == 1.0
