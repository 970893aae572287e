"""Subgraph operators: paths between nodes, a prize-collecting tree, triples that a model picks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy as np
from pydantic import Field, PositiveInt

from graphrag_bench.contract import operator
from graphrag_bench.errors import UnreadableReply
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.paths import khop_paths, triple
from graphrag_bench.graph.steiner import prized_subgraph, relationship_prizes
from graphrag_bench.llm.calls import CallFailed
from graphrag_bench.llm.chat import LLM
from graphrag_bench.llm.structured import Reading, ask_each, settled
from graphrag_bench.prompts import Prompt
from graphrag_bench.text import normalise_name
from graphrag_bench.values import (
    Node,
    Question,
    Ranked,
    Relationship,
    Subgraph,
    best_first,
    unique,
)

PROMPT = Prompt("operators:prompts/agent_path.j2")
PURPOSE = "reranked triples"
_ARROW = re.compile(r"\s*(?:[-\u2010-\u2015=]+>|\u2192)\s*")
_LABEL = re.compile(
    r"^\W*(?:reranked[\s_]*)?(?:(?:triple|fact)[\s_]*)?(?:\d+\s*[.):])?[\s:]*", re.IGNORECASE
)


@operator("subgraph.khop_path")
def khop_path(nodes: Ranked[Node], *, graph: Graph, khop: PositiveInt = 2) -> Subgraph:
    """The paths that join the nodes within `khop` hops of each other, and what lies on them.

    A path starts at the first remaining node, continues to the nearest other one (ties by lower
    id), and ends when none is within reach; its nodes are then no longer remaining. A node that
    reaches no other gives no path, and no path contains another. Synonymy edges count as hops.
    The released code of Zhou et al. effectively runs khop 5.
    Source: Zhou et al. 2025, section 6.1, subgraph "KhopPath"; DALK (Li et al. 2024), section 3.2.
    """
    paths = khop_paths(graph, nodes.ids.tolist(), khop)
    return Subgraph(
        unique([node for path in paths for node in path.nodes]),
        unique([row for path in paths for row in path.relationships]),
        tuple(paths),
    )


@operator("subgraph.steiner")
def steiner(
    nodes: Ranked[Node],
    relationships: Ranked[Relationship],
    *,
    graph: Graph,
    n_values: PositiveInt = 4,
    cost: Annotated[float, Field(gt=0)] = 0.5,
) -> tuple[Subgraph, Ranked[Node], Ranked[Relationship]]:
    """The prize-collecting Steiner tree of the graph, its nodes and its relationships by prize.

    Of k given nodes the best has the prize k, the next k - 1, and so on to 1; the best `n_values`
    distinct similarities of the relationships earn theirs as `relationship_prizes` says. Every
    row costs at most `cost`. The score of a node or row is its prize, 0 for those that only
    connect. Ties by lower id. Without a prize nothing is found; nodes without relationships
    give the best one alone.
    Source: G-retriever (He et al. 2024), section 5.3; Zhou et al. 2025, section 6.1, subgraph
    "Steiner" (their text says Steiner tree, both codes solve the prize-collecting one).
    """
    node_prizes, prizes = np.zeros(graph.n_nodes), np.zeros(graph.n_relationships)
    best = unique(nodes.ids[best_first(nodes.scores, nodes.ids)].tolist())
    node_prizes[list(best)] = np.arange(len(best), 0, -1)
    prizes[relationships.ids] = relationship_prizes(relationships.scores, n_values)
    found, rows = prized_subgraph(graph, node_prizes, prizes, cost)
    by_prize = Ranked[Node].top(node_prizes, None, among=found)
    rows_by_prize = Ranked[Relationship].top(prizes, None, among=rows)
    subgraph = Subgraph(tuple(by_prize.ids.tolist()), tuple(rows_by_prize.ids.tolist()))
    return subgraph, by_prize, rows_by_prize


@operator(
    "subgraph.agent_path",
    requires={"node.name"},
    calls=2,
    supplies={"question", "paths", "top_k"},
)
def agent_path(
    question: Question,
    subgraph: Subgraph | None = None,
    relationships: Ranked[Relationship] | None = None,
    *,
    graph: Graph,
    llm: LLM,
    prompt: Prompt = PROMPT,
    top_k: PositiveInt = 5,
    max_triples: PositiveInt = 60,
    max_tokens: PositiveInt = 240,
) -> Subgraph:
    """The up to `top_k` triples that the model finds most helpful, best first, as a subgraph.

    A step uses `subgraph` (its paths, or its rows where it has none), `relationships`, or both;
    paths are shown whole, as triples in the direction that is stored, the first `max_triples` of
    all. A triple of the reply that is among those becomes its row, in whichever direction it is
    written; any other is kept as text. After a reply without a triple the model is asked once more;
    then the first `top_k` triples shown are used, which counts as a fallback. Without a triple to
    show no call is made. Raises CallFailed when the model gives no reply.
    Source: Zhou et al. 2025, section 6.1, subgraph "AgentPath"; DALK (Li et al. 2024), section 3.3.
    """
    paths = _shown(subgraph, relationships, max_triples)
    rows = unique([row for path in paths for row in path])
    if not rows:
        return Subgraph()
    written = {row: triple(graph, row) for row in rows}
    lines = [[" -> ".join(written[row]) for row in path] for path in paths]
    chat = prompt.render({"question": question.text, "paths": lines, "top_k": top_k})
    (reply,) = ask_each(llm, [chat], Reading(PURPOSE, _triples), max_tokens=max_tokens)
    if isinstance(reply, CallFailed):
        raise reply
    said = settled(llm, reply, tuple(written[row] for row in rows))[:top_k]
    return _chosen(graph, said, written)


def _shown(
    subgraph: Subgraph | None, relationships: Ranked[Relationship] | None, most: int
) -> list[tuple[int, ...]]:
    held = subgraph or Subgraph()
    paths = [path.relationships for path in held.paths]
    single = [] if paths else list(held.relationships)
    single += [] if relationships is None else relationships.ids.tolist()
    shown: list[tuple[int, ...]] = []
    seen: dict[int, None] = {}
    for path in [*paths, *((row,) for row in single)]:
        new = tuple(row for row in unique(path) if row not in seen)[: most - len(seen)]
        if new:
            shown.append(new)
            seen.update(dict.fromkeys(new))
    return shown


def _triples(text: str, cut: bool) -> tuple[tuple[str, ...], ...]:
    """Two or three parts with arrows between, line by line; the last line of a cut reply is left.

    Raises UnreadableReply when there is none.
    """
    lines = re.split(r"[\n;]", text)
    found = []
    for line in lines[:-1] if cut and len(lines) > 1 else lines:
        parts = [part.strip(" .,'\"*`()[]{}") for part in _ARROW.split(_LABEL.sub("", line))]
        if len(parts) in (2, 3) and all(parts):
            found.append(tuple(parts))
    if not found:
        raise UnreadableReply(PURPOSE, text)
    return tuple(dict.fromkeys(found))


def _chosen(
    graph: Graph, said: Sequence[tuple[str, ...]], written: Mapping[int, tuple[str, str, str]]
) -> Subgraph:
    row_of: dict[tuple[str, ...], int] = {}
    for backwards in (True, False):
        for row, parts in reversed(list(written.items())):
            head, relation, tail = (normalise_name(part) for part in parts)
            ends = (tail, head) if backwards else (head, tail)
            row_of[ends] = row_of[ends[0], relation, ends[1]] = row
    found = [(row_of.get(tuple(normalise_name(part) for part in one)), one) for one in said]
    rows = unique([row for row, _ in found if row is not None])
    texts = unique([" -> ".join(one) for row, one in found if row is None])
    nodes = [int(end[row]) for row in rows for end in (graph.source, graph.target)]
    return Subgraph(unique(nodes), rows, (), texts)
