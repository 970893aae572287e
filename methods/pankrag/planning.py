"""Planning and rephrasing: a question becomes self-contained sub-questions."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Literal

from pydantic import PositiveInt

from graphrag_bench.contract import operator
from graphrag_bench.llm.calls import CallFailed
from graphrag_bench.llm.chat import LLM, reply
from graphrag_bench.llm.meter import Metered
from graphrag_bench.llm.structured import ask
from graphrag_bench.prompts import Prompt
from graphrag_bench.question_plan import Dependencies, Plan
from graphrag_bench.values import Question
from methods.pankrag.plan_reply import (
    PathReply,
    PlanReply,
    bounded_reply,
    placeholders,
    plan_of,
)

PLAN = Prompt("methods:pankrag/prompts/plan.j2")
REPHRASE = Prompt("methods:pankrag/prompts/rephrase.j2")
MOST_WORDS = 30
"""Words of an answer that replace a placeholder when the model does not rephrase."""


@operator(
    "question.plan",
    calls=lambda settings: 2 if settings["planning"] == "on" else 0,
    supplies={"question"},
)
def plan(
    question: Question,
    *,
    llm: LLM,
    prompt: Prompt = PLAN,
    planning: Literal["on", "off"] = "on",
    final_text: Literal["original", "plan"] = "original",
    max_sequences: PositiveInt = 4,
    max_hops: PositiveInt = 4,
    max_tokens: PositiveInt = 2200,
) -> Plan:
    """The model's plan of sub-questions for the question, normalised.

    A server that enforces a schema ends a plan at `max_sequences` sequences and `max_hops`
    sub-questions in each: small models never end one, and a plan that is cut at `max_tokens` is
    unreadable.

    A reply that is unreadable twice is counted as a fallback to a plan without sub-questions; so
    is `planning="off"`, without a call. The final question is the question itself, or the model's
    wording of it (`final_text="plan"`).
    Source: PankRAG (2025), section 3.1, globally aware planning; its ablation "-Pank".
    """
    nothing = PlanReply(path=PathReply.model_validate({}))
    if planning == "off":
        return plan_of(nothing, question.text)
    chat = prompt.render({"question": question.text})
    schema = bounded_reply(max_sequences, max_hops)
    read = ask(llm, chat, schema, max_tokens=max_tokens, purpose="plan", fallback=nothing)
    return plan_of(read, question.text, rewritten=final_text == "plan")


@operator(
    "question.rephrase",
    calls=lambda settings: 0 if settings["when"] == "never" else 1,
    supplies={"question", "dependencies"},
)
def rephrase(
    question: Question,
    dependencies: Dependencies,
    *,
    llm: LLM,
    prompt: Prompt = REPHRASE,
    when: Literal["placeholders_only", "always", "never"] = "placeholders_only",
    max_tokens: PositiveInt = 64,
) -> Question:
    """The sub-question made self-contained, with the answers it depends on.

    The model rephrases it when it contains a placeholder such as `<A1-1>` (`placeholders_only`),
    when it depends on any answer (`always`), or not at all (`never`). Where the reply is missing or
    empty, each placeholder becomes the first sentence of its answer, of at most 30 words; that is
    counted as a fallback.
    Source: PankRAG (2025), section 3.2, top-down resolving.
    """
    needed = bool(placeholders(question.text)) or when == "always"
    if when == "never" or not needed or not len(dependencies):
        return question
    chat = prompt.render({"question": question.text, "dependencies": dependencies.pairs})
    try:
        text = reply(llm, chat, max_tokens=max_tokens).text.strip()
    except CallFailed:
        text = ""
    if not text:
        if isinstance(llm, Metered):
            llm.fallbacks += 1
        text = substituted(question.text, dependencies)
    return replace(question, text=text)


def substituted(text: str, dependencies: Dependencies) -> str:
    """The text with each placeholder replaced by the beginning of its answer."""
    answers = dict(zip(dependencies.ids, dependencies.answers, strict=True))
    for shown, name in placeholders(text):
        if name in answers:
            sentence = re.split(r"(?<=[.!?])\s+", answers[name].strip())[0]
            text = text.replace(shown, " ".join(sentence.split()[:MOST_WORDS]).rstrip("."))
    return text
