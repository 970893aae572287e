"""Chunks to the entity-passage graph: names and titles, each joined to the passages naming it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from pydantic import NonNegativeInt, PositiveInt

from graphrag_bench.columns import Texts
from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.name_dictionary import bare, key_of
from graphrag_bench.models.nlp import NUMERIC, Nlp, Sentence
from graphrag_bench.progress import Progress
from graphrag_bench.text import normalise_name

Passage = dict[str, int]
"""The keys of the names in one passage, with the weight that joins each to it."""


@artifact("graph.entity_passage", provides={"node.name", "relationship.weight"})
def entity_passage(
    *,
    chunk_table: ChunkTable,
    nlp: Nlp,
    progress: Progress,
    title_weight: NonNegativeInt = 3,
    min_chunks: PositiveInt = 1,
) -> Graph:
    """Named entities and passage titles as nodes, each in the chunks that name it; no relationship.

    Entities are those of titles and texts by the tagger, numbers, ordinals, amounts and dates
    aside; a title is an entity as a whole, without what is in brackets. Names lose a leading
    article and a possessive ending, and are one node where they differ in case and accents alone,
    under the first name read. `node_chunk` is int64: `title_weight` for the title of the chunk, 1
    for every other name in it; 0 reads no title at all. Nodes in less than `min_chunks` chunks
    that are no title are left out. Nodes come in order of first mention, the title first. Raises
    UserError when there is no name at all.
    Source: ours; nodes without relationships as in LinearRAG (Zhuang et al. 2025).
    """
    names: dict[str, str] = {}
    passages: list[Passage] = []
    titles = _titles(chunk_table, nlp) if title_weight else {}
    texts = list(chunk_table.texts)
    with progress.task("reading names", len(texts)) as advance:
        for row, sentences in enumerate(nlp.sentences(texts)):
            title, inside = titles.get(chunk_table.titles[row], ([], []))
            told = _keys([*title, *inside, *_named(sentences)], names)
            passages.append(
                dict.fromkeys(told, 1) | dict.fromkeys(_keys(title, names), title_weight)
            )
            advance(1)
    own = {key_of(name) for title, _ in titles.values() for name in title}
    kept = _kept(names, passages, own, min_chunks)
    if not kept:
        raise UserError(
            "The graph has no entities: the tagger found no name in the texts. Likely causes: they "
            "are in another language than its model's, or name nothing."
        )
    return _graph([names[key] for key in kept], kept, passages)


def _titles(chunk_table: ChunkTable, nlp: Nlp) -> dict[str, tuple[list[str], list[str]]]:
    """Each title as a name, and the names inside it; of each of them a list."""
    titles = list(dict.fromkeys(title for title in chunk_table.titles if key_of(bare(title))))
    return {
        title: ([bare(title)], list(_named(sentences)))
        for title, sentences in zip(titles, nlp.sentences(titles), strict=True)
    }


def _named(sentences: Iterable[Sentence]) -> Iterator[str]:
    for sentence in sentences:
        yield from (bare(text) for text, kind in sentence.entities if kind not in NUMERIC)


def _keys(names: Iterable[str], known: dict[str, str]) -> list[str]:
    """The keys of names, in order; what a key is shown as is noted when it first comes.

    A name of a single letter or digit is none.
    """
    found = []
    for name in names:
        key = key_of(name)
        if len(key) > 1:
            known.setdefault(key, normalise_name(name))
            found.append(key)
    return found


def _kept(
    names: Iterable[str], passages: Iterable[Passage], titles: set[str], min_chunks: int
) -> dict[str, int]:
    """The keys of the nodes with their rows."""
    n_chunks = dict.fromkeys(names, 0)
    for passage in passages:
        for key in passage:
            n_chunks[key] += 1
    held = [key for key, n in n_chunks.items() if n >= min_chunks or key in titles]
    return {key: row for row, key in enumerate(held)}


def _graph(names: list[str], rows: dict[str, int], passages: list[Passage]) -> Graph:
    from scipy.sparse import csr_matrix

    cells = [
        (rows[key], chunk, weight)
        for chunk, passage in enumerate(passages)
        for key, weight in passage.items()
        if key in rows
    ]
    nodes, chunks, weights = np.array(cells, np.int64).reshape(-1, 3).T
    node_chunk = csr_matrix((weights, (nodes, chunks)), shape=(len(names), len(passages)))
    node_chunk.sort_indices()
    none = np.zeros(0, np.int64)
    return Graph(
        names=Texts.of(names),
        source=none,
        target=none,
        weight=np.zeros(0),
        synonym=np.zeros(0, bool),
        relations=Texts.of([]),
        node_chunk=node_chunk,
        relationship_chunk=csr_matrix((0, len(passages)), dtype=bool),
    )
