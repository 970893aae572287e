"""Contexts of ranked rows: chunks, nodes, relationships and community reports."""

import csv
import io
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Annotated, Literal, NamedTuple, TypeVar

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveInt

from graphrag_bench.algorithms.communities import Reports
from graphrag_bench.algorithms.evidence import (
    chunks_of_node,
    chunks_of_relationship,
    chunks_of_report,
)
from graphrag_bench.algorithms.graph import Graph, attributes_of, nodes_of
from graphrag_bench.contract import operator
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.tokenizer import Tokenizer
from graphrag_bench.prompts import UNBOUNDED, ContextBudget
from graphrag_bench.text import fit
from graphrag_bench.values import (
    Chunk,
    Community,
    Context,
    Node,
    Piece,
    Ranked,
    Relationship,
    best_first,
)

Share = Annotated[float, Field(gt=0, le=1)] | Annotated[int, Field(gt=1)]
Row = tuple[str, str, float, tuple[int, ...]]
"""Id, text and score of one row before it is counted, and the chunks whose text stands in it."""
HEADS = {
    "community": "id,content",
    "node": "id,entity,type,description,rank",
    "relationship": "id,source,target,description,keywords,weight,rank",
    "chunk": "id,content",
}
"""The header line of each kind of table."""


def with_block(
    context: Context | None,
    kind: str,
    rows: Sequence[Row],
    tokenizer: Tokenizer,
    budget: ContextBudget,
    share: float = 1.0,
) -> Context:
    """The context with a block: rows in order, as long as the shares so far have room for them.

    Without a budget every row is kept that the block's own tokens (a share above 1) have room for.
    """
    before = context or Context(())
    pieces = [piece_of(kind, row, tokenizer) for row in rows]
    n_tokens = [piece.n_tokens for piece in pieces]
    own, share, n_all = share > 1, budget.share(share), budget.tokens
    allotted = None if n_all is None else min(before.share + share, 1.0) * n_all
    room = math.inf if allotted is None else round(allotted) - before.n_tokens
    n_fitting = fit(n_tokens, min(room, share) if own else room)
    if own:
        share = sum(n_tokens[:n_fitting]) / n_all if n_all else 0.0
    cut = tuple((piece.kind, piece.id) for piece in pieces[n_fitting:])
    return Context(
        (*before.pieces, *pieces[:n_fitting]), (*before.cut, *cut), min(before.share + share, 1.0)
    )


def piece_of(kind: str, row: Row, tokenizer: Tokenizer) -> Piece:
    """Return a row as a piece of the context, with its tokens counted."""
    name, text, score, chunks = row
    return Piece(kind, name, text, score, tokenizer.count(text), chunks=chunks)


def blocks(pieces: Iterable[Piece]) -> list[dict[str, object]]:
    """Runs of pieces of one kind, for templates: `kind`, `head` (the table's header), `rows`."""
    return [
        {"kind": kind, "head": HEADS.get(kind, ""), "rows": [piece.text for piece in run]}
        for kind, run in groupby(pieces, key=lambda piece: piece.kind)
    ]


Form = Literal["text", "table"]
RowForm = Literal["text", "table", "bare"]
Cut = Literal["last", "lowest"]
MostRows = PositiveInt | Literal["auto"] | None
CHUNKS, NODES, RELATIONSHIPS = 4, 40, 200
"""Rows of a block whose step states no `top_k`; they are ours."""
Item = TypeVar("Item")


@operator("context.chunks")
def chunks_context(
    chunks: Ranked[Chunk],
    context: Context | None = None,
    *,
    chunk_table: ChunkTable,
    tokenizer: Tokenizer,
    context_budget: ContextBudget,
    top_k: MostRows = "auto",
    share: Share = 1.0,
    form: Form = "text",
    bounded: bool = True,
) -> Context:
    """The context with the first `top_k` chunks added, best first, as texts or as CSV rows.

    `auto` is 4, and None all of them. A context that is read in groups is not `bounded`. Ids are
    document ids. A chunk of several documents has the first one, and the others in addition.
    Source: Zhou et al. 2025, section 6.2; budget shares of their released code (0.33 for chunks
    next to other blocks).
    """
    rows, also = [], []
    budget = context_budget if bounded else UNBOUNDED
    most = budget.most_rows("chunk", top_k, CHUNKS)
    for position, (row, score) in enumerate(chunks.head(most).items()):
        text = chunk_table.passage(row)
        shown = text if form == "text" else _csv(position, text)
        first, *others = chunk_table.documents_of(row)
        rows.append((first, shown, score, (row,)))
        also.append(tuple(others))
    packed = with_block(context, "chunk", rows, tokenizer, budget, share)
    return _of_all_documents(packed, len(context.pieces) if context else 0, also)


