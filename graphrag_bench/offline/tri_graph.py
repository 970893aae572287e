"""Chunks to entities, sentences and chunks without any relationship, by named entities alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from graphrag_bench.columns import Texts
from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.tri_graph import TriGraph
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.models.nlp import Nlp, Sentence
from graphrag_bench.models.vector_index import VectorIndex
from graphrag_bench.offline.indices import index_texts
from graphrag_bench.offline.knowledge_graph import Titles
from graphrag_bench.progress import Progress
from graphrag_bench.text import normalise_name
from graphrag_bench.values import IntArray

COUNTS = ("ORDINAL", "CARDINAL")
"""Labels of what is counted, not named."""


@artifact("tri_graph")
def tri_graph(
    *, chunk_table: ChunkTable, nlp: Nlp, progress: Progress, titles: Titles = "off"
) -> TriGraph:
    """The named entities of titles and texts, with the sentences and the chunks that name them.

    Entities are normalised named entities, ordinals and counts aside; a sentence that names none is
    left out. `titles="entity"` takes the title of a passage, as it is, for one of its entities,
    named once; with `about` every sentence of the passage names it, so that what is known of it
    can be reached from it. Raises UserError when no entity was found.
    Source: LinearRAG (Zhuang et al. 2025), Tri-Graph; which labels it leaves out is its code's.
    """
    found = _Mentions()
    texts = chunk_table.passages
    with progress.task("reading sentences", len(texts)) as advance:
        for row, sentences in enumerate(nlp.sentences(texts)):
            found.chunk(row, sentences, chunk_table.titles[row], titles)
            advance(1)
    if not found.names:
        raise UserError(
            "The graph has no entities: the tagger found no name in the texts. Likely causes: they "
            "are in another language than its model's, or name nothing."
        )
    n, n_sentences = len(found.names), len(found.sentences)
    return TriGraph(
        Texts.of(list(found.names)),
        Texts.of(list(found.sentences)),
        _sparse(found.in_sentence, (n, n_sentences)).astype(bool),
        _sparse(found.in_chunk, (n, len(chunk_table))),
    )


class _Mentions:
    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self.sentences: dict[str, int] = {}
        self.in_sentence: Counter[tuple[int, int]] = Counter()
        self.in_chunk: Counter[tuple[int, int]] = Counter()

    def chunk(self, row: int, sentences: Iterable[Sentence], title: str, titles: Titles) -> None:
        own = self._entities([title]) if titles != "off" else []
        for sentence in sentences:
            named = self._entities([text for text, kind in sentence.entities if kind not in COUNTS])
            self.in_chunk.update((entity, row) for entity in named)
            if titles == "about":
                named = [*own, *named]
            text = " ".join(sentence.text.split())
            if named and text:
                at = self.sentences.setdefault(text, len(self.sentences))
                self.in_sentence.update((entity, at) for entity in named)
        for entity in own:
            self.in_chunk.setdefault((entity, row), 1)

    def _entities(self, texts: Iterable[str]) -> list[int]:
        names = filter(None, map(normalise_name, texts))
        return [self.names.setdefault(name, len(self.names)) for name in names]


def _sparse(cells: Counter[tuple[int, int]], shape: tuple[int, int]) -> Any:
    from scipy.sparse import csr_matrix

    rows, columns = np.array(list(cells), np.int64).reshape(-1, 2).T
    counts: IntArray = np.array(list(cells.values()), np.int64)
    matrix = csr_matrix((counts, (rows, columns)), shape=shape)
    matrix.sort_indices()
    return matrix


@artifact("graph.entities", provides={"node.name", "relationship.weight"})
def entities(*, tri_graph: TriGraph) -> Graph:
    """The entities of a Tri-Graph as nodes, in its order, each in its chunks; no relationship.

    Source: LinearRAG (Zhuang et al. 2025).
    """
    from scipy.sparse import csr_matrix

    none = np.zeros(0, np.int64)
    n_chunks = tri_graph.entity_chunk.shape[1]
    return Graph(
        names=Texts.of(list(tri_graph.names)),
        source=none,
        target=none,
        weight=np.zeros(0),
        synonym=np.zeros(0, bool),
        relations=Texts.of([]),
        node_chunk=tri_graph.entity_chunk.astype(bool),
        relationship_chunk=csr_matrix((0, n_chunks), dtype=bool),
    )


@artifact("sentence_index")
def sentence_index(*, tri_graph: TriGraph, embedder: Embedder, progress: Progress) -> VectorIndex:
    """One vector for each sentence of a Tri-Graph, in its order."""
    texts = list(tri_graph.sentences)
    return index_texts(texts, embedder, progress, "sentences")
