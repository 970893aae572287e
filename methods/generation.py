"""Answer generation: one prompt and one answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import PositiveInt

from graphrag_bench.contract import operator
from graphrag_bench.expected import Sizes, template_tokens
from graphrag_bench.models.llm import LLM, reply
from graphrag_bench.prompts import Prompt
from graphrag_bench.question_plan import Dependencies
from graphrag_bench.values import Answer, Context, Question
from methods.context import blocks


def _tokens(settings: Mapping[str, Any], sizes: Sizes) -> tuple[float, float]:
    """The template, the question and the context; half of what an answer may take."""
    prompt: Prompt = settings["prompt"]
    context = sizes.context if {"pieces", "blocks"} & prompt.variables else 0.0
    return template_tokens(prompt) + sizes.question + context, settings["max_tokens"] / 2


@operator(
    "answer.direct",
    calls=1,
    supplies={"question", "pieces", "blocks", "dependencies"},
    tokens=_tokens,
)
def direct(
    question: Question,
    context: Context | None = None,
    dependencies: Dependencies | None = None,
    *,
    llm: LLM,
    prompt: Prompt,
    max_tokens: PositiveInt = 48,
    stop: tuple[str, ...] = (),
) -> Answer:
    """The model's answer to the question, from the context where the step uses one.

    The prompt is given `pieces` (the texts in order), `blocks` (runs of one kind with the head of
    their table) and `dependencies` (pairs of a sub-question and its answer). Raises CallFailed when
    the model gives no answer.
    Source: Zhou et al. 2025, section 6.2, direct generation.
    """
    pieces = context.pieces if context else ()
    chat = prompt.render(
        {
            "question": question.text,
            "pieces": pieces,
            "blocks": blocks(pieces),
            "dependencies": dependencies.pairs if dependencies else (),
        }
    )
    return Answer(reply(llm, chat, max_tokens=max_tokens, stop=stop).text.strip())
