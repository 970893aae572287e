"""Communities by vector search over their reports, and the members of some."""

from collections.abc import Sequence

import numpy as np
from pydantic import NonNegativeInt, PositiveInt

from graphrag_bench.algorithms.communities import Communities, Reports
from graphrag_bench.contract import operator
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.values import Community, Query, Question, Ranked
from operators.community.entity import reported
from operators.similarity import most_similar


@operator("community.vdb", batched=True)
def vdb(
    question: Sequence[Question],
    query: Sequence[Query | None],
    *,
    community_index: VectorIndex,
    communities: Communities,
    reports: Reports,
    embedder: Embedder,
    level: NonNegativeInt | None = None,
    top_k: PositiveInt = 4,
) -> list[Ranked[Community]]:
    """The communities whose reports are most similar to the question, or to a query used instead.

    Score: cosine, -1..1; of several query texts the best one counts. `level` leaves out what lies
    below it (0 is the coarsest). Communities without a report are left out. Ties by lower id.
    Source: Zhou et al. 2025, technical report, B.1, community "VDB".
    """
    among = np.isin(np.arange(len(communities)), reported(communities, reports, level))
    return most_similar(question, query, community_index, embedder, top_k, among)
