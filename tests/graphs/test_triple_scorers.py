"""Triple scorers: texts, shortest paths, examples by hand, and learning from another world."""

from dataclasses import replace
from pathlib import Path

import networkx
import numpy as np
import pytest
from builds import QUIET
from hypothesis import given, settings
from hypothesis import strategies as st
from rog_sets import EMPTY, RIVER, ROWS, TEAM, rog_folder

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.triple_scorer import MlpTripleScorer, MlpWeights
from graphrag_bench.columns import Texts
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.data.readers import read_dataset
from graphrag_bench.data.synthetic import TrainingSet, training_set
from graphrag_bench.embedding.embedder import Hashing
from graphrag_bench.errors import UserError
from graphrag_bench.graphs.chunking import presplit
from graphrag_bench.graphs.knowledge_graph import kg
from graphrag_bench.graphs.planted import planted_extraction
from graphrag_bench.indices.vector_index import VectorIndex
from graphrag_bench.text import normalise_name
from graphrag_bench.values import Node, Ranked
from methods.subgraphrag.triple_scorers import (
    examples_of,
    mlp_scorer,
    on_shortest_paths,
    questions_of,
    triple_index,
    triple_text,
    triple_weights,
)
from operators.relationship.triples import triple_scores


def test_relations_are_words_and_machine_ids_are_left_out():
    assert triple_text("lou seal", "sports.mascot.team", "giants") == (
        "lou seal sports mascot team giants"
    )
    assert triple_text("m.0k2_1", "team_won", "g.11b") == "team won"
    assert triple_text("m. night", "", "golf") == "m. night golf"


def test_every_relationship_has_the_vector_of_its_triple(tmp_path):
    graph = Graph.from_arrays([0, 1], [1, 2], names=["ada", "norvik", "tarn"])
    graph = replace(graph, relations=Texts.of(["founded_by", "near"]))
    index = triple_index(graph=graph, embedder=Hashing(32), progress=QUIET)
    want = Hashing(32).encode(["ada founded by norvik", "norvik near tarn"], kind="passage")
    assert index.vectors.tolist() == want.tolist()


def path_rows(triples: list[tuple[int, int]], starts: list[int], ends: list[int]) -> list[int]:
    source, target = np.array(triples, np.int64).reshape(-1, 2).T
    return np.flatnonzero(on_shortest_paths(source, target, 6, starts, ends)).tolist()


def test_all_shortest_paths_count_parallel_triples_too():
    """0 to 3 by 1 or by 2; a second triple from 0 to 1; a detour by 4."""
    triples = [(0, 1), (0, 2), (1, 3), (2, 3), (0, 1), (0, 4), (4, 1)]
    assert path_rows(triples, [0], [3]) == [0, 1, 2, 3, 4]


node = st.integers(0, 5)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(node, node), max_size=14), st.sets(node), st.sets(node))
def test_it_is_what_a_list_of_all_shortest_paths_holds(triples, starts, ends):
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
    result = {triples[row] for row in path_rows(triples, sorted(starts), sorted(ends))}
    assert result == wanted


WORDS = Hashing(128)


@pytest.fixture(scope="module")
def world() -> Dataset:
    return read_dataset("world", settings={"size": 300, "n_questions": 40})


@pytest.fixture(scope="module")
def weights(world: Dataset) -> MlpWeights:
    return learnt(training_set(world))


def learnt(training: TrainingSet, **other: int) -> MlpWeights:
    chosen = {"hidden": 32, "questions": 120, "negatives": 30, "epochs": 12, **other}
    return triple_weights(training=training, embedder=WORDS, progress=QUIET, **chosen)


# ---- training questions


def test_a_world_learns_from_another_world(world: Dataset) -> None:
    result = training_set(world)
    other = result.read(30)
    assert len(other.questions) == 30
    assert not {q.text for q in other.questions} & {q.text for q in world.questions}
    assert result.identity == training_set(world).identity
    assert result.identity != training_set(other).identity


