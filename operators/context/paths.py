"""Operator that adds paths of the graph to the context of the answering prompt."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import NonNegativeInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.path_values import RankedPaths
from graphrag_bench.contract import operator
from graphrag_bench.embedding.tokenizer import Tokenizer
from graphrag_bench.prompts import ContextBudget
from graphrag_bench.values import DECIMALS, Context, Path, Piece, unique
from operators.context.rows import Share, with_block

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
    writes the names of the nodes of each path in one line, sorted by transition between reasoning
    steps, then by score. `hop_first`, `random`, `flat` and `show=False` are ablations.
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
