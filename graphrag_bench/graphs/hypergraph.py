"""Builders of hypergraphs. A hyperedge is a fact about several entities.

A hypergraph is stored as a bipartite graph of entities and hyperedges.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveInt

from graphrag_bench.algorithms.evidence import WHOLE, Fragments
from graphrag_bench.algorithms.extraction import FactExtraction, FactRecord
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import Texts, bool_csr
from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.errors import UserError
from graphrag_bench.graphs.knowledge_graph import SYNONYM, add_relationships, synonym_pairs
from graphrag_bench.graphs.merging import first_fitting, group_by_row
from graphrag_bench.graphs.sentences import vectors_of
from graphrag_bench.progress import Progress
from graphrag_bench.text import normalise_name
from graphrag_bench.values import IntArray

ENTITY, HYPEREDGE = "entity", "hyperedge"
NAMES = "names"
"""Name of the relationship from a hyperedge to each of its entities."""
PROVIDES = frozenset({"node.name", "node.type", "node.description", "relationship.weight"})
_WHOLE = 10.0
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
    hyperedges, both in order of first mention. A hyperedge is described by the text of its fact. An
    entity is described by its name and by as many extracted descriptions as fit into
    `description_tokens` tokens. The first description is used even if it is longer. If
    `description_tokens` is None, all descriptions are used. If it is 0, only the name is used. The
    weight of an edge is the sum of the completeness scores (0..10) of all mentions of its fact,
    divided by 10. The lowest weight is 0.1. Raises UserError if there are no facts.
    Source: HyperGraphRAG (Luo et al. 2025), and the authors' code.
    """
    return _FactMerger(fact_extraction).graph(len(chunk_table), description_tokens)


@artifact("graph.hypergraph_synonymy", provides=PROVIDES)
def hypergraph_synonymy(
    *,
    fact_extraction: FactExtraction,
    chunk_table: ChunkTable,
    embedder: Embedder,
    progress: Progress,
    description_tokens: NonNegativeInt | None = 0,
    synonyms_per_node: PositiveInt = 10,
    synonymy_threshold: Annotated[float, Field(gt=0, le=1)] = 0.8,
) -> Graph:
    """Build a hypergraph with synonymy edges between entities that have similar names.

    The hypergraph is built as in `graph.hypergraph`. Each entity name is compared with its
    `synonyms_per_node` nearest names by the cosine of their embeddings. Two entities whose cosine
    is at least `synonymy_threshold` are joined by an edge. The weight of the edge is the cosine,
    and the edge belongs to no chunk.
    Source: PropRAG (Wang and Han 2025), and the authors' code.
    """
    facts = _FactMerger(fact_extraction)
    graph = facts.graph(len(chunk_table), description_tokens)
    names = list(facts.entities)
    vectors = np.ascontiguousarray(vectors_of(names, embedder, progress, "embedding node names"))
    codes, cosine = synonym_pairs(vectors, synonyms_per_node, synonymy_threshold, progress)
    graph = replace(graph, statistics={**graph.statistics, "synonyms": len(codes)})
    return add_relationships(graph, *np.divmod(codes, len(names)), cosine, SYNONYM)


class _FactMerger:
    def __init__(self, extraction: FactExtraction) -> None:
        self.entities: dict[str, int] = {}
        self.facts: dict[str, int] = {}
        self.edges: dict[tuple[int, int], int] = {}
        self.completeness: dict[int, float] = defaultdict(float)
        self.read: list[tuple[int, str, int]] = []
        self.entity_chunks: list[tuple[int, int]] = []
        self.fact_chunks: list[tuple[int, int]] = []
        self.edge_chunks: list[tuple[int, int]] = []
        for chunk, row in enumerate(extraction.rows):
            for record in row.facts:
                text = " ".join(record.text.split())
                if text and any(normalise_name(entity.name) for entity in record.entities):
                    self._add(text, record, chunk)
        if not self.facts:
            raise UserError(
                "The hypergraph has no fact with an entity. The model may be too small for "
                "extraction, its context window may be too short for the prompt, or the model may "
                "find no names in these texts. "
                "To build without a model, set build.fact_extraction=nlp."
            )

    def _add(self, text: str, record: FactRecord, chunk: int) -> None:
        fact = self.facts.setdefault(text, len(self.facts))
        self.completeness[fact] += record.completeness / _WHOLE
        self.fact_chunks.append((fact, chunk))
        for entity in record.entities:
            if not (name := normalise_name(entity.name)):
                continue
            row = self.entities.setdefault(name, len(self.entities))
            if described := " ".join(entity.description.split()):
                self.read.append((row, described, chunk))
            edge = self.edges.setdefault((fact, row), len(self.edges))
            self.entity_chunks.append((row, chunk))
            self.edge_chunks.append((edge, chunk))

    def graph(self, n_chunks: int, description_tokens: int | None) -> Graph:
        n, n_facts = len(self.entities), len(self.facts)
        ends: IntArray = np.array(list(self.edges), np.int64).reshape(-1, 2)
        weights = np.maximum(list(self.completeness.values()), _LEAST_WEIGHT)
        texts = group_by_row(((row, text) for row, text, _ in self.read), n)
        described = [
            _description(name, own, description_tokens)
            for name, own in zip(self.entities, texts, strict=True)
        ]
        of_facts = [(n + fact, chunk) for fact, chunk in self.fact_chunks]
        rows, chunks = np.array([*self.entity_chunks, *of_facts], np.int64).T
        edge_rows, edge_chunks = np.array(self.edge_chunks, np.int64).T
        whole = [(row, WHOLE, chunk) for row, chunk in of_facts]
        edges = Graph.from_arrays(
            n + ends[:, 0],
            ends[:, 1],
            bool_csr(rows, chunks, (n + n_facts, n_chunks)),
            bool_csr(edge_rows, edge_chunks, (len(ends), n_chunks)),
            weights[ends[:, 0]],
            [*self.entities, *(f"{HYPEREDGE}: {row}" for row in range(n_facts))],
            relations=NAMES,
        )
        return replace(
            edges,
            types=Texts.of([ENTITY] * n + [HYPEREDGE] * n_facts),
            descriptions=Texts.of([*described, *self.facts]),
            node_fragments=Fragments.of([*self.read, *whole], n + n_facts),
            statistics={"entities": n, "hyperedges": n_facts},
        )


def _description(name: str, texts: Sequence[str], most_tokens: int | None) -> str:
    chosen = first_fitting(texts, most_tokens) if most_tokens != 0 else []
    return f"{name}: {' '.join(chosen)}" if chosen else name
