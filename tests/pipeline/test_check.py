from typing import Any

from tiny_operators import ANSWER, CHUNKS, ECHO, GROW, MASS, NAMES, QUERY, START, branch

from graphrag_bench.pipeline.pipeline import build

VANILLA = "methods:vanilla/prompts/answer.j2"
UNWRITTEN = "which no earlier step writes"


def problems(retrieve: Any, generate: Any = (ANSWER,), **known: frozenset[str]) -> list[str]:
    pipeline, result = build({"retrieve": retrieve, "generate": list(generate)})
    return result or pipeline.check(**known)


def test_a_problem_names_its_step() -> None:
    for steps, place, problem in (
        ([START, {"op": "tiny.chunk"}], "retrieve.1", "'tiny.chunks'"),
        ([START, {**GROW, "unti": 1}, CHUNKS], "retrieve.1 tiny.grow", "'unti'. Did you mean 'un"),
        ([START, {**GROW, "by": "4"}, CHUNKS], "retrieve.1 tiny.grow", "'by' is '4'"),
        ([{"op": "tiny.say"}], "retrieve.0 tiny.say", "needs the setting 'prompt'"),
        ([{"op": "tiny.say", "prompt": VANILLA}], "retrieve.0 tiny.say", "cue, licence, manner"),
        ([{"op": "tiny.say", "prompt": f"{VANILLA}x"}], "retrieve.0 tiny.say", f"'{VANILLA}x'"),
        ([QUERY, START, CHUNKS], "retrieve.0 tiny.query", "tiny.either, tiny.names"),
        ([{"op": "tiny.either"}, QUERY], "retrieve.1 tiny.query", f"'mentions', {UNWRITTEN}"),
        ([START, {"op": "tiny.typed"}, CHUNKS], "retrieve.1 tiny.typed", "overwrites 'nodes'"),
        ([START, {**CHUNKS, "use": ["query"]}], "retrieve.1 tiny.chunks", "reads 'query'"),
        ([START, {**CHUNKS, "use": ["mentions"]}], "retrieve.1 tiny.chunks", "it can use query"),
        ([branch([NAMES], [QUERY]), START], "retrieve.0.arm1.0 tiny.query", "reads 'mentions'"),
        ([START, CHUNKS, branch([ANSWER], [ANSWER])], "retrieve.2 branch", "cannot be merged"),
        ([NAMES, {"switch": "mentions", "cases": {"empty": [START]}}, CHUNKS],
         "retrieve.2 tiny.chunks", f"'nodes', {UNWRITTEN}"),
        ([START, {"repeat": 3, "until": "node_scores", "steps": [GROW]}],
         "retrieve.1 repeat", "reads 'node_scores'"),
        ([START, {"each": "question", "steps": [CHUNKS]}], "retrieve.1 each", "has no items"),
        ([START, CHUNKS, {"each": "chunks", "steps": [ANSWER]}], "retrieve.2 each", "merged"),
        # without items, chunks are empty, but node scores have no empty value
        ([START, {"each": "nodes", "steps": [MASS]}, {"each": "node_scores", "steps": [CHUNKS]}],
         "retrieve.2 each", f"'node_scores', {UNWRITTEN}"),
        (["tiny.start"], "retrieve.0", "'tiny.start'"),
        ([{"do": 1}], "retrieve.0", "op, branch, each, repeat, resolve, switch"),
        ([{"branch": [START]}], "retrieve.0", "named lists of steps"),
        ([{"branch": {"a": START}}], "retrieve.0.a", "a list of steps"),
        ([branch([START], merge="mix")], "retrieve.0 branch:", "'merge'"),
        ([branch([START], keep="max")], "retrieve.0 (branch)", "no key 'keep'"),
        ([{"each": "nodes", "at_most": True, "steps": []}], "retrieve.0 each:", "'at_most'"),
        ([{"switch": "question"}], "retrieve.0.cases", "named lists of steps"),
    ):  # fmt: skip
        result = problems(steps)
        assert any(one.startswith(place) and problem in one for one in result), result


def test_given_slots_resources_and_attributes_are_checked() -> None:
    pipeline, _ = build({"generate": [ANSWER]})
    assert pipeline.check(slots=frozenset({"chunks"})) == []
    (result,) = problems([], [ECHO], resources=frozenset({"graph", "bm25"}))
    assert result.startswith("generate.0 tiny.echo needs 'llm'") and "bm25, graph" in result
    steps = [{"op": "tiny.typed"}, CHUNKS]
    assert problems(steps, attributes=frozenset({"node.type"})) == problems(steps) == []
    (result,) = problems(steps, attributes=frozenset({"node.name"}))
    assert result.startswith("retrieve.0 tiny.typed requires node.type")


def test_a_pipeline_sums_its_needs_and_maximum_calls() -> None:
    arms = [
        {"repeat": 3, "steps": [ECHO]},
        {"each": "nodes", "at_most": 5, "steps": [ECHO]},
        branch([ECHO], [ECHO]),
        {"switch": "nodes", "cases": {"empty": [ECHO], "some": [START]}},
    ]
    pipeline, _ = build({"retrieve": arms, "generate": [ECHO]})
    assert pipeline.needs() == {"llm"}
    assert pipeline.max_calls(answering=False) == 3 + 5 + 2 + 1 and pipeline.max_calls() == 12


def test_the_description_depends_on_settings_order_list_names_and_only() -> None:
    def described(*steps: Any) -> str:
        return str(build({"retrieve": list(steps)})[0].describe())

    assert described(GROW) == described({**GROW, "by": 1})
    some = [{**GROW, "by": 2}], [START, GROW], [GROW, START], [{**GROW, "as": "more"}]
    onlys = ([branch([GROW], only=names)] for names in (["nodes"], ["nodes", "query"]))
    assert len({described(*steps) for steps in ([GROW], *some, *onlys)}) == 7
