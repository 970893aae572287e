"""Graphs of names without relationships: names and titles joined to the passages naming them."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from pydantic import NonNegativeInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.name_dictionary import Merge
from graphrag_bench.columns import in_order
from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.embedding.nlp import NUMERIC, Nlp, Sentence
from graphrag_bench.errors import UserError
from graphrag_bench.graphs.resolution import ChunkNames, Name, merged_names
from graphrag_bench.progress import Progress
from graphrag_bench.text import normalise_name
from graphrag_bench.values import IntArray

NamedTitles = dict[str, tuple[Name, tuple[Name, ...]]]
"""Each title as a name, with the names inside it."""

BRACKETS = "brackets"
"""The rule of titles that lost what is in brackets, which they always do."""
NO_NAMES = (
    "The graph has no entities: the tagger found no name in the texts. Likely causes: they are in "
    "another language than its model's, or name nothing."
)


@artifact("graph.entity_passage", provides={"node.name", "relationship.weight"})
def entity_passage(
    *,
    corpus: Dataset,
    chunk_table: ChunkTable,
    nlp: Nlp,
    progress: Progress,
    title_weight: NonNegativeInt = 3,
) -> Graph:
    """Named entities and passage titles as nodes, each in the chunks that name it; no relationship.

    Entities are those of titles and texts by the tagger, without numbers, ordinals, amounts and
    dates; a title is an entity as a whole, without what is in brackets. Names lose a leading
    article and a possessive ending, and are one node where only case and accents differ, under
    the first name read. Redirects of the corpus and acronyms that a text defines are nodes under
    the name that they stand for; the graph's `merges` list them. `node_chunk` is int64:
    `title_weight` for the title of the chunk, 1 for every other name in it; 0 reads no titles.
    Nodes come in order of first mention, the title first. Raises UserError when there is no name.
    Source: ours; nodes without relationships as in LinearRAG (Zhuang et al. 2025).
    """
    titles = read_titles(chunk_table, nlp) if title_weight else {}
    readings = read_names(chunk_table, nlp, titles, progress)
    redirects = {row.id: row.aliases for row in corpus.documents if row.aliases}
    stands_for, merged = merged_names(readings, redirects)
    merges = (*_bracketed(chunk_table, titles), *merged)
    if counts := Counter(merge.rule for merge in merges):
        counted = ", ".join(f"{n:,} by {rule}" for rule, n in counts.items())
        progress.say(f"names merged: {counted} (graph/merges.jsonl)")
    names: dict[str, str] = {}
    weights: dict[tuple[str, int], int] = {}
    for chunk, row in enumerate(readings):
        for name in (stands_for.get(name.key, name) for name in row.every):
            names.setdefault(name.key, name.shown)
            weights[name.key, chunk] = 1
        if row.title:
            weights[row.title.key, chunk] = title_weight
    if not names:
        raise UserError(NO_NAMES)
    row_of = {key: row for row, key in enumerate(names)}
    cells = {(row_of[key], chunk): weight for (key, chunk), weight in weights.items()}
    matrix = counts_by_cell(cells, (len(names), len(readings)))
    graph = Graph.from_arrays([], [], matrix, names=list(names.values()))
    return replace(graph, merges=merges)


def read_titles(chunk_table: ChunkTable, nlp: Nlp) -> NamedTitles:
    """Return each title as a name, with the names inside it."""
    texts = [title for title in dict.fromkeys(chunk_table.titles) if Name.of(title).key]
    name_of = cache(Name.of)
    return {
        title: (Name.of(title), tuple(_named(sentences, name_of)))
        for title, sentences in zip(texts, nlp.sentences(texts), strict=True)
    }


def _named(sentences: Iterable[Sentence], name_of: Callable[[str], Name]) -> Iterator[Name]:
    entities = (entity for sentence in sentences for entity in sentence.entities)
    return (name_of(text) for text, label in entities if label not in NUMERIC)


def read_names(
    chunk_table: ChunkTable, nlp: Nlp, titles: NamedTitles, progress: Progress
) -> list[ChunkNames]:
    """Return the names of each chunk, those inside the title first; a letter is no name."""
    readings, name_of = [], cache(Name.of)
    texts = list(chunk_table.texts)
    with progress.task("reading names", len(texts)) as advance:
        for row, sentences in enumerate(nlp.sentences(texts)):
            title, inside = titles.get(chunk_table.titles[row], (None, ()))
            every = (*inside, *_named(sentences, name_of))
            names = tuple(name for name in every if len(name.key) > 1)
            own = title if title and len(title.key) > 1 else None
            readings.append(ChunkNames(chunk_table.documents_of(row)[0], own, names, texts[row]))
            advance(1)
    return readings


def _bracketed(chunk_table: ChunkTable, titles: NamedTitles) -> Iterator[Merge]:
    first_row = {title: row for row, title in reversed(list(enumerate(chunk_table.titles)))}
    for title, (name, _) in titles.items():
        if "(" in title or "[" in title:
            document = chunk_table.documents_of(first_row[title])[0]
            yield Merge(normalise_name(title), name.shown, BRACKETS, document)


def counts_by_cell(cells: Mapping[tuple[int, int], int], shape: tuple[int, int]) -> Any:
    """Return the int64 CSR of that shape with these counts by (row, column)."""
    from scipy.sparse import csr_matrix

    rows, columns = np.array(list(cells), np.int64).reshape(-1, 2).T
    counts: IntArray = np.array(list(cells.values()), np.int64)
    return in_order(csr_matrix((counts, (rows, columns)), shape=shape))