@operator("context.nodes")
def nodes_context(
    nodes: Ranked[Node],
    context: Context | None = None,
    *,
    graph: Graph,
    tokenizer: Tokenizer,
    context_budget: ContextBudget,
    top_k: MostRows = "auto",
    share: Share = 1.0,
    form: RowForm = "table",
    cut: Cut = "last",
    types: tuple[str, ...] = (),
    attributes: NonNegativeInt = 0,
) -> Context:
    """The context with nodes added: name, type, description and degree, or the description alone.

    Behind its description, or in a text its name where it has none, stand as many `attributes` of
    a node as "name: value", those that most chunks state first. Rows keep the order given. Of more
    rows than `top_k` (auto: 40, None: no limit), or than fit, the last are cut; with
    `cut="lowest"` those with the lowest scores, ties by higher id, wherever they are. With `types`
    only nodes of these types are added. A `bare` row is one of the table without the degree.
    Source: Zhou et al. 2025, section 6.2; the entity table of Microsoft GraphRAG's local search;
    PathCoRAG, figure 6 (`bare`).
    """
    typed = nodes_of(graph, types)
    nodes = nodes if typed is None else nodes.take(typed[nodes.ids])
    most = context_budget.most_rows("node", top_k, NODES)
    pack = Packing("node", tokenizer, most, context_budget, share, cut)
    to_rows = partial(node_rows, graph, form=form, n_attributes=attributes)
    return _packed(context, nodes, to_rows, pack)


@operator("context.relationships")
def relationships_context(
    relationships: Ranked[Relationship],
    context: Context | None = None,
    *,
    graph: Graph,
    tokenizer: Tokenizer,
    context_budget: ContextBudget,
    top_k: MostRows = "auto",
    share: Share = 1.0,
    form: RowForm = "table",
    cut: Cut = "last",
) -> Context:
    """The context with relationships added, as CSV rows or as "head, relation, tail" lines.

    The rank of a row is the sum of the degrees of its ends. Rows keep the order given. Of more rows
    than `top_k` (auto: 200, None: no limit), or than fit, the last are cut; with `cut="lowest"`
    those with the lowest scores, ties by higher id, wherever they are. A `bare` row is one of the
    table without weight and rank.
    Source: Zhou et al. 2025, section 6.2; the relationship table of Microsoft GraphRAG; PathCoRAG's
    released code (`bare`).
    """
    most = context_budget.most_rows("relationship", top_k, RELATIONSHIPS)
    pack = Packing("relationship", tokenizer, most, context_budget, share, cut)
    return _packed(context, relationships, partial(relationship_rows, graph, form=form), pack)


class Packing(NamedTuple):
    """A block's kind, how its tokens are counted, and what bounds it."""

    kind: str
    tokenizer: Tokenizer
    top_k: int | None
    budget: ContextBudget
    share: float
    cut: Cut


def _packed(
    context: Context | None,
    ranked: Ranked[Item],
    to_rows: Callable[[Ranked[Item]], list[Row]],
    pack: Packing,
) -> Context:
    """The context with a block of ranked rows, as many as its bounds allow, in the order given.

    `told` words the rows that are kept, numbered in their order.
    """
    bounds = (pack.tokenizer, pack.budget, pack.share)
    if pack.cut == "last":
        return with_block(context, pack.kind, to_rows(ranked.head(pack.top_k)), *bounds)
    ids, scores = ranked.ids, ranked.scores
    best = best_first(scores, ids)[: pack.top_k]
    rows = to_rows(ranked)
    packed = with_block(context, pack.kind, [rows[place] for place in best.tolist()], *bounds)
    before = context.pieces if context else ()
    places = np.sort(best[: len(packed.pieces) - len(before)])
    shown = to_rows(Ranked(ids[places], scores[places]))
    pieces = [piece_of(pack.kind, row, pack.tokenizer) for row in shown]
    return Context((*before, *pieces), packed.cut, packed.share)


