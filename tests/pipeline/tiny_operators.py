"""Operators so small that every pipeline of them is worked out by hand: nodes are numbers."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.contract import operator
from graphrag_bench.llm.chat import ChatModel, reply
from graphrag_bench.prompts import Message, Prompt
from graphrag_bench.question_plan import Dependencies, Plan, SubQuestion, checked_plan
from graphrag_bench.values import (
    Answer,
    Chunk,
    Keywords,
    Mentions,
    Node,
    NodeScores,
    Path,
    Query,
    Question,
    Ranked,
    Subgraph,
)

blocks: list[int] = []
"""How many values each call of a batched operator was given."""


def numbers(*ids: int) -> Ranked[Node]:
    """Nodes with the scores 1, 1/2, 1/3, ..."""
    return Ranked(np.array(ids, np.int64), 1.0 / np.arange(1, len(ids) + 1))


def start(question: Question) -> Ranked[Node]:
    """The numbers in the question."""
    return numbers(*(int(word) for word in question.text.split() if word.isdigit()))


def names(question: Question) -> Mentions:
    """The words in the question."""
    return Mentions(tuple(word for word in question.text.split() if word.isalpha()))


def grow(
    nodes: Ranked[Node], *, by: PositiveInt = 1, unit: Literal["one", "ten"] = "one"
) -> Ranked[Node]:
    """Every number and `by` more, on its own."""
    return Ranked(nodes.ids + by * (10 if unit == "ten" else 1), nodes.scores)


def first(nodes: Ranked[Node]) -> Ranked[Node]:
    """The first number alone."""
    return nodes.head(1)


def apart(seeds: Ranked[Node], nodes: Ranked[Node]) -> Ranked[Node]:
    """The numbers that are no seeds."""
    return nodes.take(~np.isin(nodes.ids, seeds.ids))


def chunks(nodes: Ranked[Node], query: Query | None = None) -> Ranked[Chunk]:
    """The numbers as chunks, only one for each text of a query. 13 brings bad luck."""
    if 13 in nodes.ids:
        raise ZeroDivisionError("unlucky")
    k = len(nodes) if query is None else len(query)
    return Ranked(nodes.ids[:k], nodes.scores[:k])


def query(mentions: Mentions) -> Query:
    """The names as texts to look for."""
    return Query(mentions.names)


def enough(nodes: Ranked[Node], *, at: PositiveInt = 5) -> Keywords | None:
    """A sign that a number has come to `at`; nothing before."""
    return Keywords(("enough",), ()) if (nodes.ids >= at).any() else None


def mass(nodes: Ranked[Node]) -> NodeScores:
    """Half the mass on every number up to 1."""
    return NodeScores(np.bincount(nodes.ids, minlength=4).astype(float))


def heaviest(scores: NodeScores) -> Query:
    """The number with the most mass, as a text."""
    return Query((str(int(scores.values.argmax())),))


def twice(nodes: Sequence[Ranked[Node]]) -> list[Ranked[Node]]:
    """Every number doubled; 13 brings bad luck to the whole block."""
    blocks.append(len(nodes))
    if any(13 in one.ids for one in nodes):
        raise ZeroDivisionError("unlucky")
    return [Ranked(2 * one.ids, one.scores) for one in nodes]


def muddled(nodes: Sequence[Ranked[Node]]) -> list[Ranked[Node]]:
    """Names in the place of nodes; nothing at all where a question has no number."""
    return [Mentions(()) for one in nodes if len(one)]  # type: ignore[misc]


def either(question: Question) -> tuple[Mentions | None, Query]:
    """Names where there are any, and the question as a query."""
    return names(question) if names(question).names else None, Query((question.text,))


def careless(question: Question) -> tuple[Mentions, Query]:
    """What was promised, unless the question says otherwise."""
    if question.text == "one":
        return Mentions(())  # type: ignore[return-value]
    if question.text == "none":
        return None, Query(())  # type: ignore[return-value]
    return Mentions(()), Query(())


def scored(question: Question) -> tuple[Ranked[Node], NodeScores, Subgraph]:
    """Three nodes, all nodes and two paths, with the scores of the question's numbers."""
    scores = [float(text) for text in question.text.split()]
    paths = tuple(Path((row,), (), score) for row, score in enumerate(scores[6:]))
    return Ranked([0, 1, 2], scores[:3]), NodeScores(scores[3:6]), Subgraph(paths=paths)


def answer(chunks: Ranked[Chunk]) -> Answer:
    """The chunks, read aloud."""
    return Answer(" ".join(map(str, chunks.ids)))


def say(question: Question, *, llm: ChatModel, prompt: Prompt) -> Answer:
    """What the model says to the prompt."""
    chat = prompt.render({"question": question.text})
    return Answer(reply(llm, chat, max_tokens=8).text)


def echo(question: Question, *, llm: ChatModel) -> Answer:
    """What the model says to the question."""
    return Answer(reply(llm, (Message("user", question.text),), max_tokens=8).text)


def plan(question: Question) -> Plan:
    """A plan written as "1-1: 5; 1-2(1-1): 7 8; final(1-2): 9"; sub-questions are numbers."""
    result = []
    for part in question.text.split(";"):
        head, _, text = part.strip().partition(":")
        name, _, needs = head.partition("(")
        result.append(SubQuestion(name, text.strip(), "specific", tuple(needs.strip(")").split())))
    return checked_plan(result[:-1], result[-1])


def total(question: Question, dependencies: Dependencies) -> Answer:
    """The sum of the question's numbers and of the answers it hangs on."""
    return Answer(str(sum(map(int, (*question.text.split(), *dependencies.answers)))))


def rephrased(question: Question, dependencies: Dependencies) -> Question:
    """The question with a number more for each answer it hangs on: ten times that."""
    tens = [f"{10 * int(answer)}" for answer in dependencies.answers]
    return replace(question, text=" ".join([question.text, *tens]))


def register() -> None:
    """Register them all as `tiny.<name>`."""
    plain = (
        start, names, grow, first, apart, chunks, query, enough, mass, heaviest, either, careless,
        scored, plan, total, rephrased,
    )  # fmt: skip
    for function in plain:
        operator(f"tiny.{function.__name__}")(function)
    operator("tiny.twice", batched=True)(twice)
    operator("tiny.muddled", batched=True)(muddled)
    operator("tiny.answer")(answer)
    operator("tiny.typed", requires={"node.type"})(start)
    operator("tiny.say", calls=2, supplies={"question"})(say)
    operator("tiny.echo", calls=1)(echo)
