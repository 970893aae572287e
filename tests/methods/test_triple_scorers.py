"""Triple scorers: texts, shortest paths and distances by hand; training on a world."""

from dataclasses import replace

import networkx
import numpy as np
import pytest
from builds import QUIET
from hypothesis import given, settings
from hypothesis import strategies as st
from published_sets import EMPTY, RIVER, ROWS, TEAM, rog_folder

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import Texts
from graphrag_bench.data.dataset import TrainingSet
from graphrag_bench.data.readers import read_dataset
from graphrag_bench.data.readers.rog import training_set
from graphrag_bench.embedding.embedder import Hashing
from graphrag_bench.errors import UserError
from graphrag_bench.world.dataset import training_worlds
from methods.subgraphrag import triple_scorers as scorers
from methods.subgraphrag.triples import MlpWeights, distances, means_of


def test_relations_are_words_and_machine_ids_are_left_out():
    assert scorers.triple_text("m.0k2_1", "sports.team_won", "g.11b") == "sports team won"
    assert scorers.triple_text("m. night", "", "golf") == "m. night golf"


node = st.integers(0, 5)


@settings(max_examples=50)
@given(st.lists(st.tuples(node, node), max_size=14), st.sets(node), st.sets(node))
def test_positive_triples_are_those_on_all_shortest_paths(triples, starts, ends):
    graph = networkx.DiGraph(triples)
    graph.add_nodes_from(range(6))
    wanted: set[tuple[int, int]] = set()
    for start in starts:
        for end in ends - {start}:
            ways = []
            for first, last in ((start, end), (end, start)):
                if networkx.has_path(graph, first, last):
                    ways += list(networkx.all_shortest_paths(graph, first, last))
            shortest = min(map(len, ways), default=0)
            for way in ways:
                if len(way) == shortest:
                    wanted |= set(zip(way, way[1:], strict=False))
    source, target = np.array(triples, np.int64).reshape(-1, 2).T
    found = scorers.on_shortest_paths(source, target, 6, sorted(starts), sorted(ends))
    assert {triples[row] for row in np.flatnonzero(found).tolist()} == wanted


def world():
    return read_dataset("world", settings={"size": 100, "n_questions": 40})


def test_training_raises_held_out_recall_on_any_device() -> None:
    examples = scorers.examples_of(training_worlds(world()).read(36), Hashing(128), QUIET, "")
    learnt, held_out = (examples.some(np.arange(*rows)) for rows in ((30,), (30, 36)))
    weights = scorers.train(learnt, held_out, np.random.default_rng(0), QUIET, epochs=4)
    before = scorers.initial_weights(128, np.random.default_rng(0))
    assert weights.statistics["recall"] > scorers.measure(before, held_out)[0] + 0.1
    # the device `meta` computes shapes only, and refuses tensors of the processor
    there = scorers.initial_weights(128, np.random.default_rng(0), "meta")
    scores = scorers.logits(there, examples, 0)
    scorers.loss_of(scores, examples.questions[0]).backward()
    assert scores.shape == examples.questions[0].label.shape
    assert all(one.grad.device.type == "meta" for one in there.values())


def test_training_and_validation_questions_are_never_questions_of_the_run(tmp_path):
    worlds = training_worlds(world())
    asked, trained, validated = (
        {one.text for one in data.questions}
        for data in (world(), worlds.read(None), worlds.validation())
    )
    assert not asked & trained and not validated & (asked | trained)

    def training(name: str, *questions) -> TrainingSet:
        return training_set(read_dataset("cwq", rog_folder(tmp_path / name, ROWS, *questions)))

    own = [{**row, "id": f"t{at}"} for at, row in enumerate(ROWS)]
    result, without = training("a", own, [{**TEAM, "id": "v0"}]), training("b", own)
    assert [question.id for question in result.read(2).questions] == ["t0", "t1"]
    assert [question.id for question in result.validation().questions] == ["v0"]
    assert result.size() == 3
    assert without.validation is None and without.identity != result.identity
    with pytest.raises(UserError, match="is a question of the run"):
        training("c", [TEAM]).read(1)
    with pytest.raises(UserError, match=r"train\.jsonl.*scorer=cosine"):
        training("d")


def test_the_triples_of_shortest_paths_are_the_positive_ones(tmp_path):
    data = read_dataset("cwq", rog_folder(tmp_path, (EMPTY, RIVER, TEAM)))
    examples = scorers.examples_of(data, Hashing(8), QUIET, "")
    (example,) = examples.questions  # the others have no path
    assert example.text == TEAM["question"]
    names = [data.subgraphs.names[row] for row in example.nodes]
    ends = ((names[a], names[b]) for a, b in zip(example.head, example.tail, strict=True))
    assert dict(zip(ends, example.label.tolist(), strict=True)) == {
        ("Rolf the Ram", "Norvik F.C."): True,
        ("Norvik F.C.", "2012 Tarn Cup"): True,
        ("Norvik F.C.", "2014 Tarn Cup"): True,
        ("Norvik F.C.", "Norvik"): False,
        ("m.011zsc4_", "Norvik"): False,
    }
    assert example.near.shape == (6, 10)