def node_rows(graph: Graph, nodes: Ranked[Node], form: RowForm, n_attributes: int = 0) -> list[Row]:
    """Name, text and score of every node, numbered from 0 where they are CSV rows."""
    stored = attributes_of(graph) if n_attributes else None
    degree = graph.degree
    rows = []
    for position, (row, score) in enumerate(nodes.items()):
        name = graph.names[row]
        described = graph.descriptions[row] if graph.descriptions else ""
        kind = graph.types[row] if graph.types else ""
        shown = described or name
        stated: list[int] = []
        if stored is not None and len(best := stored.rows_of(row)[:n_attributes]):
            told = "; ".join(map(stored.text_of, best.tolist()))
            shown, described = f"{shown}. {told}", f"{described} {told}".strip()
            stated = stored.chunk[best].indices.tolist()
        if form != "text":
            cells = (position, name, kind, described)
            shown = _csv(*cells, int(degree[row])) if form == "table" else _csv(*cells)
        chunks = tuple(sorted({*chunks_of_node(graph, row), *stated}))
        rows.append((name, shown, score, chunks))
    return rows


def relationship_rows(
    graph: Graph, relationships: Ranked[Relationship], form: RowForm
) -> list[Row]:
    """Id, text and score of every relationship, numbered from 0 where they are CSV rows."""
    degree = graph.degree
    rows = []
    for position, (row, score) in enumerate(relationships.items()):
        head, tail = int(graph.source[row]), int(graph.target[row])
        said = (graph.facts[row] if graph.facts else "") or graph.relations[row]
        if form != "text":
            words = graph.keywords[row] if graph.keywords else ""
            cells = (position, graph.names[head], graph.names[tail], said, words)
            rank = (f"{float(graph.weight[row]):g}", int(degree[head] + degree[tail]))
            shown = _csv(*cells, *rank) if form == "table" else _csv(*cells)
        else:
            shown = f"{graph.names[head]}, {said}, {graph.names[tail]}"
        rows.append((str(row), shown, score, chunks_of_relationship(graph, row)))
    return rows


@operator("context.communities")
def communities_context(
    communities: Ranked[Community],
    context: Context | None = None,
    *,
    reports: Reports,
    tokenizer: Tokenizer,
    context_budget: ContextBudget,
    top_k: PositiveInt | None = None,
    share: Share = 1.0,
    form: Form = "table",
    bounded: bool = True,
) -> Context:
    """The context with community reports added; communities without a report are skipped.

    The first `top_k` communities count (None: all of them). A context that is read in groups is not
    `bounded`.
    Source: Zhou et al. 2025, section 6.2; budget share 0.27 in their released code.
    """
    rows = []
    for position, (row, score) in enumerate(communities.head(top_k).items()):
        if text := reports.texts[row]:
            shown = text if form == "text" else _csv(position, text)
            rows.append((str(row), shown, score, chunks_of_report(reports, row)))
    budget = context_budget if bounded else UNBOUNDED
    return with_block(context, "community", rows, tokenizer, budget, share)


def _csv(*cells: object) -> str:
    written = io.StringIO()
    csv.writer(written, lineterminator="").writerow(cells)
    return written.getvalue()


def _of_all_documents(packed: Context, n_before: int, also: Sequence[tuple[str, ...]]) -> Context:
    chunks = packed.pieces[n_before:]
    pieces = [replace(piece, also=others) for piece, others in zip(chunks, also, strict=False)]
    cut = [("chunk", name) for others in also[len(pieces) :] for name in others]
    return Context((*packed.pieces[:n_before], *pieces), (*packed.cut, *cut), packed.share)
