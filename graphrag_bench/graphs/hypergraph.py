"""Builder of hypergraphs, stored as bipartite graphs of entities and hyperedges (facts)."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
from pydantic import NonNegativeInt

from graphrag_bench.algorithms.evidence import WHOLE, Fragments
from graphrag_bench.algorithms.extraction import FactExtraction
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import Texts, bool_csr
from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.graphs.merging import NO_ENTITIES, first_fitting, group_by_row
from graphrag_bench.text import normalise_name

ENTITY, HYPEREDGE = "entity", "hyperedge"
NAMES = "names"
"""Name of the relationship from a hyperedge to each of its entities."""
PROVIDES = frozenset({"node.name", "node.type", "node.description", "relationship.weight"})
_LEAST_WEIGHT = 0.1
"""Lowest weight of an edge. It lets random walks use the edges of incomplete facts."""


@artifact("graph.hypergraph", provides=PROVIDES)
def hypergraph(
    *,
    fact_extraction: FactExtraction,
    chunk_table: ChunkTable,
    description_tokens: NonNegativeInt | None = 60,
) -> Graph:
    """Build a hypergraph of facts, stored as a bipartite graph of entities and hyperedges.

    The entities are distinct normalised names, and the hyperedges are distinct facts. Each fact is
    joined to its entities. Facts without entities are left out. All entities come before all
    hyperedges, both in order of first mention. The description of a hyperedge is the text of its
    fact. The description of an entity is its name and as many extracted descriptions as fit into
    `description_tokens` tokens, but at least the first. If `description_tokens` is None, all
    descriptions are used. If it is 0, only the name is used. The weight of an edge is the sum of
    the completeness scores (0..10) of all mentions of its fact, divided by 10. The lowest weight is
    0.1. Raises UserError if there are no facts.
    Source: HyperGraphRAG (Luo et al. 2025), and the authors' code.
    """
    return _merged(fact_extraction, len(chunk_table), description_tokens)


def _merged(extraction: FactExtraction, n_chunks: int, description_tokens: int | None) -> Graph:
    entities: dict[str, int] = {}
    facts: dict[str, int] = {}
    edges: dict[tuple[int, int], int] = {}
    completeness: dict[int, float] = defaultdict(float)
    read: list[tuple[int, str, int]] = []
    mentions: list[tuple[int, int, int, int]] = []
    for chunk, row in enumerate(extraction.rows):
        for record in row.facts:
            text = " ".join(record.text.split())
            keys = ((normalise_name(one.name), one.description) for one in record.entities)
            if not text or not (named := [(name, about) for name, about in keys if name]):
                continue
            fact = facts.setdefault(text, len(facts))
            completeness[fact] += record.completeness / 10.0
            for name, about in named:
                entity = entities.setdefault(name, len(entities))
                edge = edges.setdefault((fact, entity), len(edges))
                mentions.append((fact, entity, edge, chunk))
                if described := " ".join(about.split()):
                    read.append((entity, described, chunk))
    if not facts:
        raise UserError(f"{NO_ENTITIES}To build without a model, set build.fact_extraction=nlp.")
    n, n_facts = len(entities), len(facts)
    descriptions = list(entities)
    texts_of = group_by_row(((entity, text) for entity, text, _ in read), n)
    for entity, texts in enumerate(texts_of if description_tokens != 0 else ()):
        if texts:
            descriptions[entity] += f": {' '.join(first_fitting(texts, description_tokens))}"
    fact_rows, entity_rows, edge_rows, chunks = np.array(mentions, np.int64).T
    nodes = np.concatenate([entity_rows, n + fact_rows])
    source, target = np.array(list(edges), np.int64).T
    weights = np.maximum(list(completeness.values()), _LEAST_WEIGHT)
    names = [*entities, *(f"{HYPEREDGE}: {row}" for row in range(n_facts))]
    graph = Graph.from_arrays(
        n + source, target, bool_csr(nodes, np.tile(chunks, 2), (len(names), n_chunks)),
        bool_csr(edge_rows, chunks, (len(edges), n_chunks)), weights[source], names,
        relations=NAMES,
    )  # fmt: skip
    whole = ((n + fact, WHOLE, chunk) for fact, _, _, chunk in mentions)
    return replace(
        graph,
        types=Texts.of([ENTITY] * n + [HYPEREDGE] * n_facts),
        descriptions=Texts.of([*descriptions, *facts]),
        node_fragments=Fragments.of([*read, *whole], len(names)),
        statistics={"entities": n, "hyperedges": n_facts},
    )
