"""The first rows whose texts fit a number of tokens or the room that a context leaves."""

from collections.abc import Iterable
from itertools import accumulate, takewhile

import numpy as np
from pydantic import NonNegativeInt

from graphrag_bench.algorithms.graph import Graph, nodes_of
from graphrag_bench.contract import operator
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.tokenizer import Tokenizer
from graphrag_bench.prompts import ContextBudget
from graphrag_bench.values import Chunk, Context, Node, Ranked, Relationship
from operators.context.rows import (
    RELATIONSHIPS,
    Form,
    MostRows,
    Share,
    relationship_pieces,
    with_block,
)


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
    fits = ~counted
    fits[np.flatnonzero(counted)[: _n_fitting(texts, tokenizer, tokens)]] = True
    return nodes.take(fits)


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


@operator("relationship.fitting", unordered="the order given")
def fitting(
    relationships: Ranked[Relationship],
    context: Context | None = None,
    *,
    graph: Graph,
    tokenizer: Tokenizer,
    context_budget: ContextBudget,
    top_k: MostRows = "auto",
    share: Share = 1.0,
    form: Form = "table",
) -> Ranked[Relationship]:
    """The first relationships, as many as `context.relationships` with these settings would keep.

    Reordering them then changes nothing else in a prompt.
    Source: ours, for path pooling over prompts that a budget bounds.
    """
    most = context_budget.most_rows("relationship", top_k, RELATIONSHIPS)
    pieces = relationship_pieces(graph, tokenizer, relationships.head(most), form)
    packed = with_block(context, pieces, context_budget, share)
    return relationships.head(len(packed.pieces) - (len(context.pieces) if context else 0))
