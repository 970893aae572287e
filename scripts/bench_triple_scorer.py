"""Recall of a world's gold chains among the best triples, by cosine and by the trained scorer.

python scripts/bench_triple_scorer.py [hashing|sentence] [hidden] [top_k]
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from graphrag_bench.data.readers import read_dataset  # noqa: E402
from graphrag_bench.data.training import training_set  # noqa: E402
from graphrag_bench.models.embedder import Embedder, Hashing  # noqa: E402
from graphrag_bench.models.sentence_embedder import SentenceEmbedder  # noqa: E402
from graphrag_bench.offline.chunking import presplit  # noqa: E402
from graphrag_bench.offline.knowledge_graph import kg  # noqa: E402
from graphrag_bench.offline.planted import planted_extraction  # noqa: E402
from graphrag_bench.offline.triple_index import triple_index  # noqa: E402
from graphrag_bench.offline.triple_scorers import mlp_scorer  # noqa: E402
from graphrag_bench.offline.triple_training import triple_weights  # noqa: E402
from graphrag_bench.progress import Progress  # noqa: E402
from graphrag_bench.text import normalise_name  # noqa: E402
from graphrag_bench.values import Node, Ranked  # noqa: E402
from operators.relationship.triples import triple_scores_batched  # noqa: E402


def main(model: str = "hashing", hidden: str = "1024", top_k: str = "50", **world: object) -> None:
    """Print recall and seconds of both scorers."""
    embedder: Embedder = Hashing() if model == "hashing" else SentenceEmbedder()
    data = read_dataset("world", settings=world)
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
        cosine = triple_index(graph=graph, scratch=places[0], **shared)
        began = time.perf_counter()
        weights = triple_weights(
            training=training_set(data), scratch=places[1], hidden=int(hidden), **shared
        )
        seconds = time.perf_counter() - began
        mlp = mlp_scorer(triple_weights=weights, graph=graph, scratch=places[2], **shared)
        for name, scorer in (("cosine", cosine), ("mlp", mlp)):
            began = time.perf_counter()
            found = triple_scores_batched(
                list(data.questions), [None] * len(linked), linked,
                triple_scorer=scorer, graph=graph, embedder=embedder, top_k=int(top_k),
            )  # fmt: skip
            took = (time.perf_counter() - began) / len(linked)
            shares = [
                len(own & set(one.ids.tolist())) / len(own)
                for own, one in zip(gold, found, strict=True)
            ]
            print(f"{name}: recall@{top_k} {np.mean(shares):.3f}, {took * 1000:.1f} ms a question")
    print(f"n={len(gold)}, {graph.n_relationships} triples, trained in {seconds:.0f} s, {model}")


def keys_of(world, rows, row_of):  # type: ignore[no-untyped-def]
    """The (head, relation, tail) of some facts by node rows."""
    for row in rows:
        fact = world.facts[row]
        ends = (normalise_name(world.entities[end].name) for end in (fact.head, fact.tail))
        head, tail = (row_of[end] for end in ends)
        yield head, normalise_name(fact.phrase), tail


if __name__ == "__main__":
    main(*sys.argv[1:])
