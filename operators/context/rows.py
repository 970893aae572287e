"""Operators that add chunks, nodes, relationships and community reports to the context.

If an item is ranked twice, it is added once, at its first rank.
"""

import csv
import io
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Literal, TypeVar

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveInt

from graphrag_bench.algorithms.communities import Reports
from graphrag_bench.algorithms.graph import Graph, attributes_of, nodes_of_types
from graphrag_bench.algorithms.path_values import RankedPaths
from graphrag_bench.arrays import DECIMALS, best_first, unique
from graphrag_bench.contract import operator
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.tokenizer import Tokenizer
from graphrag_bench.prompts import UNBOUNDED, ContextBudget
from graphrag_bench.text import n_fitting
from graphrag_bench.values import Chunk, Community, Context, Node, Path, Piece, Ranked, Relationship

Share = Annotated[float, Field(gt=0, le=1)] | Annotated[int, Field(gt=1)]
HEADERS = {
    "community": "id,content",
    "node": "id,entity,type,description,rank",
    "relationship": "id,source,target,description,keywords,weight,rank",
    "chunk": "id,content",
}
"""The CSV header of each kind of context piece."""


def with_block(
    context: Context | None, pieces: Sequence[Piece], budget: ContextBudget, share: float = 1.0
) -> Context:
    """Add a block of pieces to the context, in order, up to the first piece that does not fit.

    The block may use the fraction `share` of the token budget, and the tokens that earlier blocks
    left unused. If `share` is above 1, it is the maximum number of tokens, even if there is no
    budget. The context's `cut` lists the pieces that are not added.
    """
    before = context or Context(())
    n_tokens, n_all = [piece.n_tokens for piece in pieces], budget.tokens
    allotted = math.inf if n_all is None else round(min(before.share + share, 1.0) * n_all)
    room = allotted - before.n_tokens
    n_fits = n_fitting(n_tokens, min(room, share) if share > 1 else room)
    if share > 1:
        share = sum(n_tokens[:n_fits]) / n_all if n_all else 0.0
    cut = [(piece.kind, piece.id) for piece in pieces[n_fits:]]
    cut += [(piece.kind, name) for piece in pieces[n_fits:] for name in piece.also]
    share = min(before.share + share, 1.0)
    return Context((*before.pieces, *pieces[:n_fits]), (*before.cut, *cut), share)


Form = Literal["text", "table"]
RowForm = Literal["text", "table", "bare"]
Cut = Literal["last", "lowest"]
RowLimit = PositiveInt | Literal["auto"] | None
DEFAULT_CHUNKS, DEFAULT_NODES, DEFAULT_RELATIONSHIPS = 4, 40, 200
"""The default `top_k` of chunks, nodes and relationships. This project chose the values."""
Item = TypeVar("Item")


@operator("context.chunks")
def chunks_context(
    chunks: Ranked[Chunk],
    context: Context | None = None,
    *,
    chunk_table: ChunkTable,
    tokenizer: Tokenizer,
    context_budget: ContextBudget,
    top_k: RowLimit = "auto",
    share: Share = 1.0,
    form: Form = "text",
    bounded: bool = True,
) -> Context:
    """Add the first `top_k` chunks to the context, as text or as CSV rows.

    `top_k="auto"` adds 4 chunks. If `bounded` is false, the context budget is ignored, e.g. because
    a later step divides the context. If the prompt has other blocks, the code of Zhou et al. uses
    `share=0.33` for chunks.
    Source: Zhou et al. (2025), Section 6.2.
    """
    limit = DEFAULT_CHUNKS if top_k == "auto" else top_k
    pieces = []
    for position, (row, score) in enumerate(chunks.distinct().head(limit).items()):
        passage = chunk_table.passage(row)
        text = passage if form == "text" else _csv(position, passage)
        name, *also = chunk_table.documents_of(row)
        pieces.append(Piece("chunk", name, text, score, tokenizer.count(text), tuple(also), (row,)))
    return with_block(context, pieces, context_budget if bounded else UNBOUNDED, share)


