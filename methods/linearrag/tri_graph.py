"""LinearRAG's Tri-Graph: entities joined to the sentences and the chunks that name them."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.columns import Columns, Texts, in_order
from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.embedding.nlp import Nlp
from graphrag_bench.embedding.vector_index import VectorIndex, index_texts
from graphrag_bench.errors import UserError
from graphrag_bench.graphs.entity_passage import NO_NAMES, counts_by_cell
from graphrag_bench.progress import Progress
from graphrag_bench.text import normalise_name

COUNTS = ("ORDINAL", "CARDINAL")
"""Labels of what is counts_by_cell, not named."""


@dataclass(frozen=True, eq=False)
class TriGraph(Columns):
    """Entities, sentences and chunks, and how often each entity is named where.

    `names` (n_entities,) are normalised and unique, in order of first mention; `sentences`
    (n_sentences,) are distinct and name an entity each. `entity_sentence` is a bool CSR;
    `entity_chunk` an int64 CSR of the number of mentions, one column for each chunk.
    """

    names: Texts
    sentences: Texts
    entity_sentence: Any
    entity_chunk: Any

    @cached_property
    def sentence_entity(self) -> Any:
        """Bool CSR (n_sentences, n_entities): the entities of each sentence, in order of id."""
        return in_order(self.entity_sentence.T)

    @cached_property
    def mention_weight(self) -> Any:
        """Float64 CSR (n_chunks, n_entities): ln(1 + how often each chunk names each entity)."""
        weights = self.entity_chunk.T.tocsr().astype(np.float64)
        weights.data = np.log1p(weights.data)
        return weights


@artifact("tri_graph")
def tri_graph(*, chunk_table: ChunkTable, nlp: Nlp, progress: Progress) -> TriGraph:
    """The named entities of titles and texts, with the sentences and the chunks that name them.

    Entities are normalised named entities, ordinals and counts aside; a sentence that names none is
    left out. Raises UserError when no entity was found.
    Source: LinearRAG (Zhuang et al. 2025), Tri-Graph; which labels it leaves out is its code's.
    """
    names: dict[str, int] = {}
    lines: dict[str, int] = {}
    in_sentence: Counter[tuple[int, int]] = Counter()
    in_chunk: Counter[tuple[int, int]] = Counter()
    texts = chunk_table.passages
    with progress.task("reading sentences", len(texts)) as advance:
        for row, sentences in enumerate(nlp.sentences(texts)):
            for sentence in sentences:
                entities = (text for text, kind in sentence.entities if kind not in COUNTS)
                normal = filter(None, map(normalise_name, entities))
                named = [names.setdefault(name, len(names)) for name in normal]
                in_chunk.update((entity, row) for entity in named)
                text = " ".join(sentence.text.split())
                if named and text:
                    at = lines.setdefault(text, len(lines))
                    in_sentence.update((entity, at) for entity in named)
            advance(1)
    if not names:
        raise UserError(NO_NAMES)
    return TriGraph(
        Texts.of(list(names)),
        Texts.of(list(lines)),
        counts_by_cell(in_sentence, (len(names), len(lines))).astype(bool),
        counts_by_cell(in_chunk, (len(names), len(chunk_table))),
    )


@artifact("graph.entities", provides={"node.name", "relationship.weight"})
def entities(*, tri_graph: TriGraph) -> Graph:
    """The entities of a Tri-Graph as nodes, in its order, each in its chunks; no relationship.

    Source: LinearRAG (Zhuang et al. 2025).
    """
    inside = tri_graph.entity_chunk.astype(bool)
    return Graph.from_arrays([], [], inside, names=list(tri_graph.names))


@artifact("sentence_index")
def sentence_index(*, tri_graph: TriGraph, embedder: Embedder, progress: Progress) -> VectorIndex:
    """One vector for each sentence of a Tri-Graph, in its order."""
    texts = list(tri_graph.sentences)
    return index_texts(texts, embedder, progress, "sentences")
