"""The first rows of one search whose texts fit a number of tokens."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate, takewhile

import numpy as np
from pydantic import NonNegativeInt

from graphrag_bench.contract import operator
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.node_types import nodes_of
from graphrag_bench.models.tokenizer import Tokenizer
from graphrag_bench.values import Chunk, Node, Ranked


@operator("node.fitting", unordered="the order given")
def nodes_fitting(
    nodes: Ranked[Node],
    *,
    graph: Graph,
    tokenizer: Tokenizer,
    tokens: NonNegativeInt | None = None,
    types: tuple[str, ...] = (),
) -> Ranked[Node]:
    """The nodes up to the last whose descriptions take at most `tokens` together; all for None.

    With `types` only nodes of these types are counted and left out, and the others stay. A node
    without a description counts by its name.
    Source: HyperGraphRAG (Luo et al. 2025), its release: each search is cut by itself.
    """
    if tokens is None:
        return nodes
    typed = nodes_of(graph, types)
    counted = np.ones(len(nodes), bool) if typed is None else typed[nodes.ids]
    texts = (
        (graph.descriptions[n] if graph.descriptions else "") or graph.names[n]
        for n in nodes.ids[counted].tolist()
    )
    kept = ~counted
    kept[np.flatnonzero(counted)[: _n_fitting(texts, tokenizer, tokens)]] = True
    return nodes.take(kept)


@operator("chunk.fitting", unordered="the order given")
def chunks_fitting(
    chunks: Ranked[Chunk],
    *,
    chunk_table: ChunkTable,
    tokenizer: Tokenizer,
    tokens: NonNegativeInt | None = None,
) -> Ranked[Chunk]:
    """The first chunks that take at most `tokens` together; all for None.

    Source: HyperGraphRAG (Luo et al. 2025), its release: each search is cut by itself.
    """
    if tokens is None:
        return chunks
    texts = (chunk_table.passage(row) for row in chunks.ids.tolist())
    return chunks.head(_n_fitting(texts, tokenizer, tokens))


def _n_fitting(texts: Iterable[str], tokenizer: Tokenizer, most: int) -> int:
    sums = accumulate(map(tokenizer.count, texts))
    return sum(1 for _ in takewhile(lambda n_tokens: n_tokens <= most, sums))
