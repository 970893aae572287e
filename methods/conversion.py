"""Question conversion: from the question to what a method's first operator looks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, PositiveInt

from graphrag_bench.contract import Sizes, operator
from graphrag_bench.models.llm import LLM
from graphrag_bench.models.nlp import Nlp
from graphrag_bench.models.structured import ask
from graphrag_bench.prompts import Prompt
from graphrag_bench.text import count_tokens, normalise_name
from graphrag_bench.values import Mentions, Question, unique

ENTITY_PROMPT = Prompt("methods:hipporag/prompts/question_entities.j2")


class NamedEntities(BaseModel):
    """What the entity prompt returns."""

    named_entities: list[str]


@operator("question.entities.nlp", unordered="the order in the question")
def entities_nlp(question: Question, *, nlp: Nlp) -> Mentions:
    """The named entities of the question by spaCy, normalised, each once, in order.

    Noun phrases are left out. A question without a named entity gives none.
    Source: HippoRAG (Gutierrez et al. 2024), section 2.3, with a tagger in the model's place.
    """
    return _mentions(nlp.entities(question.text))


def _tokens(settings: Mapping[str, Any], sizes: Sizes) -> tuple[float, float]:
    """The template and the question; a short list of names comes back."""
    return count_tokens(settings["prompt"].text) + sizes.question, settings["max_tokens"] / 4


@operator(
    "question.entities.llm",
    calls=2,
    supplies={"question"},
    tokens=_tokens,
    unordered="the order of the reply",
)
def entities_llm(
    question: Question,
    *,
    llm: LLM,
    prompt: Prompt = ENTITY_PROMPT,
    max_tokens: PositiveInt = 128,
) -> Mentions:
    """The named entities of the question by the model, normalised, each once, in order.

    Raises UnreadableReply when two replies in turn are no such JSON.
    Source: HippoRAG (Gutierrez et al. 2024), section 2.3 and its query prompt.
    """
    chat = prompt.render({"question": question.text})
    reply = ask(llm, chat, NamedEntities, max_tokens=max_tokens, purpose="question entities")
    return _mentions(reply.named_entities)


def _mentions(names: list[str]) -> Mentions:
    normal = [normalise_name(name) for name in names]
    return Mentions(unique([name for name in normal if name]))
