"""Operator `answer.direct`, and the variables that every answering prompt may use."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from pydantic import PositiveInt

from graphrag_bench.contract import operator
from graphrag_bench.llm.calls import Chat
from graphrag_bench.llm.chat import ChatModel, reply, reply_tokens
from graphrag_bench.prompts import Prompt
from graphrag_bench.question_plan import Dependencies
from graphrag_bench.values import Answer, Context, Piece, Question
from operators.context.rows import HEADERS

READER_VARIABLES = frozenset(
    {"question", "pieces", "blocks", "dependencies", "form", "manner", "cue", "licence"}
)
"""The names of the variables that every answering prompt may use."""


def reader_values(
    question: Question,
    pieces: Sequence[Piece] | None = None,
    dependencies: Iterable[tuple[str, str]] = (),
) -> dict[str, Any]:
    """Return the values of the variables that an answering prompt may use.

    `dependencies` are pairs of a sub-question and its answer. In the result, each of the `blocks`
    holds consecutive pieces of the same kind. The `rows` of a block are the texts of these pieces,
    and `head` is the CSV header of this kind. `table` is true if the rows are numbered CSV rows
    with this header. `form`, `manner`, `cue` and `licence` describe the answer form. The licence is
    empty if there is neither a context nor a dependency.
    """
    form, dependencies = question.answer_form, tuple(dependencies)
    closed = pieces is None and not dependencies
    blocks = []
    for kind, run in groupby(pieces or (), key=lambda piece: piece.kind):
        head, rows = HEADERS.get(kind, ""), [piece.text for piece in run]
        numbered = all(row.startswith(f"{place},") for place, row in enumerate(rows))
        blocks.append({"kind": kind, "head": head, "rows": rows, "table": bool(head) and numbered})
    return {
        "question": question.text,
        "pieces": pieces or (),
        "blocks": blocks,
        "dependencies": dependencies,
        "form": form.name,
        "manner": form.manner,
        "cue": form.cue,
        "licence": "" if closed else form.licence,
    }


def answer_of(llm: ChatModel, chat: Chat, question: Question, max_tokens: int | None) -> Answer:
    """Send an answering prompt to the language model and return its reply as the answer.

    By default, `max_tokens` is the smaller of two numbers: the limit of the question's answer form,
    and the rest of the context window. Raises CallFailed if the model fails.
    """
    if max_tokens is None:
        max_tokens = reply_tokens(llm, chat, question.answer_form.max_tokens)
    message = reply(llm, chat, max_tokens=max_tokens)
    return Answer(message.text.strip(), message.finish == "length")


@operator("answer.direct", calls=1, supplies=READER_VARIABLES)
def direct(
    question: Question,
    context: Context | None = None,
    dependencies: Dependencies | None = None,
    *,
    llm: ChatModel,
    prompt: Prompt,
    max_tokens: PositiveInt | None = None,
) -> Answer:
    """Answer the question with one prompt. If there is a context, the prompt contains it.

    For the variables of the prompt, see `reader_values`. For the token limit, see `answer_of`.
    Source: Zhou et al. (2025), Section 6.2, direct generation.
    """
    pieces = context.pieces if context else None
    pairs = dependencies.pairs if dependencies else ()
    chat = prompt.render(reader_values(question, pieces, pairs))
    return answer_of(llm, chat, question, max_tokens)
