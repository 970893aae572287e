"""A graph network that learns on one world and finds the evidence in another."""

from __future__ import annotations

import numpy as np
import pytest
from small_worlds import Capitals

from graphrag_bench.errors import UserError
from graphrag_bench.graph.query_gnn import GnnWeights, Shape, mentions_weight
from graphrag_bench.models.embedder import Hashing
from graphrag_bench.offline.gnn_network import first_parameters
from graphrag_bench.offline.gnn_scorers import entity_scorer
from graphrag_bench.offline.gnn_training import chunks_of, read_graph, trained_weights
from graphrag_bench.progress import Progress
from graphrag_bench.text import normalise_name
from graphrag_bench.values import Ranked
from graphrag_bench.world.facts import WorldSettings
from graphrag_bench.world.making import make_world

WORDS, QUIET = Hashing(64), Progress(quiet=True)
SMALL = {
    "hidden": 32, "layers": 3, "world_size": 120, "questions": 60, "readings": ("stated",),
    "learning_rate": 2e-3,
}  # fmt: skip


def learnt(**settings: object) -> GnnWeights:
    chosen = {**SMALL, **settings}
    return trained_weights(embedder=WORDS, nlp=Capitals(), progress=QUIET, **chosen)


def recall_of(weights: GnnWeights) -> float:
    """The mean share of a question's evidence entities among the 20 best, in a world of its own."""
    world = make_world(WorldSettings(size=120, n_questions=40, seed=9))
    table = chunks_of(world)
    graph = read_graph(table, "stated", WORDS, Capitals(), QUIET)
    scorer = entity_scorer(gnn_weights=weights, graph=graph, embedder=WORDS, progress=QUIET)
    share, found = mentions_weight(graph), []
    for chain in world.chains:
        start = np.array([graph.row_of[normalise_name(world.entities[chain.start].name)]])
        (vector,) = WORDS.encode([chain.text], kind="question")
        best = Ranked.top(scorer.logits(vector, share[start], start), 20)
        chunks = [row for one in world.evidence(chain) for row in table.chunks_of(one)]
        wanted = graph.node_chunk.T.tocsr()[chunks].indices
        found.append(np.isin(np.unique(wanted), best.ids).mean())
    return float(np.mean(found))


@pytest.mark.slow
def test_what_it_learns_on_one_world_it_finds_in_another() -> None:
    after = learnt(epochs=6)
    untrained = dict(first_parameters(after.shape, np.random.default_rng(0)))
    assert recall_of(after) > recall_of(GnnWeights(untrained)) + 0.25


@pytest.mark.slow
def test_the_kept_epoch_is_told_with_its_losses_and_recall() -> None:
    told = learnt(epochs=2, readings=("stated", "tagged")).statistics
    assert told["epoch"] in (1, 2)
    assert told["train_questions"] + told["dev_questions"] <= 2 * SMALL["questions"]
    assert told["dev_questions"] >= 2
    assert 0 < told["dev_recall"] <= 1
    assert told["dev_loss"] > 0
    assert told["train_loss"] > 0


def test_another_seed_is_another_world_and_another_network() -> None:
    one, other = (
        learnt(epochs=1, questions=6, hidden=4, training_seed=seed).parameters["rel_mlp.bias"]
        for seed in (0, 1)
    )
    assert one.tolist() != other.tolist()


def test_without_readings_or_questions_to_train_on_it_says_what_is_missing() -> None:
    with pytest.raises(UserError, match=r"build\.gnn_weights\.readings"):
        learnt(readings=())
    with pytest.raises(UserError, match="nothing to learn from"):
        learnt(questions=2, dev_share=0.9)


def test_training_that_diverges_says_so() -> None:
    with pytest.raises(UserError, match=r"Lower build\.gnn_weights\.learning_rate"):
        learnt(epochs=2, questions=20, hidden=8, learning_rate=1e30)


def test_the_default_is_small() -> None:
    shape = Shape(384, 64, 3)
    n = sum(int(np.prod(size)) for _, size in shape.parameters())
    assert n < 200_000
