"""PathCoRAG's conversion: a question becomes reasoning steps with extended queries."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import BaseModel, PositiveInt, model_validator

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.path_values import ReasoningSteps
from graphrag_bench.contract import operator
from graphrag_bench.embedding.nlp import Nlp
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.structured import ask
from graphrag_bench.prompts import Prompt
from graphrag_bench.values import Node, Question, Ranked, Relationship, unique

STEPS = Prompt("methods:pathcorag/prompts/steps.j2")


class StepsReply(BaseModel):
    """What the prompt returns: the steps, and a list of queries for each.

    Fields may be named with spaces or in another case; queries may be keyed by their step's text.
    """

    reasoning_steps: list[str]
    extended_queries: list[list[str]]

    @model_validator(mode="before")
    @classmethod
    def _read(cls, reply: Any) -> Any:
        if not isinstance(reply, Mapping):
            return reply
        fields = {_plain(str(key)): value for key, value in reply.items()}
        if "reasoning steps" not in fields:
            return reply
        steps = _texts(fields["reasoning steps"])
        return {
            "reasoning_steps": steps,
            "extended_queries": _by_step(steps, fields.get("extended queries")),
        }


def _plain(name: str) -> str:
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return " ".join(re.findall(r"\w+", apart.replace("_", " ").casefold()))


def _texts(value: Any) -> list[str]:
    items = value if isinstance(value, list) else [value]
    return [text for item in items if item is not None and (text := str(item).strip())]


def _by_step(steps: Sequence[str], queries: Any) -> list[list[str]]:
    if isinstance(queries, Mapping):
        named = {_plain(str(key)): _texts(value) for key, value in queries.items()}
        placed = list(named.values())
    else:
        named, placed = {}, [_texts(item) for item in queries] if isinstance(queries, list) else []
    return [
        named.get(_plain(step), placed[row] if row < len(placed) else [])
        for row, step in enumerate(steps)
    ]


@operator("question.reasoning_steps.llm", calls=2, supplies={"question", "n_steps", "n_queries"})
def reasoning_steps_llm(
    question: Question,
    *,
    llm: ChatModel,
    prompt: Prompt = STEPS,
    n_steps: PositiveInt = 3,
    n_queries: PositiveInt = 3,
    max_tokens: PositiveInt = 800,
) -> ReasoningSteps:
    """The model's reasoning steps for the question, each with `n_queries` extended queries.

    Too many steps or queries are cut, a missing query is the step itself; missing steps are not
    replaced. A reply that is unreadable twice is counted as a fallback to one step, the question
    itself, which gives no path.
    Source: PathCoRAG, section 4.1; what happens to damaged replies is ours.
    """
    values = {"question": question.text, "n_steps": n_steps, "n_queries": n_queries}
    nothing = StepsReply(reasoning_steps=[], extended_queries=[])
    read = ask(
        llm, prompt.render(values), StepsReply, max_tokens=max_tokens, purpose="reasoning steps",
        fallback=nothing,
    )  # fmt: skip
    queries: dict[str, list[str]] = {}
    for row, step in enumerate(read.reasoning_steps):
        own = read.extended_queries[row : row + 1] or [[]]
        queries.setdefault(step, own[0][:n_queries])
    if not queries:
        return ReasoningSteps((question.text,), ((question.text,),))
    first = list(queries.items())[:n_steps]
    padded = [(*own, *[step] * (n_queries - len(own))) for step, own in first]
    return ReasoningSteps(tuple(step for step, _ in first), tuple(padded))


@operator("question.reasoning_steps.nlp")
def reasoning_steps_nlp(
    question: Question, *, nlp: Nlp, n_steps: PositiveInt = 3, n_queries: PositiveInt = 3
) -> ReasoningSteps:
    """Names, then other phrases, then the question itself as steps, without a model.

    The queries of a step are its first `n_queries` names or phrases; a step without any is left
    out, and so are those after the first `n_steps`.
    Source: PathCoRAG, section 4.1, with a tagger instead of the model.
    Deviation: the steps follow the words, not a line of reasoning.
    """
    (sentences,) = nlp.sentences([question.text])
    names = unique([name for sentence in sentences for name, _ in sentence.entities])
    phrases = unique([phrase for sentence in sentences for phrase in sentence.phrases])
    groups = [names, tuple(phrase for phrase in phrases if phrase not in names), (question.text,)]
    steps = [queries[:n_queries] for queries in groups if queries][:n_steps]
    return ReasoningSteps(tuple(", ".join(queries) for queries in steps), tuple(steps))


@operator("relationship.among", unordered="the order of the node that comes first, then by id")
def among(
    nodes: Ranked[Node], *, graph: Graph, top_k: PositiveInt | None = None
) -> Ranked[Relationship]:
    """The relationships whose two ends are both among the nodes, in the order of the better node.

    Score: that of the end that ranks first. Ties by lower id.
    Source: PathCoRAG, section 4.4, where no path is found (ours).
    """
    ids, places = np.unique(nodes.ids, return_index=True)
    rows = graph.relationships_at(ids)
    rows = rows[np.isin(graph.source[rows], ids) & np.isin(graph.target[rows], ids)]
    ends = np.searchsorted(ids, [graph.source[rows], graph.target[rows]])
    first = places[ends].min(axis=0)
    order = np.lexsort((rows, first))[:top_k]
    return Ranked(rows[order], nodes.scores[first[order]])
