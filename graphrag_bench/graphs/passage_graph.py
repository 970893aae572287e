"""Builder of a graph of passages that share entities."""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from pydantic import PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.arrays import IntArray
from graphrag_bench.columns import Texts, bool_csr, incidence, row_ids
from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.nlp import Nlp
from graphrag_bench.graphs.sentences import named_entities, read_chunks
from graphrag_bench.progress import Progress
from graphrag_bench.text import normalise_name

PASSAGE_ATTRIBUTES = frozenset({"node.description", "relationship.name", "relationship.weight"})
MAX_DF = 500
"""Default of `max_df`. It has an effect only in large corpora."""


@artifact("graph.passage", provides=PASSAGE_ATTRIBUTES)
def passage(
    *, chunk_table: ChunkTable, nlp: Nlp, progress: Progress, max_df: PositiveInt | None = MAX_DF
) -> Graph:
    """Build a graph of passages, with an edge between two passages that share an entity.

    The nodes are the chunks, and the description of a node is the text of its chunk. The entities
    of a passage are its title and the named entities in its text, except numbers and dates.
    Entities are equal if their normalised names are equal. The name of an edge lists the shared
    entities in order of first appearance, and its weight is their number. Entities in more than
    `max_df` passages are ignored, because an entity in m passages joins m (m - 1) / 2 pairs of
    passages. If `max_df` is None, all entities stay. The statistics count all and ignored entities.
    Source: KGP (Wang et al. 2024); Zhou et al. 2025, section 4, and their report, section B.8.
    Deviation: entities are found by spaCy and linked if their names are equal. The authors' code
    asks the web service WAT for Wikipedia titles with a prior probability above 0.8.
    """
    names: dict[str, int] = {}
    mentions: list[list[int]] = []
    for own, sentences in read_chunks(chunk_table, nlp, progress):
        entities = [own, *(name for one in sentences for name in named_entities(one))]
        normal = dict.fromkeys(filter(None, map(normalise_name, entities)))
        mentions.append([names.setdefault(name, len(names)) for name in normal])
    matrix = incidence(mentions, len(names))
    frequency = matrix.getnnz(axis=0)
    frequent = frequency > (len(mentions) if max_df is None else max_df)
    n, by_entity = len(chunk_table), matrix.tocsc()
    codes, of = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for entity in np.flatnonzero(~frequent).tolist():
        passages = np.sort(row_ids(by_entity, entity))
        low, high = np.triu_indices(len(passages), 1)
        codes.append(passages[low] * n + passages[high])
        of.append(np.full(len(low), entity))
    pairs, place = np.unique(np.concatenate(codes), return_inverse=True)
    shared = bool_csr(place, np.concatenate(of), (len(pairs), len(names)))
    relations = Texts.of(list(names)).join_rows(shared, ", ")
    return replace(
        chunks_as_nodes(n, np.stack(np.divmod(pairs, n)), np.diff(shared.indptr), relations),
        descriptions=Texts.of(chunk_table.passages),
        statistics={"entities": len(names), "too_frequent": int(frequent.sum())},
    )


def chunks_as_nodes(n: int, ends: IntArray, weight: ArrayLike, relations: Texts) -> Graph:
    """Return a graph whose nodes are n chunks. `ends` (2, n_edges) has the chunks of each edge."""
    every, m = np.arange(n), ends.shape[1]
    of_edges = bool_csr(np.repeat(np.arange(m), 2), ends.T.ravel(), (m, n))
    names = [f"chunk {row}" for row in range(n)]
    chunks = bool_csr(every, every, (n, n))
    return Graph.from_arrays(ends[0], ends[1], chunks, of_edges, weight, names, relations=relations)
