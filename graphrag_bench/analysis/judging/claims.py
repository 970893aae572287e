"""A text taken apart into statements that can be checked one by one."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel

from graphrag_bench.analysis.judging.cases import PROMPTS, Bench, Case, ask_judge
from graphrag_bench.errors import UnreadableReply
from graphrag_bench.llm.calls import CallFailed
from graphrag_bench.prompts import Prompt

STATEMENTS = Prompt(f"{PROMPTS}/statements.j2")


class Statements(BaseModel):
    """What the statements prompt returns."""

    statements: list[str]


def claims(
    bench: Bench, cases: Sequence[Case], texts: Sequence[str]
) -> list[list[str] | UnreadableReply | CallFailed]:
    """What each text claims as an answer to its case's question, or the failure in its place.

    A text that claims nothing has none. Source: Es et al. 2024, section 3.
    """
    chats = [
        STATEMENTS.render({"question": case.question, "answer": text})
        for case, text in zip(cases, texts, strict=True)
    ]
    return [
        [text for text in one.statements if text.strip()] if isinstance(one, Statements) else one
        for one in ask_judge(bench, cases, chats, Statements, "statements")
    ]
