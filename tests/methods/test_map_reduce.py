"""Points of map-reduce: what the schema bounds, and that nothing a model says more is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from graphrag_bench.models.fan_out import Request
from graphrag_bench.models.json_replies import read_json, schema_of
from graphrag_bench.models.llm import Completion
from graphrag_bench.models.scripted import Scripted
from graphrag_bench.values import Context, Piece, Question
from methods.decompose.splitting import SubQuestions
from methods.map_reduce import map_points
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
    found = map_points(ASKED, CONTEXT, llm=llm, **settings)
    assert llm.schemas[0] is not None
    return found.texts, llm.schemas[0]


@pytest.mark.parametrize("most", [1, 5, 12])
def test_the_schema_ends_the_list_at_as_many_points_as_were_asked_for(most: int) -> None:
    _, schema = points(said("helium"), max_points=most)
    assert schema["properties"]["points"]["maxItems"] == most
    assert schema["$defs"]["Point"]["properties"]["description"]["maxLength"] == 300


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
