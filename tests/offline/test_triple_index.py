"""What is embedded for each relationship as a triple, and the triples most like a question."""

from dataclasses import replace

import numpy as np
import pytest

from graphrag_bench.columns import Texts
from graphrag_bench.contract import alone
from graphrag_bench.graph.graph import Graph
from graphrag_bench.models.embedder import Hashing
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.offline.triple_scorers import triple_index, triple_text
from graphrag_bench.progress import Progress
from graphrag_bench.values import Question, Ranked
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
    index = triple_index(graph=graph, embedder=Hashing(32), progress=Progress(quiet=True))
    want = Hashing(32).encode(["ada founded by norvik", "norvik near tarn"], kind="passage")
    assert index.vectors.tolist() == want.tolist()


class First:
    identity = "first"
    dimension = 2

    def encode(self, texts, *, kind):
        return np.tile(np.array([1.0, 0.0], np.float32), (len(texts), 1))


def test_triples_are_scored_by_half_of_one_and_the_cosine():
    index = VectorIndex(np.array([(0, 1), (1, 0), (-1, 0), (0.6, 0.8)], np.float32))
    graph = Graph.from_arrays([0, 1, 2, 3], [1, 2, 3, 0])
    given = {"triple_scorer": index, "graph": graph, "embedder": First()}
    found = alone(triple_scores)(Question("q", "?"), top_k=3, **given)
    assert found.ids.tolist() == [1, 3, 0]
    assert found.scores.tolist() == pytest.approx([1.0, 0.8, 0.5])
    some = alone(triple_scores)(Question("q", "?"), Ranked(np.array([2, 0]), np.ones(2)), **given)
    assert some.ids.tolist() == [0, 2] and some.scores.tolist() == pytest.approx([0.5, 0.0])
