from typing import Any

from tiny_operators import APART, CHUNKS, FIRST, GROW, NAMES, QUERY, START, TOTAL, branch, outcomes

from graphrag_bench.pipeline.pipeline import build
from graphrag_bench.pipeline.steps import Failure

SEEDS = {**FIRST, "as": "seeds"}


def only(names: Any, *steps: dict[str, Any]) -> dict[str, Any]:
    return branch(steps, only=names)


def problems(*steps: dict[str, Any]) -> list[str]:
    pipeline, result = build({"retrieve": [START, *steps], "generate": [TOTAL]})
    return [*result, *pipeline.check(slots=frozenset({"dependencies"}))]


def test_two_lists_of_one_type_are_read_by_name():
    """`apart(seeds, nodes)` returns the nodes that are not seeds."""
    (outcome,) = outcomes([START, SEEDS, APART], "3 5 3 7")
    assert outcome.get("seeds").ids.tolist() == [3]
    assert outcome.get("nodes").ids.tolist() == [5, 7]
    grown = {**GROW, "as": "more"}
    (other,) = outcomes([START, grown, {**CHUNKS, "use": [{"nodes": "more"}]}], "3")
    assert (other.get("nodes").ids.tolist(), other.get("chunks").ids.tolist()) == ([3], [4])


def test_a_wrong_list_name_is_a_problem_of_its_step():
    for steps, place, name in (
        ([{**FIRST, "as": "seds"}, APART], "retrieve.1 tiny.first", "'seeds'"),
        ([APART], "retrieve.1 tiny.apart", "'nodes' twice"),
        ([SEEDS, {**CHUNKS, "use": [{"nodes": "seds"}]}], "retrieve.2 tiny.chunks", "'seeds'"),
        ([SEEDS, {**CHUNKS, "use": [{"node": "seeds"}]}], "retrieve.2 tiny.chunks", "'node'"),
        ([{**CHUNKS, "as": "a"}, {**GROW, "use": [{"nodes": "a"}]}], "retrieve.2", "chunks"),
        ([{**CHUNKS, "as": "seeds"}, APART], "retrieve.2 tiny.apart", "'seeds'"),
        ([SEEDS, {**CHUNKS, "as": "seeds"}, APART], "retrieve.2 tiny.chunks", "'seeds'"),
        ([{**FIRST, "as": "chunks"}], "retrieve.1 tiny.first", "'chunks'"),
        ([{**FIRST, "as": "the seeds"}], "retrieve.1 tiny.first", "'the seeds'"),
        ([only(["chunks"], SEEDS, CHUNKS), APART], "retrieve.2 tiny.apart", "'seeds'"),
    ):  # fmt: skip
        assert any(one.startswith(place) and name in one for one in problems(*steps))


def test_only_limits_the_slots_that_a_branch_returns():
    (outcome,) = outcomes([START, only(["query"], NAMES, GROW, QUERY)], "1 2 ada")
    assert outcome.get("query").texts == ("ada",)
    assert outcome.get("nodes").ids.tolist() == [1, 2]
    assert outcome.get("mentions") is None
    (bad,) = outcomes([START, only(["nodes"], {"op": "tiny.twice"})], "13")
    assert isinstance(bad, Failure) and bad.step == "retrieve.1.arm0.0 tiny.twice"


def test_dropped_slots_cannot_be_read_and_arms_may_overwrite():
    assert problems(only(["nodes"], NAMES, GROW), GROW) == []
    (message,) = problems(only(["nodes"], NAMES, GROW), QUERY)
    assert "'mentions'" in message
    assert problems(GROW, only(["nodes"], START), GROW) == []
    assert problems(only(["chunks"], CHUNKS), START) == []
    (message,) = problems(only(["query"], GROW))
    assert message.startswith("retrieve.1 branch") and "'query'" in message
    assert any("'nodes'" in one for one in problems(only("nodes", GROW)))