def team(folder):
    data = read_dataset("cwq", rog_folder(folder, (TEAM,)))
    return scorers.examples_of(data, Hashing(8), QUIET, "")


def test_training_and_inference_agree(tmp_path):
    examples, data = team(tmp_path), read_dataset("cwq", str(tmp_path))
    (example,) = examples.questions
    weights = scorers.initial_weights(8, np.random.default_rng(1))
    names = ("hidden", "bias", "out", "out_bias", "unreadable")
    stored = MlpWeights(*(weights[name].detach().numpy() for name in names))
    entities = [data.subgraphs.names[row] for row in example.nodes]
    relations = Texts.of([data.subgraphs.relations[row] for row in example.relation])
    graph = Graph.from_arrays(example.head, example.tail, names=entities)
    inputs = {"triple_weights": stored, "graph": replace(graph, relations=relations)}
    scorer = scorers.mlp_scorer(**inputs, embedder=Hashing(8), progress=QUIET)
    topic = np.array([entities.index("Rolf the Ram")])
    chances = scorer.scores(graph.source, graph.target, examples.vectors[0], np.arange(5), topic)
    result = scorers.logits(weights, examples, 0)
    assert result.sigmoid().detach().numpy() == pytest.approx(chances, abs=1e-6)
    wanted = -np.log(np.where(example.label, chances, 1 - chances)).mean()
    assert float(scorers.loss_of(result, example).detach()) == pytest.approx(wanted, rel=1e-5)
    with pytest.raises(UserError, match="length 8"):
        scorers.mlp_scorer(**inputs, embedder=Hashing(64), progress=QUIET)


def test_recall_of_positive_triples(tmp_path, monkeypatch):
    """With equal scores the earlier of the five triples are the best."""
    examples, weights = team(tmp_path), scorers.initial_weights(8, np.random.default_rng(1))
    weights["out"].detach().zero_()
    (example,) = examples.questions
    for k in (1, 3):
        monkeypatch.setattr(scorers, "RECALL_AT", k)
        assert scorers.measure(weights, examples)[0] == pytest.approx(example.label[:k].sum() / 3)


@pytest.mark.parametrize(
    ("course", "kept", "n_epochs"),
    [
        ([(0.2, 1.0), (0.6, 2.0), (0.5, 0.1)], 2, 12),  # recall decides, not loss; 10 more epochs
        ([(0.6, 2.0), (0.6, 1.0), (0.6, 1.0)], 2, 11),  # ties: the lower loss, the earlier epoch
    ],
)
def test_the_epoch_is_chosen_by_recall_then_loss(tmp_path, monkeypatch, course, kept, n_epochs):
    examples, seen = team(tmp_path), list[np.ndarray]()

    def scripted(weights, _) -> tuple[float, float]:
        seen.append(weights["hidden"].detach().numpy().copy())
        return [*course, *[(0.1, 1.0)] * 20][len(seen) - 1]

    monkeypatch.setattr(scorers, "measure", scripted)
    result = scorers.train(examples, examples, np.random.default_rng(0), QUIET)
    assert (result.statistics["epoch"], result.statistics["epochs"]) == (kept, n_epochs)
    assert np.array_equal(result.hidden, seen[kept - 1])


def test_questions_without_an_answer_in_their_graph_are_refused(tmp_path):
    data = read_dataset("cwq", rog_folder(tmp_path, (RIVER, EMPTY)))
    training = TrainingSet("none", lambda _: data, lambda: 2)
    with pytest.raises(UserError, match="0 training"):
        scorers.triple_weights(training=training, embedder=Hashing(16), progress=QUIET)


def test_distance_features_propagate_in_both_directions():
    """0 leads to 1 and 2, 1 to 2, 3 to 1. Node 1 averages 0 and 3, and node 2 averages 0 and 1."""
    means = means_of(np.array([0, 1, 3, 0]), np.array([1, 2, 1, 2]), 4)
    for topic, shares in (
        (0, [[1, 0, 0, 0, 0], [0, 0.5, 0, 0, 0], [0, 0.5, 0.25, 0, 0], [0, 0, 0, 0, 0]]),
        (2, [[0, 0, 0, 0.5, 0.5], [0, 0, 0, 1, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 1]]),
    ):
        near = distances(means, np.arange(4) == topic)
        assert near[:, 1::2].tolist() == shares  # of topic entities, not of others
