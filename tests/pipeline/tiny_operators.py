"""Small operators for pipelines that can be computed by hand: nodes are numbers."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from pydantic import PositiveInt

from graphrag_bench import values
from graphrag_bench.llm.chat import ChatModel, reply
from graphrag_bench.pipeline.pipeline import build
from graphrag_bench.pipeline.steps import Execution, Outcome, run_steps
from graphrag_bench.prompts import Message, Prompt
from graphrag_bench.question_plan import Dependencies, Plan, SubQuestion, checked_plan
from graphrag_bench.values import Answer, Mentions, Node, Query, Question, Ranked, RetrievalState

START, CHUNKS, ANSWER, GROW, NAMES, QUERY, MASS, ECHO, TWICE, FIRST, APART, PLAN, TOTAL = (
    {"op": f"tiny.{name}"} for name in (
        "start", "chunks", "answer", "grow", "names", "query", "mass", "echo", "twice", "first",
        "apart", "plan", "total",
    )
)  # fmt: skip
blocks: list[int] = []
"""The number of questions in each call of a batched operator."""
functions: dict[Callable[..., Any], dict[str, Any]] = {}
"""The operators with their options. The fixture of `conftest.py` registers them as `tiny.NAME`."""


def tiny(**options: Any) -> Callable[..., Any]:
    def collect(function: Callable[..., Any]) -> Callable[..., Any]:
        functions[function] = options
        return function

    return collect


def outcomes(steps: Sequence[Any], *texts: str, world: Execution | None = None) -> list[Outcome]:
    pipeline, problems = build({"retrieve": steps})
    assert not problems
    states = [RetrievalState(Question(f"q{i}", text)) for i, text in enumerate(texts)]
    return run_steps(pipeline.retrieve, states, world or Execution({}))


def branch(*arms: Sequence[Any], **more: Any) -> dict[str, Any]:
    return {"branch": {f"arm{row}": list(steps) for row, steps in enumerate(arms)}, **more}


def nodes(steps: Sequence[Any], text: str) -> list[int]:
    (outcome,) = outcomes(steps, text)
    assert isinstance(outcome, RetrievalState), outcome
    return outcome.get("nodes").ids.tolist()


@tiny()
def start(question: Question) -> Ranked[Node]:
    """The numbers in the question, with the scores 1, 1/2, 1/3, ..."""
    ids = [int(word) for word in question.text.split() if word.isdigit()]
    return Ranked(np.array(ids, np.int64), 1.0 / np.arange(1, len(ids) + 1))


@tiny(requires={"node.type"})
def typed(question: Question) -> Ranked[Node]:
    return start(question)


@tiny()
def names(question: Question) -> Mentions:
    return Mentions(tuple(word for word in question.text.split() if word.isalpha()))


@tiny()
def grow(
    nodes: Ranked[Node], *, by: PositiveInt = 1, unit: Literal["one", "ten"] = "one"
) -> Ranked[Node]:
    return Ranked(nodes.ids + by * (10 if unit == "ten" else 1), nodes.scores)


@tiny()
def first(nodes: Ranked[Node]) -> Ranked[Node]:
    return nodes.head(1)


@tiny()
def apart(seeds: Ranked[Node], nodes: Ranked[Node]) -> Ranked[Node]:
    return nodes.take(~np.isin(nodes.ids, seeds.ids))


@tiny()
def chunks(nodes: Ranked[Node], query: Query | None = None) -> Ranked[values.Chunk]:
    """The numbers as chunks, at most one for each text of a query. 13 raises."""
    if 13 in nodes.ids:
        raise ZeroDivisionError("unlucky")
    k = len(nodes) if query is None else len(query)
    return Ranked(nodes.ids[:k], nodes.scores[:k])


@tiny()
def query(mentions: Mentions) -> Query:
    return Query(mentions.names)


@tiny()
def enough(nodes: Ranked[Node], *, at: PositiveInt = 5) -> values.Keywords | None:
    """Keywords if a number is at least `at`."""
    return values.Keywords(("enough",), ()) if (nodes.ids >= at).any() else None


@tiny()
def mass(nodes: Ranked[Node]) -> values.NodeScores:
    return values.NodeScores(np.bincount(nodes.ids, minlength=4).astype(float))


@tiny(batched=True)
def twice(nodes: Sequence[Ranked[Node]]) -> list[Ranked[Node]]:
    """Every number doubled; 13 raises for the whole block."""
    blocks.append(len(nodes))
    if any(13 in one.ids for one in nodes):
        raise ZeroDivisionError("unlucky")
    return [Ranked(2 * one.ids, one.scores) for one in nodes]


@tiny(batched=True)
def muddled(nodes: Sequence[Ranked[Node]]) -> list[Ranked[Node]]:
    """Values of the wrong type, and none for a question without numbers."""
    return [Mentions(()) for one in nodes if len(one)]  # type: ignore[misc]


@tiny()
def either(question: Question) -> tuple[Mentions | None, Query]:
    return names(question) if names(question).names else None, Query((question.text,))


@tiny()
def careless(question: Question) -> tuple[Mentions, Query]:
    """Too few values for `one`, None for `none`."""
    if question.text == "one":
        return Mentions(())  # type: ignore[return-value]
    return Mentions(()) if question.text != "none" else None, Query(())  # type: ignore[return-value]


@tiny()
def scored(question: Question) -> tuple[Ranked[Node], values.NodeScores, values.Subgraph]:
    """Three nodes, all nodes and two paths, with the scores in the question."""
    scores = [float(text) for text in question.text.split()]
    paths = tuple(values.Path((row,), (), score) for row, score in enumerate(scores[6:]))
    vector, subgraph = values.NodeScores(scores[3:6]), values.Subgraph(paths=paths)
    return Ranked([0, 1, 2], scores[:3]), vector, subgraph


@tiny()
def answer(chunks: Ranked[values.Chunk]) -> Answer:
    return Answer(" ".join(map(str, chunks.ids)))


@tiny(calls=2, supplies={"question"})
def say(question: Question, *, llm: ChatModel, prompt: Prompt) -> Answer:
    return Answer(reply(llm, prompt.render({"question": question.text}), max_tokens=8).text)


@tiny(calls=1)
def echo(question: Question, *, llm: ChatModel) -> Answer:
    return Answer(reply(llm, (Message("user", question.text),), max_tokens=8).text)


@tiny()
def plan(question: Question) -> Plan:
    """A plan written as "1-1: 5; 1-2(1-1): 7 8; final(1-2): 9"; sub-questions are numbers."""
    result = []
    for part in question.text.split(";"):
        head, _, text = part.strip().partition(":")
        name, _, needs = head.partition("(")
        result.append(SubQuestion(name, text.strip(), "specific", tuple(needs.strip(")").split())))
    return checked_plan(result[:-1], result[-1])


@tiny()
def total(question: Question, dependencies: Dependencies) -> Answer:
    """The sum of the question's numbers and of the answers that it depends on."""
    return Answer(str(sum(map(int, (*question.text.split(), *dependencies.answers)))))
