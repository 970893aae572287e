"""Contexts of paths: lines from node to node, or the nodes and relationships on them."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import NonNegativeInt

from graphrag_bench.algorithms.evidence import chunks_of_node, chunks_of_relationship
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.path_values import RankedPaths
from graphrag_bench.contract import operator
from graphrag_bench.embedding.tokenizer import Tokenizer
from graphrag_bench.prompts import ContextBudget
from graphrag_bench.values import DECIMALS, Context, Path, Piece, unique
from operators.context.rows import Share, with_block

Order = Literal["ascending", "descending", "hop_first", "random"]
EdgeText = Literal["description", "keywords"]


@operator("context.paths")
def paths_context(
    paths: RankedPaths,
    context: Context | None = None,
    *,
    graph: Graph,
    tokenizer: Tokenizer,
    context_budget: ContextBudget,
    share: Share = 1.0,
    order: Order = "ascending",
    edge_text: EdgeText = "description",
    form: Literal["path", "flat", "names"] = "path",
    seed: NonNegativeInt = 0,
    show: bool = True,
) -> Context:
    """The context with the paths added: node text, relationship text, node text, along each path.

    The budget cuts the paths with the lowest scores. Those kept are ordered: best last
    (`ascending`), best first, fewest hops last with ties at random (`hop_first`), or at random
    (`random`). `form="flat"` lists what is on the same paths: their nodes, each once, then their
    relationships, both in random order. `form="names"` lists only their nodes' names, numbered
    within the transition between two reasoning steps, transition by transition, best first.

    Source: PathRAG (Chen et al. 2025), equation 5; arXiv v1, appendices D.1 and D.2 (its ablations
    of prompt order and of the flat prompt); PathCoRAG, section 4.4 and figure 6 (`names`).
    """
    if not show:
        return with_block(context, "path", [], tokenizer, context_budget, share)
    best = sorted(paths.paths, key=lambda p: (-round(p.score, DECIMALS), len(p.nodes), p.nodes))
    numbered = form == "names"
    shown = _numbered(graph, best) if numbered else [path_text(graph, p, edge_text) for p in best]
    rows = [
        (str(row), text, path.score, () if numbered else path_chunks(graph, path, edge_text))
        for row, (path, text) in enumerate(zip(best, shown, strict=True))
    ]
    packed = with_block(context, "path", rows, tokenizer, context_budget, share)
    n_before = len(context.pieces) if context else 0
    kept = packed.pieces[n_before:]
    held = best[: len(kept)]
    if form == "flat":
        told = [
            Piece("path", str(row), text, 0.0, tokenizer.count(text), chunks=chunks)
            for row, (text, chunks) in enumerate(_flat(graph, held, edge_text, seed))
        ]
    elif numbered:
        told = [kept[row] for row in sorted(range(len(held)), key=lambda r: held[r].transition)]
    else:
        told = [kept[row] for row in _ordered(held, order, seed)]
    return Context((*packed.pieces[:n_before], *told), packed.cut, packed.share)


def path_text(graph: Graph, path: Path, edge_text: EdgeText) -> str:
    """The path in words: `name (type): description` of its nodes, and what joins them."""
    parts = [node_text(graph, path.nodes[0])]
    for row, node in zip(path.relationships, path.nodes[1:], strict=True):
        parts += [relationship_text(graph, row, edge_text), node_text(graph, node)]
    return " -> ".join(part for part in parts if part)


def path_chunks(graph: Graph, path: Path, edge_text: EdgeText) -> tuple[int, ...]:
    """The chunks of which text stands in the words of a path, ascending."""
    parts = [chunks_of_node(graph, node) for node in path.nodes]
    parts += [_hop_chunks(graph, row, edge_text) for row in path.relationships]
    return tuple(sorted({chunk for part in parts for chunk in part}))


def node_text(graph: Graph, node: int) -> str:
    """`name (type): description`, as far as the graph has them."""
    kind = graph.types[node] if graph.types else ""
    described = graph.descriptions[node] if graph.descriptions else ""
    named = f"{graph.names[node]} ({kind})" if kind else graph.names[node]
    return f"{named}: {described}" if described else named


def relationship_text(graph: Graph, row: int, edge_text: EdgeText) -> str:
    """The description or keywords of a relationship; its name where it has none."""
    columns = (graph.keywords, graph.facts) if edge_text == "keywords" else (graph.facts,)
    return next((column[row] for column in columns if column and column[row]), graph.relations[row])


def _hop_chunks(graph: Graph, row: int, edge_text: EdgeText) -> tuple[int, ...]:
    worded = edge_text == "keywords" and graph.keywords is not None and graph.keywords[row]
    return () if worded else chunks_of_relationship(graph, row)


def _ordered(paths: Sequence[Path], order: Order, seed: int) -> list[int]:
    rows = list(range(len(paths)))
    if order == "descending":
        return rows
    if order == "ascending":
        return rows[::-1]
    shuffled: list[int] = np.random.default_rng(seed).permutation(len(rows)).tolist()
    if order == "hop_first":
        return sorted(shuffled, key=lambda row: -len(paths[row].relationships))
    return shuffled


def _flat(
    graph: Graph, paths: Sequence[Path], edge_text: EdgeText, seed: int
) -> list[tuple[str, tuple[int, ...]]]:
    chance = np.random.default_rng(seed)
    nodes = unique([node for path in paths for node in path.nodes])
    rows = unique([row for path in paths for row in path.relationships])
    nodes = tuple(nodes[place] for place in chance.permutation(len(nodes)).tolist())
    texts = [(node_text(graph, node), chunks_of_node(graph, node)) for node in nodes]
    return texts + [
        (relationship_text(graph, row, edge_text), _hop_chunks(graph, row, edge_text))
        for row in (rows[place] for place in chance.permutation(len(rows)).tolist())
    ]


def _numbered(graph: Graph, paths: Sequence[Path]) -> list[str]:
    counts: Counter[int] = Counter()
    lines = []
    for path in paths:
        counts[path.transition] += 1
        names = " → ".join(f'"{graph.names[node]}"' for node in path.nodes)
        lines.append(f"[S{path.transition}:{counts[path.transition]}] {names}")
    return lines
