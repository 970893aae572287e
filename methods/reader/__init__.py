"""The variables of every answering prompt, the common one included."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from graphrag_bench.answer_forms import answer_form
from graphrag_bench.llm.calls import Chat
from graphrag_bench.llm.chat import LLM, reply
from graphrag_bench.llm.windows import reply_tokens
from graphrag_bench.values import Answer, Piece, Question
from methods.context import blocks

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
    form = answer_form(question.form, question.open_tokens)
    dependencies = tuple(dependencies)
    closed = pieces is None and not dependencies
    pieces = pieces or ()
    return {
        "question": question.text,
        "pieces": pieces,
        "blocks": [{**block, "table": _is_table(block)} for block in blocks(pieces)],
        "dependencies": dependencies,
        "form": form.name,
        "manner": form.manner,
        "cue": form.cue,
        "licence": "" if closed else form.licence,
    }


def _is_table(block: Mapping[str, Any]) -> bool:
    numbered = (row.startswith(f"{place},") for place, row in enumerate(block["rows"]))
    return bool(block["head"]) and all(numbered)


def most_tokens(llm: LLM, chat: Chat, question: Question, max_tokens: int | None) -> int:
    """The tokens of an answer: as set, or those of its form that the model's window leaves."""
    if max_tokens is not None:
        return max_tokens
    form = answer_form(question.form, question.open_tokens)
    return reply_tokens(llm, chat, form.max_tokens)


def answered(
    llm: LLM, chat: Chat, question: Question, max_tokens: int | None, stop: Sequence[str] = ()
) -> Answer:
    """The reply to a prompt as the answer; raises CallFailed when there is none."""
    most = most_tokens(llm, chat, question, max_tokens)
    found = reply(llm, chat, max_tokens=most, stop=stop)
    return Answer(found.text.strip(), found.finish == "length")