@operator("context.nodes")
def nodes_context(
    nodes: Ranked[Node],
    context: Context | None = None,
    *,
    graph: Graph,
    tokenizer: Tokenizer,
    context_budget: ContextBudget,
    top_k: RowLimit = "auto",
    share: Share = 1.0,
    form: RowForm = "table",
    cut: Cut = "last",
    types: tuple[str, ...] = (),
    attributes: NonNegativeInt = 0,
) -> Context:
    """Add nodes to the context, as CSV rows (name, type, description, degree) or as descriptions.

    The CSV rows follow local search in Microsoft GraphRAG. `form="bare"`, as in PathCoRAG, omits
    the degree. `form="text"` writes the description, or the name if there is no description. Up to
    `attributes` attributes follow as "name: value", the most frequent first. If the nodes exceed
    `top_k` ("auto" means 40) or the budget, the last nodes are cut. With `cut="lowest"`, the nodes
    with the lowest scores are cut. All other nodes keep their order.
    Source: Zhou et al. (2025), Section 6.2; PathCoRAG, Figure 6.
    """
    typed = nodes_of_types(graph, types)
    nodes = nodes if typed is None else nodes.take(typed[nodes.ids])
    stored = attributes_of(graph) if attributes else None

    def to_pieces(nodes: Ranked[Node]) -> list[Piece]:
        pieces = []
        for position, (row, score) in enumerate(nodes.items()):
            name, chunks = graph.names[row], {*graph.chunks_of_node(row)}
            described = graph.descriptions[row] if graph.descriptions else ""
            text = described or name
            if stored is not None and len(best := stored.rows_of(row)[:attributes]):
                attribute_texts = "; ".join(map(stored.text_of, best.tolist()))
                text = f"{text}. {attribute_texts}"
                described = f"{described} {attribute_texts}".strip()
                chunks.update(stored.chunk[best].indices.tolist())
            if form != "text":
                cells = (position, name, graph.types[row] if graph.types else "", described)
                text = _csv(*cells, int(graph.degree[row])) if form == "table" else _csv(*cells)
            n_tokens, quoted = tokenizer.count(text), tuple(sorted(chunks))
            pieces.append(Piece("node", name, text, score, n_tokens, chunks=quoted))
        return pieces

    limit = DEFAULT_NODES if top_k == "auto" else top_k
    return _packed(context, nodes, to_pieces, limit, context_budget, share, cut)


@operator("context.relationships")
def relationships_context(
    relationships: Ranked[Relationship],
    context: Context | None = None,
    *,
    graph: Graph,
    tokenizer: Tokenizer,
    context_budget: ContextBudget,
    top_k: RowLimit = "auto",
    share: Share = 1.0,
    form: RowForm = "table",
    cut: Cut = "last",
) -> Context:
    """Add relationships to the context, as CSV rows or as "head, relation, tail" lines.

    The CSV rows follow Microsoft GraphRAG. Their column `rank` is the degree of the head plus the
    degree of the tail. `form="bare"`, as in PathCoRAG, omits weight and rank. With `top_k="auto"`,
    at most 200 relationships are added. Order and `cut` are as in `context.nodes`.
    Source: Zhou et al. (2025), Section 6.2.
    """
    limit = DEFAULT_RELATIONSHIPS if top_k == "auto" else top_k
    to_pieces = partial(_relationship_pieces, graph, tokenizer, form=form)
    return _packed(context, relationships, to_pieces, limit, context_budget, share, cut)


def _packed(
    context: Context | None,
    ranked: Ranked[Item],
    to_pieces: Callable[[Ranked[Item]], list[Piece]],
    limit: int | None,
    budget: ContextBudget,
    share: float,
    cut: Cut,
) -> Context:
    ranked = ranked.distinct()
    if cut == "last":
        return with_block(context, to_pieces(ranked.head(limit)), budget, share)
    best = best_first(ranked.scores, ranked.ids)[:limit]
    pieces = to_pieces(ranked)
    packed = with_block(context, [pieces[place] for place in best.tolist()], budget, share)
    before = context.pieces if context else ()
    places = np.sort(best[: len(packed.pieces) - len(before)])
    numbered_anew = to_pieces(ranked.take(places))
    return replace(packed, pieces=(*before, *numbered_anew))


