"""Points of map-reduce: what the schema bounds, and that nothing a model says more is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from graphrag_bench.context_budget import UNBOUNDED
from graphrag_bench.data.dataset import Gold
from graphrag_bench.llm.calls import Completion, Request
from graphrag_bench.llm.json_replies import read_json, schema_of
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.models.tokenizer import BytePairs
from graphrag_bench.runs.record import summary
from graphrag_bench.runs.scoring import context_tokens, score
from graphrag_bench.values import Context, Piece, Question
from methods.decompose.splitting import SubQuestions
from methods.map_reduce import Points, map_points, points_context
from operators.reranking import Order

ASKED = Question("q", "What did the laboratory find?")
CONTEXT = Context((Piece("community", "c0", "The laboratory found helium.", 1.0, 6),))


class Listening(Scripted):
    """A scripted model that keeps the schemas it is held to."""

    def __init__(self, reply: str) -> None:
        super().__init__(answer=lambda chat: reply)
        self.schemas: list[Mapping[str, Any] | None] = []

    def call(self, request: Request) -> Completion:
        self.schemas.append(request.schema)
        return super().call(request)


def said(*descriptions: str) -> str:
    points = [{"description": text, "score": 80} for text in descriptions]
    return json.dumps({"points": points})


def points(reply: str, **settings: Any) -> tuple[Sequence[str], Mapping[str, Any]]:
    llm = Listening(reply)
    found, _ = map_points(ASKED, CONTEXT, llm=llm, context_budget=UNBOUNDED, **settings)
    assert llm.schemas[0] is not None
    return found.texts, llm.schemas[0]


@pytest.mark.parametrize("most", [1, 5, 12])
def test_the_schema_ends_the_list_at_as_many_points_as_were_asked_for(most: int) -> None:
    _, schema = points(said("helium"), max_points=most)
    assert schema["properties"]["points"]["maxItems"] == most
    assert schema["$defs"]["Point"]["properties"]["description"]["maxLength"] == 300


def test_without_a_limit_of_characters_points_are_described_comprehensively() -> None:
    _, schema = points(said("helium"), max_characters=None)
    assert "maxLength" not in schema["$defs"]["Point"]["properties"]["description"]
    for most, asked in ((None, "a comprehensive description"), (300, "one sentence")):
        llm = Listening(said("helium"))
        map_points(ASKED, CONTEXT, llm=llm, context_budget=UNBOUNDED, max_characters=most)
        assert asked in llm.asked[0][0].content


def test_more_and_longer_points_of_a_server_without_schemas_are_read_whole() -> None:
    long = "helium " * 100
    texts, _ = points(said("one", "two", long), max_points=2)
    assert texts == ("one", "two", long)


def test_the_bounds_leave_the_other_fields_as_they_were() -> None:
    _, schema = points(said("helium"))
    assert schema["$defs"]["Point"]["required"] == ["description", "score"]
    assert schema["required"] == ["points"]


def test_lists_that_a_small_model_would_never_end_are_bounded_in_the_schema_alone() -> None:
    assert schema_of(Order)["properties"]["order"]["maxItems"] == 40
    parts = schema_of(SubQuestions)["properties"]["sub_questions"]
    assert (parts["maxItems"], parts["items"]["maxLength"]) == (6, 200)
    many = json.dumps({"order": list(range(1, 61))})
    assert len(read_json(many, Order).order) == 60


REPORTS = Context(
    tuple(Piece("community", f"c{row}", f"Report {row}.", 1.0, 10) for row in range(5)),
    (("community", "c9"),),
    1.0,
)
"""Five reports of ten tokens; a sixth was cut before."""


def read(**settings: Any) -> tuple[list[str], Context]:
    """The last message of every call, and the context that was read."""
    llm = Scripted(answer=lambda chat: said("helium"))
    _, context = map_points(ASKED, REPORTS, llm=llm, context_budget=UNBOUNDED, **settings)
    return [chat[-1].content for chat in llm.asked], context


def ids(context: Context) -> list[str]:
    return [piece.id for piece in context.pieces]


def test_what_the_groups_leave_unread_is_cut_and_never_counted_as_context() -> None:
    calls, context = read(group_tokens=20, max_groups=2)
    assert len(calls) == 2
    assert ids(context) == ["c0", "c1", "c2", "c3"]
    assert context.cut == (("community", "c9"), ("community", "c4"))
    assert context_tokens({"context": summary(context)}) == 40


def test_a_run_tells_how_many_reports_were_not_read() -> None:
    _, context = read(group_tokens=20, max_groups=1)
    row = {"question": "q", "scope": None, "status": "retrieved", "context": summary(context),
           "calls": 1, "prompt_tokens": 1, "completion_tokens": 1}  # fmt: skip
    usage = score([row], {"q": Gold()}, [])["usage"]
    assert (usage["reports_per_question"], usage["reports_cut_per_question"]) == (6.0, 4.0)
    assert usage["context_tokens_per_question"] == 20.0


def test_each_report_alone_is_a_call_of_its_own() -> None:
    calls, context = read(group="single")
    assert len(calls) == 5
    assert all(f"Report {row}." in call for row, call in enumerate(calls))
    assert ids(context) == ["c0", "c1", "c2", "c3", "c4"]


def test_shuffled_reports_are_the_same_for_every_question_and_all_read() -> None:
    _, first = read(order="shuffled", group_tokens=20)
    _, again = read(order="shuffled", group_tokens=20)
    _, other = read(order="shuffled", group_tokens=20, seed=1)
    assert ids(first) == ids(again) != ids(REPORTS)
    assert ids(other) != ids(first)
    assert sorted(ids(other)) == sorted(ids(first)) == ids(REPORTS)
    assert first.cut == REPORTS.cut


def test_a_context_of_points_still_tells_what_was_left_unread() -> None:
    _, context = read(group_tokens=20, max_groups=1)
    made = points_context(
        Points(("helium",), (80,)), context, tokenizer=BytePairs(), context_budget=UNBOUNDED
    )
    assert [piece.kind for piece in made.pieces] == ["point"]
    assert made.cut == context.cut