def test_a_set_learns_from_its_training_file_and_never_from_the_questions_of_the_run(tmp_path):
    own = [{**row, "id": f"t{at}"} for at, row in enumerate(ROWS)]
    result = training_set(read_dataset("cwq", rog_folder(tmp_path / "a", ROWS, own)))
    assert [question.id for question in result.read(2).questions] == ["t0", "t1"]
    same = training_set(read_dataset("cwq", rog_folder(tmp_path / "b", ROWS, [TEAM])))
    with pytest.raises(UserError, match="is a question of the run"):
        same.read(1)
    with pytest.raises(UserError, match=r"train\.jsonl.*scorer=cosine"):
        training_set(read_dataset("cwq", rog_folder(tmp_path)))


# ---- examples


def test_the_triples_of_shortest_paths_are_the_positive_ones(tmp_path: Path) -> None:
    data = read_dataset("cwq", rog_folder(tmp_path, (EMPTY, RIVER, TEAM)))
    result = examples_of(questions_of(data), 0, np.random.default_rng(0))
    assert result.texts == (TEAM["question"],)  # the others have no answer in their subgraph
    labels = {
        (result.names[head], result.names[tail]): bool(label)
        for head, tail, label in zip(result.head, result.tail, result.label, strict=True)
    }
    assert labels == {
        ("Rolf the Ram", "Norvik F.C."): True,
        ("Norvik F.C.", "2012 Tarn Cup"): True,
        ("Norvik F.C.", "2014 Tarn Cup"): True,
        ("Norvik F.C.", "Norvik"): False,
        ("m.011zsc4_", "Norvik"): False,
    }
    assert result.near.shape == (5, 20)


def test_negatives_are_drawn_half_of_them_near_the_topic_entities(world: Dataset) -> None:
    result = examples_of(questions_of(world), 6, np.random.default_rng(0))
    n_others = np.bincount(result.question[~result.label])
    assert set(n_others.tolist()) == {6}
    topics = result.near[:, 1::2].any(axis=1)
    assert np.bincount(result.question[~result.label & topics]).min() >= 1
    assert np.bincount(result.question[result.label]).min() >= 1


# ---- training


def test_questions_without_an_answer_in_their_graph_teach_nothing(tmp_path: Path) -> None:
    data = read_dataset("cwq", rog_folder(tmp_path, (RIVER, EMPTY)))
    with pytest.raises(UserError, match="0 training questions"):
        learnt(TrainingSet("none", lambda _: data))


def test_weights_of_another_embedder_are_refused(weights: MlpWeights) -> None:
    graph = Graph.from_arrays([0], [1])
    other = Hashing(64)
    with pytest.raises(UserError, match="vectors of 128 numbers"):
        mlp_scorer(triple_weights=weights, graph=graph, embedder=other, progress=QUIET)


def test_the_trained_scorer_finds_more_of_the_chains_of_a_world_than_cosine(world, weights) -> None:
    table = presplit(corpus=world)
    graph = kg(extraction=planted_extraction(chunk_table=table), chunk_table=table)
    inputs = {"graph": graph, "embedder": WORDS, "progress": QUIET}
    mlp = mlp_scorer(triple_weights=weights, **inputs)
    cosine = triple_index(**inputs)
    by_mlp, by_cosine = (recall_of_chains(world, graph, scorer) for scorer in (mlp, cosine))
    assert by_mlp > by_cosine + 0.15


def recall_of_chains(
    data: Dataset, graph: Graph, scorer: VectorIndex | MlpTripleScorer, top_k: int = 50
) -> float:
    """The mean share of a question's chain among the best triples, its start being linked."""
    known = data.world

    def node(entity: int) -> int:
        return graph.row_of[normalise_name(known.entities[entity].name)]

    columns = (graph.source.tolist(), graph.relations, graph.target.tolist())
    row_of = {triple: row for row, triple in enumerate(zip(*columns, strict=True))}
    linked = [Ranked[Node](np.array([node(chain.start)]), np.ones(1)) for chain in known.chains]
    result = triple_scores(
        list(data.questions), [None] * len(linked), linked,
        triple_scorer=scorer, graph=graph, embedder=WORDS, top_k=top_k,
    )  # fmt: skip
    shares = []
    for chain, best in zip(known.chains, result, strict=True):
        facts = [known.facts[row] for row in chain.facts]
        rows = [row_of[node(f.head), normalise_name(f.phrase), node(f.tail)] for f in facts]
        shares.append(float(np.isin(rows, best.ids).mean()))
    return float(np.mean(shares))