def _relationship_pieces(
    graph: Graph, tokenizer: Tokenizer, relationships: Ranked[Relationship], form: RowForm
) -> list[Piece]:
    pieces = []
    for position, (row, score) in enumerate(relationships.items()):
        head, tail = int(graph.source[row]), int(graph.target[row])
        fact = (graph.facts[row] if graph.facts else "") or graph.relations[row]
        text = f"{graph.names[head]}, {fact}, {graph.names[tail]}"
        if form != "text":
            words = graph.keywords[row] if graph.keywords else ""
            cells = (position, graph.names[head], graph.names[tail], fact, words)
            rank = (f"{float(graph.weight[row]):g}", int(graph.degree[head] + graph.degree[tail]))
            text = _csv(*cells, *rank) if form == "table" else _csv(*cells)
        n_tokens, chunks = tokenizer.count(text), graph.chunks_of_relationship(row)
        pieces.append(Piece("relationship", str(row), text, score, n_tokens, chunks=chunks))
    return pieces


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
    """Add the first `top_k` community reports to the context, as text or as CSV rows.

    Communities without a report are skipped. If `bounded` is false, the context budget is ignored.
    The code of Zhou et al. uses a `share` of 0.27.
    Source: Zhou et al. (2025), Section 6.2.
    """
    pieces = []
    for position, (row, score) in enumerate(communities.distinct().head(top_k).items()):
        if report := reports.texts[row]:
            text = report if form == "text" else _csv(position, report)
            n_tokens, chunks = tokenizer.count(text), reports.chunks_of(row)
            pieces.append(Piece("community", str(row), text, score, n_tokens, chunks=chunks))
    return with_block(context, pieces, context_budget if bounded else UNBOUNDED, share)


def _csv(*cells: object) -> str:
    written = io.StringIO()
    csv.writer(written, lineterminator="").writerow(cells)
    return written.getvalue()


@operator("node.fitting", order="the order given")
def nodes_fitting(
    nodes: Ranked[Node],
    *,
    graph: Graph,
    tokenizer: Tokenizer,
    tokens: NonNegativeInt | None = None,
    types: tuple[str, ...] = (),
) -> Ranked[Node]:
    """Return the highest-ranked nodes whose descriptions together fit into `tokens` tokens.

    The name replaces a missing description. If `types` is not empty, the limit applies only to
    nodes of these types, and all other nodes are kept.
    Source: HyperGraphRAG (Luo et al. 2025), code.
    """
    if tokens is None:
        return nodes
    typed, described = nodes_of_types(graph, types), graph.descriptions or [""] * graph.n_nodes
    fits = np.zeros(len(nodes), bool) if typed is None else ~typed[nodes.ids]
    counted = np.flatnonzero(~fits)
    texts = (described[node] or graph.names[node] for node in nodes.ids[counted].tolist())
    fits[counted[: n_fitting([tokenizer.count(text) for text in texts], tokens)]] = True
    return nodes.take(fits)


@operator("chunk.fitting", order="the order given")
def chunks_fitting(
    chunks: Ranked[Chunk],
    *,
    chunk_table: ChunkTable,
    tokenizer: Tokenizer,
    tokens: NonNegativeInt | None = None,
) -> Ranked[Chunk]:
    """Return the highest-ranked chunks, as many as fit into `tokens` tokens.

    Source: HyperGraphRAG (Luo et al. 2025), code.
    """
    if tokens is None:
        return chunks
    n_tokens = [tokenizer.count(chunk_table.passage(row)) for row in chunks.ids.tolist()]
    return chunks.head(n_fitting(n_tokens, tokens))


@operator("relationship.fitting", order="the order given")
def fitting(
    relationships: Ranked[Relationship],
    context: Context | None = None,
    *,
    graph: Graph,
    tokenizer: Tokenizer,
    context_budget: ContextBudget,
    top_k: RowLimit = "auto",
    share: Share = 1.0,
    form: Form = "table",
) -> Ranked[Relationship]:
    """Return the relationships that `context.relationships` would add to the context.

    The context does not change. A later operator can reorder the relationships.
    Source: this project.
    """
    limit = DEFAULT_RELATIONSHIPS if top_k == "auto" else top_k
    relationships = relationships.distinct()
    pieces = _relationship_pieces(graph, tokenizer, relationships.head(limit), form)
    packed = with_block(context, pieces, context_budget, share)
    return relationships.head(len(packed.pieces) - (len(context.pieces) if context else 0))


EdgeText = Literal["description", "keywords"]
Line = tuple[str, tuple[int, ...]]
"""A line of text, and the ids of the chunks quoted in the line, in ascending order."""


