"""Think-on-Graph's nodes: where an exploration starts, and where a model would go next."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.path_values import ChosenRelation, Exploration, Hop
from graphrag_bench.columns import row_ids
from graphrag_bench.contract import operator
from graphrag_bench.errors import UnreadableReply
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.structured import ReplyFormat, ask_about
from graphrag_bench.prompts import Prompt
from graphrag_bench.values import DECIMALS, Node, Question, Ranked, best_of

PROMPT = Prompt("operators:prompts/node_agent.j2")
PURPOSE = "entity scores"
MAX_CANDIDATES = 20
"""Candidates of a relation that are scored; ours."""
_NUMBER = re.compile(r"(?<![\w.])(?:\d+(?:\.\d+)?|\.\d+)(?![\w])")
Group = tuple[ChosenRelation, tuple[Hop, ...]]
"""A chosen relation and the hops along it, one per candidate."""


@operator("node.topics", unordered="the order of the nodes")
def topics(nodes: Ranked[Node]) -> tuple[Ranked[Node], Exploration]:
    """The nodes to explore from, each once, and the exploration that has found nothing yet.

    Source: ToG (Sun et al. 2024), section 2.1, initialisation.
    """
    _, first = np.unique(nodes.ids, return_index=True)
    return nodes.take(np.sort(first)), Exploration()


@operator(
    "node.agent",
    table3="Agent",
    requires={"node.name", "relationship.name"},
    calls=lambda settings: int(settings["max_groups"]),
    supplies={"question", "topic", "relation", "candidates"},
)
def agent(
    question: Question,
    exploration: Exploration,
    nodes: Ranked[Node] | None = None,
    *,
    graph: Graph,
    llm: ChatModel,
    prompt: Prompt = PROMPT,
    width: PositiveInt = 3,
    max_groups: PositiveInt = 24,
    max_tokens: PositiveInt = 160,
) -> tuple[Ranked[Node], Exploration]:
    """The nodes to go to next, and the exploration with the hops to them as its next round.

    The candidates of a chosen relation are the nodes at its other end (only those in `nodes`, where
    the step uses them). A single candidate has the relation's score. Of several, the model says how
    much each helps, 0..1, in one call per relation. The best `width` hops of all are kept, ordered
    by score, then by relation and candidate; score 0 is dropped. A reply without exactly one number
    per candidate counts as equal scores (and as a fallback). Without a hop there is no node, and no
    path.
    Raises CallFailed when the model gives no reply.
    Deviation: of more than 20 candidates the heaviest are scored, ties by lower id; ToG samples
    at random. Of more than `max_groups` relations the first are followed.
    Source: Zhou et al. 2025, section 6.1, node "Agent"; ToG (Sun et al. 2024), section 2.1.
    """
    among = None if nodes is None else nodes.ids
    every = ((choice, _hops(graph, choice, among)) for choice in exploration.chosen)
    groups = [(choice, hops) for choice, hops in every if hops][:max_groups]
    wide = [group for group in groups if len(group[1]) > 1]
    scores_of_wide = ask_about(
        llm,
        wide,
        lambda group: prompt.render(_shown(graph, question, group)),
        ReplyFormat(PURPOSE, _numbers),
        _scores,
        fallback=lambda group: [1 / len(group[1])] * len(group[1]),
        max_tokens=max_tokens,
        retry=False,
    )
    each = iter(scores_of_wide)
    scored: list[Hop] = []
    for choice, hops in groups:
        scores = [choice.score] if len(hops) == 1 else next(each)
        scored += [replace(hop, score=score) for hop, score in zip(hops, scores, strict=True)]
    best = sorted(
        (hop for hop in scored if hop.score > 0), key=lambda hop: -round(hop.score, DECIMALS)
    )[:width]
    return _ends(graph, best), Exploration((), (*exploration.rounds, tuple(best)))


def _hops(graph: Graph, choice: ChosenRelation, among: Any) -> tuple[Hop, ...]:
    here, there = graph.source, graph.target
    if not choice.forward:
        here, there = there, here
    at = row_ids(graph.node_relationship, choice.topic)
    rows = at[(here[at] == choice.topic) & (there[at] != choice.topic)]
    if among is not None:
        rows = rows[np.isin(there[rows], among)]
    named: list[int] = [row for row in rows.tolist() if graph.relations[row] == choice.relation]
    order = sorted(named, key=lambda row: (-round(float(graph.weight[row]), DECIMALS), there[row]))
    first = {int(there[row]): row for row in reversed(order)}
    candidates = [row for row in order if first[int(there[row])] == row][:MAX_CANDIDATES]
    return tuple(Hop(row, choice.forward, choice.score) for row in candidates)


def _ends(graph: Graph, hops: Sequence[Hop]) -> Ranked[Node]:
    best: dict[int, float] = {}
    for hop in hops:
        best.setdefault(hop.end(graph), hop.score)
    return best_of(np.array(list(best), np.int64), np.array(list(best.values())), len(best))


def _shown(graph: Graph, question: Question, group: Group) -> dict[str, Any]:
    choice, hops = group
    return {
        "question": question.text,
        "topic": graph.names[choice.topic],
        "relation": choice.relation,
        "candidates": [graph.names[hop.end(graph)] for hop in hops],
    }


def _numbers(text: str, cut: bool) -> list[list[str]]:
    numbers = [_NUMBER.findall(part) for part in (text, *text.splitlines())]
    if not numbers[0]:
        raise UnreadableReply(PURPOSE, text)
    return numbers


def _scores(reply: list[list[str]], group: Group) -> list[float]:
    """One score per candidate, 0..1; raises UnreadableReply for another count of numbers.

    Decimals and whole numbers count, those of the whole reply, else its decimals alone, else those
    of one line. Numbers of which one is above 1 are divided by their sum.
    """
    decimals = [number for number in reply[0] if "." in number]
    for numbers in (reply[0], decimals, *reply[1:]):
        if len(numbers) == len(group[1]):
            scores = [float(number) for number in numbers]
            return [one / sum(scores) for one in scores] if max(scores) > 1 else scores
    raise UnreadableReply(PURPOSE, ", ".join(reply[0]))
