"""Think-on-Graph's relations: which relations of a node a model would follow."""

import re
from typing import Any

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.path_values import ChosenRelation, Exploration
from graphrag_bench.columns import row_ids
from graphrag_bench.contract import operator
from graphrag_bench.errors import UnreadableReply
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.structured import ReplyFormat, ask_about
from graphrag_bench.prompts import Prompt
from graphrag_bench.text import normalise_name
from graphrag_bench.values import DECIMALS, Node, Question, Ranked, Relationship, unique

PROMPT = Prompt("operators:prompts/relationship_agent.j2")
PURPOSE = "relation scores"
MAX_TOPICS, MAX_RELATIONS = 8, 60
"""Nodes that are asked about, and names that are shown for each; ours."""
_MARK = re.compile(r"^\s*(?:[-*\u2022]|\d+[.)])\s*")
_NUMBER = r"(\d+(?:\.\d+)?|\.\d+)"
_LINE_FORMS = (
    re.compile(rf"^(.*?)\W*\bscore\b\W*?{_NUMBER}", re.IGNORECASE),
    re.compile(rf"^(.*?\w)\W*?[\s:=(,]{_NUMBER}\W*$"),
)
Scored = tuple[tuple[str, float], ...]
"""Names as the model wrote them, with their scores, in the order of the reply."""
Relations = dict[str, tuple[bool, float]]
"""The relations at a node: whether each is followed forward, and its weight."""


@operator(
    "relationship.agent",
    table3="Agent",
    requires={"node.name", "relationship.name"},
    calls=2 * MAX_TOPICS,
    supplies={"question", "entity", "relations", "width"},
)
def agent(
    question: Question,
    nodes: Ranked[Node],
    exploration: Exploration,
    relationships: Ranked[Relationship] | None = None,
    *,
    graph: Graph,
    llm: ChatModel,
    prompt: Prompt = PROMPT,
    width: PositiveInt = 3,
    max_tokens: PositiveInt = 120,
) -> Exploration:
    """The exploration with the relations that the model would follow from each of the nodes.

    The model sees the distinct relation names at a node in alphabetical order (only those in
    `relationships`, where the step uses them) and names up to `width` with scores, 0..1. The
    relation by which the last round arrived is not followed back. Names that the node does not have
    are dropped; one that it has in both directions is followed from its subject. A node without
    relations makes no call and gives none. One whose two replies are unreadable gives none either,
    which counts as a fallback.
    Raises CallFailed when the model gives no reply.
    Deviation: at most the first 8 nodes are asked about, and of more than 60 names those with the
    most weight are shown; ToG bounds neither. The one-hop relationships are found here, where Zhou
    et al. (table 3) name an operator `Onehop` before it.
    Source: Zhou et al. 2025, section 6.1, relationship "Agent"; ToG (Sun et al. 2024), section 2.1.
    """
    among = None if relationships is None else relationships.ids
    topics = unique(nodes.ids.tolist())[:MAX_TOPICS]
    every = [(topic, _relations(graph, topic, exploration, among)) for topic in topics]
    open_topics = [(topic, named) for topic, named in every if named]
    shared = {"question": question.text, "width": width}
    choices = ask_about(
        llm,
        open_topics,
        lambda at: prompt.render(
            {**shared, "entity": graph.names[at[0]], "relations": sorted(at[1])}
        ),
        ReplyFormat(PURPOSE, _read),
        _choices,
        fallback=lambda _: [],
        max_tokens=max_tokens,
    )
    chosen = tuple(choice for some in choices for choice in some[:width])
    return Exploration(chosen, exploration.rounds)


def _relations(graph: Graph, topic: int, exploration: Exploration, among: Any) -> Relations:
    back = {graph.relations[hop.relationship] for hop in exploration.last}
    came = {hop.forward for hop in exploration.last if hop.end(graph) == topic}
    at = row_ids(graph.node_relationship, topic)
    relations: Relations = {}
    for forward, here, there in (
        (True, graph.source, graph.target),
        (False, graph.target, graph.source),
    ):
        rows = at[(here[at] == topic) & (there[at] != topic)]
        if among is not None:
            rows = rows[np.isin(rows, among)]
        for row in rows.tolist():
            name = graph.relations[row]
            if not name or (name in back and (not forward) in came):
                continue
            direction, weight = relations.get(name, (forward, 0.0))
            relations[name] = (direction, weight + float(graph.weight[row]))
    heaviest = sorted(relations, key=lambda name: (-round(relations[name][1], DECIMALS), name))
    return {name: relations[name] for name in heaviest[:MAX_RELATIONS]}


def _choices(scored: Scored, at: tuple[int, Relations]) -> list[ChosenRelation]:
    """The named relations that the node has, each once, best first; ties in the model's order."""
    topic, directions = at
    known = {normalise_name(name): name for name in sorted(directions)}
    best: dict[str, float] = {}
    for named, score in scored:
        if (name := known.get(normalise_name(named))) is not None:
            best.setdefault(name, score)
    order = sorted(best, key=lambda name: -round(best[name], DECIMALS))
    return [ChosenRelation(topic, name, directions[name][0], best[name]) for name in order]


def _read(text: str, cut: bool) -> Scored:
    """The scored names of a reply, truncated or not: `{name (Score: x)}`, or a name and a number.

    Raises UnreadableReply when there is none. Scores of which one is above 1 are divided by their
    sum.
    """
    pairs = [pair for part in re.split(r"[{}\n;]", text) if (pair := _scored(part)) is not None]
    if not pairs:
        raise UnreadableReply(PURPOSE, text)
    whole = sum(score for _, score in pairs) if max(score for _, score in pairs) > 1 else 1.0
    return tuple((name, score / whole) for name, score in pairs)


def _scored(line: str) -> tuple[str, float] | None:
    bare = _MARK.sub("", line)
    for form in _LINE_FORMS:
        if (match := form.search(bare)) and match.group(1).strip(" \t\"'*:-([,"):
            return match.group(1).strip(" \t\"'*:-([,"), float(match.group(2))
    return None
