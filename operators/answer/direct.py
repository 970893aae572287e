"""Answers: the variables of every answering prompt, and one prompt with one answer."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from pydantic import PositiveInt

from graphrag_bench.contract import operator
from graphrag_bench.llm.calls import Chat
from graphrag_bench.llm.chat import ChatModel, reply, reply_tokens
from graphrag_bench.prompts import Prompt
from graphrag_bench.question_plan import Dependencies
from graphrag_bench.values import Answer, Context, Piece, Question
from operators.context.rows import HEADS

READER = frozenset(
    {"question", "pieces", "blocks", "dependencies", "form", "manner", "cue", "licence"}
)
"""The variables of a prompt that asks for an answer."""


def reader_values(
    question: Question,
    pieces: Sequence[Piece] | None = None,
    dependencies: Iterable[tuple[str, str]] = (),
) -> dict[str, Any]:
    """The values of `READER`: the question, what was retrieved, and the form of the answer.

    `pieces` are the texts in order, `blocks` runs of one kind (`kind`, `head`, `rows`, and `table`,
    whether its rows are numbered table rows under that head), `dependencies` pairs of a
    sub-question and its answer. `form` is the form's name; `manner` ends "Answer the question ...",
    and `cue` the prompt. `licence` is the form's clause on what the context does not hold, and
    empty for a closed book: where `pieces` is None and there are no dependencies.
    """
    form = question.answer_form
    dependencies = tuple(dependencies)
    closed = pieces is None and not dependencies
    pieces = pieces or ()
    return {
        "question": question.text,
        "pieces": pieces,
        "blocks": list(_blocks(pieces)),
        "dependencies": dependencies,
        "form": form.name,
        "manner": form.manner,
        "cue": form.cue,
        "licence": "" if closed else form.licence,
    }


def _blocks(pieces: Sequence[Piece]) -> Iterator[dict[str, Any]]:
    for kind, run in groupby(pieces, key=lambda piece: piece.kind):
        head, rows = HEADS.get(kind, ""), [piece.text for piece in run]
        numbered = all(row.startswith(f"{place},") for place, row in enumerate(rows))
        yield {"kind": kind, "head": head, "rows": rows, "table": bool(head) and numbered}


def answered(llm: ChatModel, chat: Chat, question: Question, max_tokens: int | None) -> Answer:
    """The reply to a prompt as the answer; raises CallFailed when there is none.

    It has `max_tokens`, or those of the question's form that the model's window leaves.
    """
    if max_tokens is None:
        max_tokens = reply_tokens(llm, chat, question.answer_form.max_tokens)
    message = reply(llm, chat, max_tokens=max_tokens)
    return Answer(message.text.strip(), message.finish == "length")


@operator("answer.direct", calls=1, supplies=READER)
def direct(
    question: Question,
    context: Context | None = None,
    dependencies: Dependencies | None = None,
    *,
    llm: ChatModel,
    prompt: Prompt,
    max_tokens: PositiveInt | None = None,
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
    return answered(llm, chat, question, max_tokens)
