"""Think-on-Graph search, in which a language model chooses the relations and nodes to follow."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.path_values import ChosenRelation, Exploration, Hop
from graphrag_bench.arrays import DECIMALS, IntArray
from graphrag_bench.columns import row_ids
from graphrag_bench.contract import operator
from graphrag_bench.errors import UnreadableReply
from graphrag_bench.llm.calls import Chat
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.structured import ReplyFormat, ask_about
from graphrag_bench.prompts import Prompt
from graphrag_bench.text import normalise_name
from graphrag_bench.values import Node, Question, Ranked, Relationship

RELATIONS, ENTITIES = "relation scores", "entity scores"
MAX_TOPICS, MAX_RELATIONS, MAX_CANDIDATES = 8, 60, 20
"""Limits on the nodes per round, the relation names per prompt, and the candidates per relation."""
_NUMBER = r"(?:\d+(?:\.\d+)?|\.\d+)"
_SEPARATE_NUMBER = re.compile(rf"(?<![\w.]){_NUMBER}(?![\w])")
_MARK = re.compile(r"^\s*(?:[-*\u2022]|\d+[.)])\s*")
_LINE_FORMS = (
    re.compile(rf"^(.*?)\W*\bscore\b\W*?({_NUMBER})", re.IGNORECASE),
    re.compile(rf"^(.*?\w)\W*?[\s:=(,]({_NUMBER})\W*$"),
)
Scored = tuple[tuple[str, float], ...]
"""Relation names with scores, in the order of the model's reply."""
Relations = dict[str, tuple[bool, float]]
"""Maps a relation name to a pair: whether the node is the source, and the summed weight."""


@operator("node.topics", order="the order of the nodes")
def topics(nodes: Ranked[Node]) -> tuple[Ranked[Node], Exploration]:
    """Start a Think-on-Graph search from the given nodes, without duplicates.

    Source: ToG (Sun et al. 2024), Section 2.1, initialisation.
    """
    return nodes.distinct(), Exploration()


@operator(
    "relationship.agent", table3="Agent", requires={"node.name", "relationship.name"},
    calls=2 * MAX_TOPICS, supplies={"question", "entity", "relations", "width"},
)  # fmt: skip
def choose_relations(
    question: Question,
    nodes: Ranked[Node],
    exploration: Exploration,
    relationships: Ranked[Relationship] | None = None,
    *,
    graph: Graph,
    llm: ChatModel,
    prompt: Prompt = Prompt("operators:prompts/relationship_agent.j2"),
    width: PositiveInt = 3,
    max_tokens: PositiveInt = 120,
) -> Exploration:
    """In a Think-on-Graph search, let the language model choose up to `width` relations per node.

    The prompt lists the names of the node's relations in alphabetical order. With `use:
    [relationships]`, it lists only the names of given relationships. The model gives each chosen
    name a score (0..1). Names that are not in the prompt are dropped. The relation by which the
    search reached a node is not followed back. A node that is both subject and object of a relation
    counts as the subject. After two unreadable replies no relation is chosen (a fallback).
    Deviation: The model is asked about the first 8 nodes only, and sees at most 60 names per node,
    those with the highest weight. ToG has no such limits. Zhou et al. (Table 3) find the
    relationships of the nodes with a separate operator, "Onehop".
    Source: Zhou et al. (2025), Section 6.1, "Agent"; ToG (Sun et al. 2024), Section 2.1.
    """
    among = None if relationships is None else relationships.ids
    topics = nodes.distinct().head(MAX_TOPICS).ids.tolist()
    every = ((topic, _relations(graph, topic, exploration, among)) for topic in topics)

    def chat(at: tuple[int, Relations]) -> Chat:
        values = {"question": question.text, "width": width, "entity": graph.names[at[0]]}
        return prompt.render({**values, "relations": sorted(at[1])})

    choices = ask_about(
        llm, [at for at in every if at[1]], chat, ReplyFormat(RELATIONS, _scored_names), _choices,
        fallback=lambda _: [], max_tokens=max_tokens,
    )  # fmt: skip
    chosen = tuple(choice for some in choices for choice in some[:width])
    return Exploration(chosen, exploration.rounds)


