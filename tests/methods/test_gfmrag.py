"""GFM-RAG's rankings by hand, and the method on the toy set with trained and with given weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from gnn_checkpoints import HIDDEN, checkpoint, config, parameters
from toy_runs import command, metrics, ran, records

from graphrag_bench.contract import alone
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.query_gnn import EntityScorer, GnnWeights, Shape
from graphrag_bench.models.embedder import Hashing
from graphrag_bench.offline.gnn_scorers import entity_scorer
from graphrag_bench.progress import Progress
from graphrag_bench.values import Question, Ranked
from methods.gfmrag.ranking import by_entities, query_gnn

ADA, NORVIK, TARN, LONELY = range(4)
WORDS = Hashing(32)


@pytest.fixture
def graph() -> Graph:
    """Ada is named by chunks 0 and 1, Norvik by 1 and 2, Tarn by 2 alone, the last by none."""
    named = [[1, 1, 0], [0, 1, 1], [0, 0, 1], [0, 0, 0]]
    return Graph.from_arrays([ADA, NORVIK], [NORVIK, TARN], node_chunk=named, n_nodes=4)


def best(*scored: tuple[int, float]) -> Ranked:
    return Ranked.of(dict(scored))


# ---- passages


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, {2: 1.5, 1: 1.0, 0: 0.5}),
        ({"inverse": False}, {1: 2.0, 2: 2.0, 0: 1.0}),
        ({"scored": True}, {0: 1.0, 1: 0.5, 2: -1.5}),
        ({"scored": True, "inverse": False}, {0: 2.0, 1: 1.0, 2: -2.0}),
        ({"top_k": 1}, {2: 1.5}),
    ],
)
def test_a_chunk_adds_up_its_entities_each_by_one_over_the_chunks_that_name_it(
    graph, settings, expected
):
    """Weights: Ada and Norvik 1/2, Tarn 1; with scores 2, -1 and -1 they are 1, -1/2 and -1."""
    nodes = best((ADA, 2.0), (NORVIK, -1.0), (TARN, -1.0), (LONELY, -3.0))
    found = by_entities(nodes, graph=graph, **settings)
    assert dict(found.items()) == expected
    assert found.ids.tolist() == list(expected)


def test_chunks_without_any_of_the_entities_are_left_out(graph):
    assert by_entities(best((TARN, 0.1)), graph=graph).ids.tolist() == [2]
    assert not len(by_entities(best((LONELY, 9.0)), graph=graph))
    assert not len(by_entities(Ranked.empty(), graph=graph))


# ---- entities


@pytest.fixture
def scorer(graph) -> EntityScorer:
    weights = GnnWeights(parameters(Shape(32, 4, 2)))
    return entity_scorer(
        gnn_weights=weights, graph=graph, embedder=WORDS, progress=Progress(quiet=True)
    )


def asked(graph, scorer, nodes: list[int], **settings) -> Ranked:
    start = Ranked(np.array(nodes, np.int64), np.ones(len(nodes)))
    return alone(query_gnn)(
        Question("q", "Who founded Norvik?"), start,
        entity_scorer=scorer, graph=graph, embedder=WORDS, **settings,
    )  # fmt: skip


def test_a_node_begins_with_one_over_the_chunks_that_name_it(graph, scorer):
    (vector,) = WORDS.encode(["Who founded Norvik?"], kind="question")
    for settings, share in (({}, 0.5), ({"inverse_start": False}, 1.0)):
        logits = scorer.logits(vector, np.array([share]), np.array([ADA]))
        found = asked(graph, scorer, [ADA], top_k=None, **settings)
        assert found.items() == Ranked.top(logits, None).items()


def test_a_node_that_is_named_twice_counts_once(graph, scorer):
    assert asked(graph, scorer, [ADA, ADA]).items() == asked(graph, scorer, [ADA]).items()


def test_only_the_best_are_kept(graph, scorer):
    every = asked(graph, scorer, [ADA], top_k=None)
    assert len(every) == 4
    assert asked(graph, scorer, [ADA], top_k=2).items() == every.items()[:2]


# ---- the method

WORDS_OF_RUN = (
    "dataset=toy", "method=gfmrag", "embedder=hashing", "nlp._target_=toy_runs.Capitals",
    "reference_rows=off", "answer=off",
)  # fmt: skip
SMALL = tuple(
    f"build.gnn_weights.{setting}"
    for setting in ("world_size=60", "questions=40", "epochs=4", "readings=[stated]",
                    "learning_rate=0.002")
)  # fmt: skip


@pytest.mark.slow
def test_trained_on_a_world_it_finds_the_evidence_of_another_set(tmp_path: Path) -> None:
    held = metrics(ran(*WORDS_OF_RUN, *SMALL, f"paths.home={tmp_path}").folder)
    assert (held["n"], held["failed"]) == (6, 0)
    assert held["metrics"]["evidence_recall@5"]["mean"] > 0.5


def test_with_the_weights_of_a_checkpoint_every_question_has_passages(tmp_path: Path) -> None:
    told = config("hashing")
    told["model_config"]["feat_dim"] = 256
    folder = checkpoint(tmp_path / "gfm", parameters(Shape(256, HIDDEN, 2)), told)
    settings = (*WORDS_OF_RUN, "method.weights=released", f"paths.home={tmp_path / 'home'}")
    ended = ran(*settings, f"graph.checkpoint={folder}")
    assert all(row["documents"] for row in records(ended.folder))


def test_released_weights_take_a_checkpoint_and_a_checkpoint_takes_released_weights(
    tmp_path: Path,
) -> None:
    settings = (*WORDS_OF_RUN, f"paths.home={tmp_path}")
    refused = command("run", *settings, "method.weights=released")
    assert refused.code == 2
    assert "graph.checkpoint=FOLDER_OR_NAME" in refused.err + refused.out
    idle = command("run", *settings, f"graph.checkpoint={tmp_path}")
    assert idle.code == 2
    assert "graph.checkpoint" in idle.err and "gnn_weights" in idle.err