@operator("context.paths")
def paths_context(
    paths: RankedPaths,
    context: Context | None = None,
    *,
    graph: Graph,
    tokenizer: Tokenizer,
    context_budget: ContextBudget,
    share: Share = 1.0,
    order: Literal["ascending", "descending", "hop_first", "random"] = "ascending",
    edge_text: EdgeText = "description",
    form: Literal["path", "flat", "names"] = "path",
    seed: NonNegativeInt = 0,
    show: bool = True,
) -> Context:
    """Add paths to the context, as the texts of the nodes and relationships along each path.

    If not all paths fit the budget, those with the lowest scores are cut. With `form="path"` and
    the order `ascending`, the best path is last. With `hop_first`, the path with the fewest hops is
    last, and ties are in random order. `form="flat"` lists the distinct nodes of all paths in
    random order, then the distinct relationships in random order. `form="names"`, as in PathCoRAG,
    writes one line of node names per path. These lines are sorted by transition between reasoning
    steps, then by score. `hop_first`, `random`, `flat` and `show=False` (no text) are ablations.
    Source: PathRAG (Chen et al. 2025), Equation 5; arXiv v1, Appendix D; PathCoRAG, Section 4.4.
    """
    if not show:
        return with_block(context, (), context_budget, share)
    best = sorted(paths.paths, key=lambda p: (-round(p.score, DECIMALS), len(p.nodes), p.nodes))
    lines = _numbered(graph, best) if form == "names" else _worded(graph, best, edge_text)
    pieces = _pieces(lines, [path.score for path in best], tokenizer)
    packed = with_block(context, pieces, context_budget, share)
    n_before = len(context.pieces) if context else 0
    pieces = list(packed.pieces[n_before:])
    best = best[: len(pieces)]
    chance, rows = np.random.default_rng(seed), list(range(len(best)))
    if form == "flat":
        nodes = unique([node for path in best for node in path.nodes])
        hops = unique([row for path in best for row in path.relationships])
        lines = [_node(graph, nodes[place]) for place in chance.permutation(len(nodes)).tolist()]
        places = chance.permutation(len(hops)).tolist()
        lines += [_hop(graph, hops[place], edge_text) for place in places]
        pieces, rows = _pieces(lines, [0.0] * len(lines), tokenizer), list(range(len(lines)))
    elif form == "names":
        rows.sort(key=lambda row: best[row].transition)
    elif order == "ascending":
        rows.reverse()
    elif order != "descending":
        rows = chance.permutation(len(rows)).tolist()
        if order == "hop_first":
            rows.sort(key=lambda row: -len(best[row].relationships))
    placed = (pieces[row] for row in rows)
    return Context((*packed.pieces[:n_before], *placed), packed.cut, packed.share)


def _pieces(lines: list[Line], scores: list[float], tokenizer: Tokenizer) -> list[Piece]:
    return [
        Piece("path", str(row), text, score, tokenizer.count(text), chunks=chunks)
        for row, ((text, chunks), score) in enumerate(zip(lines, scores, strict=True))
    ]


def _worded(graph: Graph, paths: Sequence[Path], edge_text: EdgeText) -> list[Line]:
    lines = []
    for path in paths:
        parts = [_node(graph, path.nodes[0])]
        for row, node in zip(path.relationships, path.nodes[1:], strict=True):
            parts += [_hop(graph, row, edge_text), _node(graph, node)]
        chunks = tuple(sorted({chunk for _, some in parts for chunk in some}))
        lines.append((" -> ".join(text for text, _ in parts if text), chunks))
    return lines


def _node(graph: Graph, node: int) -> Line:
    kind = graph.types[node] if graph.types else ""
    described = graph.descriptions[node] if graph.descriptions else ""
    named = f"{graph.names[node]} ({kind})" if kind else graph.names[node]
    return f"{named}: {described}" if described else named, graph.chunks_of_node(node)


def _hop(graph: Graph, row: int, edge_text: EdgeText) -> Line:
    if edge_text == "keywords" and graph.keywords and graph.keywords[row]:
        return graph.keywords[row], ()
    fact = graph.facts[row] if graph.facts else ""
    return fact or graph.relations[row], graph.chunks_of_relationship(row)


def _numbered(graph: Graph, paths: Sequence[Path]) -> list[Line]:
    counts: Counter[int] = Counter()
    lines: list[Line] = []
    for path in paths:
        counts[path.transition] += 1
        names = " → ".join(f'"{graph.names[node]}"' for node in path.nodes)
        lines.append((f"[S{path.transition}:{counts[path.transition]}] {names}", ()))
    return lines
