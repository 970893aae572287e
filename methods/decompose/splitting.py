"""Decomposition of a question into sub-questions that are searched for separately."""

from typing import Annotated

from pydantic import BaseModel, Field, PositiveInt

from graphrag_bench.arrays import unique
from graphrag_bench.contract import operator
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.structured import ask
from graphrag_bench.prompts import Prompt
from graphrag_bench.values import Query, Question


class SubQuestions(BaseModel):
    """Reply to the decomposition prompt."""

    sub_questions: list[Annotated[str, Field(json_schema_extra={"maxLength": 200})]] = Field(
        json_schema_extra={"maxItems": 6}
    )


@operator("question.decompose", calls=2, supplies={"question", "most"}, order="as in the reply")
def decompose(
    question: Question,
    *,
    llm: ChatModel,
    prompt: Prompt = Prompt("methods:decompose/prompts/sub_questions.j2"),
    at_most: PositiveInt = 4,
    with_question: bool = False,
) -> Query:
    """Ask the language model to split the question into at most `at_most` sub-questions.

    Duplicates are removed. The sub-questions are the texts of the query. If `with_question` is
    true, the question itself comes first. If the model returns no sub-question, the query is the
    question. This query is also used after two unreadable replies or no reply, as a fallback.
    Source: Press et al. (2023), self-ask, Section 3; Khot et al. (2023), decomposed prompting.
    """
    chat = prompt.render({"question": question.text, "most": at_most})
    none = SubQuestions(sub_questions=[])
    reply = ask(llm, chat, SubQuestions, max_tokens=320, purpose="sub-questions", fallback=none)
    parts = unique([text.strip() for text in reply.sub_questions if text.strip()])[:at_most]
    whole = (question.text,) if with_question or not parts else ()
    return Query(unique([*whole, *parts]))
