"""The combinator `aside`: steps that leave behind only what is kept."""

from typing import Any

from tiny_runs import START, outcomes

from graphrag_bench.pipeline.checker import Checker
from graphrag_bench.pipeline.pipeline import build
from graphrag_bench.pipeline.steps import Failure


def aside(keep: Any, *steps: dict[str, Any]) -> dict[str, Any]:
    return {"aside": keep, "steps": list(steps)}


GROW, NAMES, QUERY = ({"op": f"tiny.{name}"} for name in ("grow", "names", "query"))


def test_only_what_is_kept_is_there_afterwards_and_a_failure_fails_the_question():
    (outcome,) = outcomes([START, aside(["query"], NAMES, GROW, QUERY)], "1 2 ada")
    assert outcome.get("query").texts == ("ada",)
    assert outcome.get("nodes").ids.tolist() == [1, 2]
    assert outcome.get("mentions") is None
    (bad,) = outcomes([START, aside(["nodes"], {"op": "tiny.twice"})], "13")
    assert isinstance(bad, Failure) and bad.step == "retrieve.1.0 tiny.twice"


def problems(*steps: dict[str, Any]) -> list[str]:
    pipeline, result = build({"retrieve": [START, *steps]})
    scope = Checker()
    for step in pipeline.steps():
        step.check(scope)
    return [*result, *scope.problems]


def test_what_is_not_kept_cannot_be_read_and_what_nobody_read_may_be_written_anew():
    assert problems(aside(["nodes"], NAMES, GROW), GROW) == []
    (message,) = problems(aside(["nodes"], NAMES, GROW), QUERY)
    assert "reads 'mentions', which no earlier step writes" in message
    unread = problems(GROW, {"op": "tiny.start"})
    assert "overwrites 'nodes'" in unread[0]
    assert problems(GROW, aside(["nodes"], {"op": "tiny.start"}), GROW) == []
    assert problems(aside(["chunks"], {"op": "tiny.chunks"}), {"op": "tiny.start"}) == []


def test_what_is_kept_must_be_a_list_that_is_written_and_is_part_of_the_run_key():
    (message,) = problems(aside(["query"], GROW))
    assert message == "retrieve.1 aside keeps 'query', which none of its steps writes."
    assert "a list of slots was expected, not 'nodes'" in problems(aside("nodes", GROW))[0]
    described = [build({"retrieve": [START, step]})[0].describe() for step in (
        aside(["nodes"], GROW), aside(["nodes"], GROW, GROW), aside(["nodes", "query"], GROW)
    )]  # fmt: skip
    assert len({str(one) for one in described}) == 3
