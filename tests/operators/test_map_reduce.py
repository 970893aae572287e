"""Points of map-reduce: what the schema bounds, and that nothing a model says more is refused."""

from typing import Any

import pytest

from graphrag_bench.llm.calls import Completion, Request
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.prompts import UNBOUNDED
from graphrag_bench.run.record import summary
from graphrag_bench.run.scoring import context_tokens
from graphrag_bench.values import Context, Piece, Question
from operators.answer.map_reduce import map_points

QUESTION = Question("q", "What did the laboratory find?")
CONTEXT = Context((Piece("community", "c0", "The laboratory found helium.", 1.0, 6),))


class Listening(Scripted):
    """A scripted model that keeps the schemas it is held to."""

    def __init__(self) -> None:
        super().__init__(answer=lambda chat: REPLY)
        self.schemas: list[Any] = []

    def call(self, request: Request) -> Completion:
        self.schemas.append(request.schema)
        return super().call(request)


REPLY = '{"points": [{"description": "helium", "score": 80}]}'


@pytest.mark.parametrize(
    ("settings", "n_points", "n_characters", "words"),
    [
        ({"max_points": 1}, 1, 300, "one sentence"),
        ({"max_points": 12}, 12, 300, "one sentence"),
        ({"max_points": 5, "max_characters": None}, 5, None, "a comprehensive description"),
    ],
)
def test_schema_and_prompt_bound_points_as_they_were_asked_for(
    settings: dict[str, Any], n_points: int, n_characters: int | None, words: str
) -> None:
    llm = Listening()
    map_points(QUESTION, CONTEXT, llm=llm, context_budget=UNBOUNDED, **settings)
    (schema,) = llm.schemas
    assert schema["properties"]["points"]["maxItems"] == n_points
    assert schema["$defs"]["Point"]["properties"]["description"].get("maxLength") == n_characters
    assert words in llm.prompts[0][0].content


REPORTS = Context(
    tuple(Piece("community", f"c{row}", f"Report {row}.", 1.0, 10) for row in range(5)),
    (("community", "c9"),),
    1.0,
)
"""Five reports of ten tokens; a sixth was cut before."""


def read(**settings: Any) -> tuple[list[str], Context]:
    """The last message of every call, and the context that was read."""
    llm = Scripted(answer=lambda chat: REPLY)
    _, context = map_points(QUESTION, REPORTS, llm=llm, context_budget=UNBOUNDED, **settings)
    return [chat[-1].content for chat in llm.prompts], context


def ids(context: Context) -> list[str]:
    return [piece.id for piece in context.pieces]


def test_what_the_groups_leave_unread_is_cut_and_shuffled_reports_are_all_read() -> None:
    calls, context = read(group_tokens=20, max_groups=2)
    assert len(calls) == 2
    assert ids(context) == ["c0", "c1", "c2", "c3"]
    assert context.cut == (("community", "c9"), ("community", "c4"))
    assert context_tokens({"context": summary(context)}) == 40
    _, first = read(order="shuffled", group_tokens=20)
    _, again = read(order="shuffled", group_tokens=20)
    _, other = read(order="shuffled", group_tokens=20, seed=1)
    assert ids(first) == ids(again) != ids(REPORTS)
    assert ids(other) != ids(first)
    assert sorted(ids(other)) == sorted(ids(first)) == ids(REPORTS)
    assert first.cut == REPORTS.cut
