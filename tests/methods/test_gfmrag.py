"""GFM-RAG's rankings by hand, and the method on the toy set with trained and with given weights."""

from pathlib import Path

import pytest
from toy_runs import command

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.values import Ranked
from methods.gfmrag.gnn_scorers import by_entities

ADA, NORVIK, TARN, LONELY = range(4)


@pytest.fixture
def graph() -> Graph:
    """Ada is named by chunks 0 and 1, Norvik by 1 and 2, Tarn by 2 alone, the last by none."""
    named = [[1, 1, 0], [0, 1, 1], [0, 0, 1], [0, 0, 0]]
    return Graph.from_arrays([ADA, NORVIK], [NORVIK, TARN], node_chunk=named, n_nodes=4)


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
    nodes = Ranked.of({ADA: 2.0, NORVIK: -1.0, TARN: -1.0, LONELY: -3.0})
    result = by_entities(nodes, graph=graph, **settings)
    assert dict(result.items()) == expected
    assert result.ids.tolist() == list(expected)


WORDS_OF_RUN = (
    "dataset=toy", "method=gfmrag", "embedder=hashing", "nlp._target_=toy_runs.Capitals",
    "reference_rows=off", "answer=off",
)  # fmt: skip


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
