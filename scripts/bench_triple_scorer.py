"""The trained triple scorer and cosine on a synthetic world: recall@50 of the questions' chains.

`recall_*`: share of a chain's triples among the best 50 of the graph, trained (ours) and cosine
(reference); `seconds_*`: a question's scoring by each. Training questions are of another world.
"""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from graphrag_bench.data.readers import read_dataset
from graphrag_bench.data.training import training_set
from graphrag_bench.models.embedder import Embedder, Hashing
from graphrag_bench.models.sentence_embedder import SentenceEmbedder
from graphrag_bench.offline.chunking import presplit
from graphrag_bench.offline.knowledge_graph import kg
from graphrag_bench.offline.planted import planted_extraction
from graphrag_bench.offline.triple_scorers import mlp_scorer, triple_index
from graphrag_bench.offline.triple_training import triple_weights
from graphrag_bench.progress import Progress
from graphrag_bench.text import normalise_name
from graphrag_bench.values import Node, Ranked
from operators.relationship.triples import triple_scores

TOP_K = 50
HIDDEN = {"hashing": 128, "sentence": 64}


def figures(model: str) -> dict[str, tuple[float, float]]:
    """(recall@50, seconds a question) by cosine and by the trained scorer."""
    embedder: Embedder = Hashing() if model == "hashing" else SentenceEmbedder()
    data = read_dataset("world", settings={})
    assert data.world is not None
    table = presplit(corpus=data)
    graph = kg(extraction=planted_extraction(chunk_table=table), chunk_table=table)
    linked, gold = [], []
    facts = {}
    for row, relation in enumerate(graph.relations):
        facts[int(graph.source[row]), relation, int(graph.target[row])] = row
    for chain in data.world.chains:
        names = [graph.row_of[normalise_name(data.world.entities[chain.start].name)]]
        linked.append(Ranked[Node](np.array(names), np.ones(1)))
        gold.append({facts[key] for key in keys_of(data.world, chain.facts, graph.row_of)})
    with TemporaryDirectory() as folder:
        places = [Path(folder) / name for name in ("a", "b", "c")]
        for place in places:
            place.mkdir()
        quiet = Progress(quiet=True)
        shared = {"embedder": embedder, "progress": quiet}
        cosine = triple_index(graph=graph, **shared)
        weights = triple_weights(training=training_set(data), hidden=HIDDEN[model], **shared)
        mlp = mlp_scorer(triple_weights=weights, graph=graph, **shared)
        found_by = {}
        for name, scorer in (("cosine", cosine), ("mlp", mlp)):
            began = time.perf_counter()
            found = triple_scores(
                list(data.questions), [None] * len(linked), linked,
                triple_scorer=scorer, graph=graph, embedder=embedder, top_k=TOP_K,
            )  # fmt: skip
            took = (time.perf_counter() - began) / len(linked)
            shares = [
                len(own & set(one.ids.tolist())) / len(own)
                for own, one in zip(gold, found, strict=True)
            ]
            found_by[name] = float(np.mean(shares)), took
    return found_by


def keys_of(world, rows, row_of):  # type: ignore[no-untyped-def]
    """The (head, relation, tail) of some facts by node rows."""
    for row in rows:
        fact = world.facts[row]
        ends = (normalise_name(world.entities[end].name) for end in (fact.head, fact.tail))
        head, tail = (row_of[end] for end in ends)
        yield head, normalise_name(fact.phrase), tail


def case(model: str, column: int, unit: str):  # type: ignore[no-untyped-def]
    """The trained scorer's figure and that of cosine."""

    def measured() -> tuple[float, float, str]:
        found = figures(model)
        return found["mlp"][column], found["cosine"][column], unit

    return measured


CASES = {
    f"{name}_{model}": case(model, column, unit)
    for model in HIDDEN
    for column, (name, unit) in enumerate([("recall", "recall@50"), ("seconds", "s")])
}
