"""Points of map-reduce: what the schema bounds, and that nothing a model says more is refused."""

from typing import Any

from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.run.record import summary
from graphrag_bench.run.scoring import context_tokens
from graphrag_bench.values import Context, Piece, Question
from operators.answer.map_reduce import map_points

QUESTION = Question("q", "What did the laboratory find?")


REPLY = '{"points": [{"description": "helium", "score": 80}]}'


REPORTS = Context(
    tuple(Piece("community", f"c{row}", f"Report {row}.", 1.0, 10) for row in range(5)),
    (("community", "c9"),),
    1.0,
)
"""Five reports of ten tokens; a sixth was cut before."""


def read(**settings: Any) -> tuple[list[str], Context]:
    """The last message of every call, and the context that was read."""
    llm = Scripted(answer=lambda chat: REPLY)
    _, context = map_points(QUESTION, REPORTS, llm=llm, **settings)
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
