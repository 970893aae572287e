"""Answer generation: one prompt and one answer."""

from __future__ import annotations

from pydantic import PositiveInt

from graphrag_bench.contract import operator
from graphrag_bench.llm.chat import LLM
from graphrag_bench.prompts import Prompt
from graphrag_bench.question_plan import Dependencies
from graphrag_bench.values import Answer, Context, Question
from methods.reader import READER, answered, reader_values


@operator(
    "answer.direct",
    calls=1,
    supplies=READER,
)
def direct(
    question: Question,
    context: Context | None = None,
    dependencies: Dependencies | None = None,
    *,
    llm: LLM,
    prompt: Prompt,
    max_tokens: PositiveInt | None = None,
    stop: tuple[str, ...] = (),
) -> Answer:
    """The model's answer to the question, from the context where the step uses one.

    The prompt is given `pieces` (the texts in order), `blocks` (runs of one kind with the head of
    their table), `dependencies` (pairs of a sub-question and its answer), and the `manner`,
    `cue` and `licence` of the question's form of answer. That form bounds the answer, unless
    `max_tokens` does.
    Raises CallFailed when the model gives no answer.
    Source: Zhou et al. 2025, section 6.2, direct generation.
    """
    pieces = context.pieces if context else None
    pairs = dependencies.pairs if dependencies else ()
    chat = prompt.render(reader_values(question, pieces, pairs))
    return answered(llm, chat, question, max_tokens, stop)