@operator(
    "node.agent", table3="Agent", requires={"node.name", "relationship.name"},
    calls=lambda settings: int(settings["max_groups"]),
    supplies={"question", "topic", "relation", "candidates"},
)  # fmt: skip
def choose_nodes(
    question: Question,
    exploration: Exploration,
    nodes: Ranked[Node] | None = None,
    *,
    graph: Graph,
    llm: ChatModel,
    prompt: Prompt = Prompt("operators:prompts/node_agent.j2"),
    width: PositiveInt = 3,
    max_groups: PositiveInt = 24,
    max_tokens: PositiveInt = 160,
) -> tuple[Ranked[Node], Exploration]:
    """In a Think-on-Graph search, let the language model choose the nodes to visit next.

    The candidates are the nodes at the other ends of the chosen relations. With `use: [nodes]`,
    only given nodes are candidates. For each relation, one call asks the model to score the
    candidates (0..1). A single candidate gets the score of the relation without a call. The `width`
    hops with the highest scores above 0 are added to the exploration. Ties are broken by the order
    of the relations, then by the order of the candidates. If a reply does not have exactly one
    number per candidate, all candidates get the same score, which counts as a fallback.
    Deviation: The model scores only the 20 candidates with the highest weight per relation. ToG
    samples candidates at random. Only the first `max_groups` relations are followed.
    Source: Zhou et al. (2025), Section 6.1, "Agent"; ToG (Sun et al. 2024), Section 2.1.
    """
    among = None if nodes is None else nodes.ids
    every = ((choice, _hops(graph, choice, among)) for choice in exploration.chosen)
    groups = [(choice, hops) for choice, hops in every if hops][:max_groups]

    def chat(group: tuple[ChosenRelation, tuple[Hop, ...]]) -> Chat:
        choice, hops = group
        values = {"topic": graph.names[choice.topic], "relation": choice.relation}
        candidates = [graph.names[hop.end(graph)] for hop in hops]
        return prompt.render({"question": question.text, **values, "candidates": candidates})

    each = iter(ask_about(
        llm, [group for group in groups if len(group[1]) > 1], chat,
        ReplyFormat(ENTITIES, _numbers), lambda numbers, group: _scores(numbers, len(group[1])),
        fallback=lambda group: [1 / len(group[1])] * len(group[1]),
        max_tokens=max_tokens, retry=False,
    ))  # fmt: skip
    scores = [[choice.score] if len(hops) == 1 else next(each) for choice, hops in groups]
    pairs = zip((hop for _, hops in groups for hop in hops), chain(*scores), strict=True)
    scored = [replace(hop, score=score) for hop, score in pairs if score > 0]
    best = sorted(scored, key=lambda hop: -round(hop.score, DECIMALS))[:width]
    ends = Ranked[Node].of({hop.end(graph): hop.score for hop in reversed(best)})  # best hop last
    return Ranked.best(ends.ids, ends.scores), Exploration((), (*exploration.rounds, tuple(best)))


def _rows_at(graph: Graph, node: int, forward: bool) -> tuple[IntArray, IntArray]:
    here, there = (graph.source, graph.target) if forward else (graph.target, graph.source)
    at = row_ids(graph.node_relationship, node)
    rows = at[(here[at] == node) & (there[at] != node)]
    return rows, there[rows]


def _relations(
    graph: Graph, topic: int, exploration: Exploration, among: IntArray | None
) -> Relations:
    back = {graph.relations[hop.relationship] for hop in exploration.last}
    came = {hop.forward for hop in exploration.last if hop.end(graph) == topic}
    relations: Relations = {}
    for forward in (True, False):
        rows, _ = _rows_at(graph, topic, forward)
        for row in rows[slice(None) if among is None else np.isin(rows, among)].tolist():
            name = graph.relations[row]
            if name and not (name in back and (not forward) in came):
                direction, weight = relations.get(name, (forward, 0.0))
                relations[name] = (direction, weight + float(graph.weight[row]))
    heaviest = sorted(relations, key=lambda name: (-round(relations[name][1], DECIMALS), name))
    return {name: relations[name] for name in heaviest[:MAX_RELATIONS]}


def _hops(graph: Graph, choice: ChosenRelation, among: IntArray | None) -> tuple[Hop, ...]:
    rows, ends = _rows_at(graph, choice.topic, choice.forward)
    row_of: dict[int, int] = {}
    for place in np.lexsort((rows, ends, -np.round(graph.weight[rows], DECIMALS))):
        row, end = int(rows[place]), int(ends[place])
        if graph.relations[row] == choice.relation and (among is None or end in among):
            row_of.setdefault(end, row)
    candidates = list(row_of.values())[:MAX_CANDIDATES]
    return tuple(Hop(row, choice.forward, choice.score) for row in candidates)


def _scored_names(text: str, cut: bool) -> Scored:
    pairs: list[tuple[str, str]] = []
    for line in re.split(r"[{}\n;]", text):
        matches = (form.search(_MARK.sub("", line)) for form in _LINE_FORMS)
        named = ((match[1].strip(" \t\"'*:-([,"), match[2]) for match in matches if match)
        pairs += [pair for pair in named if pair[0]][:1]
    if not pairs:
        raise UnreadableReply(RELATIONS, text)
    names, numbers = zip(*pairs, strict=True)
    return tuple(zip(names, _shares(numbers), strict=True))


def _choices(scored: Scored, at: tuple[int, Relations]) -> list[ChosenRelation]:
    topic, directions = at
    known = {normalise_name(name): name for name in sorted(directions)}
    best: dict[str, float] = {}
    for named, score in scored:
        if (name := known.get(normalise_name(named))) is not None:
            best.setdefault(name, score)
    order = sorted(best, key=lambda name: -round(best[name], DECIMALS))
    return [ChosenRelation(topic, name, directions[name][0], best[name]) for name in order]


def _numbers(text: str, cut: bool) -> list[list[str]]:
    numbers = [_SEPARATE_NUMBER.findall(part) for part in (text, *text.splitlines())]
    if not numbers[0]:
        raise UnreadableReply(ENTITIES, text)
    return numbers


def _scores(reply: Sequence[Sequence[str]], n_candidates: int) -> list[float]:
    decimals = [number for number in reply[0] if "." in number]
    for numbers in (reply[0], decimals, *reply[1:]):
        if len(numbers) == n_candidates:
            return _shares(numbers)
    raise UnreadableReply(ENTITIES, ", ".join(reply[0]))


def _shares(numbers: Sequence[str]) -> list[float]:
    scores = [float(number) for number in numbers]
    whole = sum(scores) if max(scores) > 1 else 1.0
    return [score / whole for score in scores]
