"""A planted method that answers with every entity: it wins containment, and the metrics say so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from toy_runs import TAGGER, command

import graphrag_bench as gb
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.contract import operator
from graphrag_bench.graph.graph import Graph
from graphrag_bench.models.scripted import Scripted
from graphrag_bench.runs.scoring import containment_flag
from graphrag_bench.values import Answer, Context, Question

SETTINGS = {"embedder": "hashing", "llm": "world_reader", "nlp": TAGGER}


@pytest.fixture(scope="module", autouse=True)
def plugins() -> None:
    """All operators are there before a test opens the registries, and stay when it is done."""
    load_plugins()


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_registries: None):
    """The runs of the lister and of two honest methods on one world."""
    monkeypatch.chdir(tmp_path)

    @operator("answer.every_entity")
    def every_entity(question: Question, context: Context, *, graph: Graph) -> Answer:
        """The names of all nodes, whatever is asked."""
        return Answer(", ".join(graph.names))

    world = gb.dataset("world", size=60, n_questions=24)
    vanilla = gb.method("vanilla", **SETTINGS)
    lister = gb.method("vanilla", **SETTINGS).renamed("lister")
    lister.method["build"] = {"graph": "kg", "extraction": "planted"}
    lister.steps[-1] = {"op": "answer.every_entity"}
    pipelines = {
        "lister": lister,
        "vanilla": vanilla,
        "oracle": gb.method("oracle", **SETTINGS),
    }
    return {name: one.run(world) for name, one in pipelines.items()}


def test_the_lister_wins_containment_loses_everything_else_and_is_flagged_alone(results) -> None:
    means = {name: one.metrics for name, one in results.items()}

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


def lenient(replies: object = None) -> Scripted:
    """A judge that finds every answer right, and in every text what it is asked for."""
    said = json.dumps({"offered": ["what it ought to be"], "agrees": True})
    return Scripted(answer=lambda chat: said)


@pytest.mark.parametrize("judge", ["planted_judges.strict", "test_listing_method.lenient"])
def test_the_lister_loses_judged_correctness_even_before_a_judge_that_likes_everything(
    results, judge: str
) -> None:
    words = ("llm_judge=scripted", f"llm_judge._target_={judge}", "--metrics", "judged_correctness")
    held = {}
    for name in ("lister", "oracle"):
        ended = command("judge", str(results[name].folder), *words)
        assert ended.code == 0, ended.err
        rows = (results[name].folder / "judged.jsonl").read_text().splitlines()
        values = [json.loads(row)["value"] for row in rows]
        held[name] = sum(values) / len(values)
    assert held == {"lister": 0.0, "oracle": 1.0}
