"""Every static problem of a pipeline, in one error, before anything is called."""

from collections.abc import Iterable
from typing import Any

import pytest

from graphrag_bench.errors import UserError
from graphrag_bench.pipeline.build import StepOptions, build, refuse

START, CHUNKS = {"op": "tiny.start"}, {"op": "tiny.chunks"}
ANSWER = {"op": "tiny.answer"}
VANILLA = "methods:vanilla/prompts/answer.j2"


def problems(
    retrieve: Any,
    generate: Any = (ANSWER,),
    resources: Iterable[str] | None = None,
    attributes: Iterable[str] | None = None,
) -> list[str]:
    """The problems of a method, those of its settings first."""
    pipeline, found = build({"retrieve": retrieve, "generate": list(generate)})
    return found + pipeline.check(
        None if resources is None else frozenset(resources),
        None if attributes is None else frozenset(attributes),
    )


def test_a_sound_pipeline_has_no_problem():
    assert problems([START, CHUNKS]) == []


# ---- names and settings


def test_an_unknown_operator_is_answered_with_the_nearest():
    (found,) = problems([START, {"op": "tiny.chunk"}, CHUNKS])
    assert found.startswith("retrieve.1: No operator 'tiny.chunk'. Did you mean 'tiny.chunks'")


def test_an_unknown_setting_is_answered_with_the_nearest():
    (found,) = problems([START, {"op": "tiny.grow", "unti": "ten"}, CHUNKS])
    assert found == "retrieve.1 tiny.grow has no setting 'unti'. Did you mean 'unit'?"


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"by": "4"}, "setting 'by' is '4': Input should be a valid integer"),
        ({"by": True}, "setting 'by' is True: Input should be a valid integer"),
        ({"by": 0}, "setting 'by' is 0: Input should be greater than 0"),
        ({"unit": "tens"}, "setting 'unit' is 'tens': Input should be 'one' or 'ten'"),
    ],
)
def test_a_setting_of_the_wrong_type_or_range_is_a_problem(setting, said):
    assert problems([START, {"op": "tiny.grow", **setting}, CHUNKS]) == [
        f"retrieve.1 tiny.grow: {said}"
    ]


def test_a_setting_without_a_default_must_be_given():
    found = problems([], [{"op": "tiny.say"}])
    assert found == ["generate.0 tiny.say needs the setting 'prompt'."]


def test_a_prompt_that_asks_for_more_than_it_is_given_is_a_problem():
    assert problems([], [{"op": "tiny.say", "prompt": VANILLA}]) == [
        f"generate.0 tiny.say: prompt '{VANILLA}' asks for cue, licence, manner, pieces; "
        "'prompt' is given question."
    ]


def test_a_prompt_file_that_is_not_there_is_a_problem():
    (found,) = problems([], [{"op": "tiny.say", "prompt": "methods:vanilla/prompts/anser.j2"}])
    assert found.startswith(
        "generate.0 tiny.say: No prompt file 'methods:vanilla/prompts/anser.j2'"
    )


def test_a_template_that_cannot_be_read_is_a_problem_among_others(tmp_path):
    (tmp_path / "answer.j2").write_text("{% for piece in pieces %}")
    say = {"op": "tiny.say", "prompt": VANILLA}
    _, found = build({"generate": [say, {"op": "tiny.sigh"}]}, StepOptions(str(tmp_path)))
    assert found[0].startswith(f"generate.0 tiny.say: Prompt '{VANILLA}', line 1: ")
    assert found[1].startswith("generate.1: No operator 'tiny.sigh'.")


# ---- slots


def test_a_slot_that_nobody_writes_is_a_problem_that_names_who_does():
    (found,) = problems([{"op": "tiny.query"}, START, CHUNKS])
    assert found.startswith("retrieve.0 tiny.query reads 'mentions', which no earlier step writes;")
    assert "tiny.names" in found
    assert "tiny.either" in found


def test_what_may_be_written_cannot_be_counted_on():
    (found, _) = problems([{"op": "tiny.either"}, {"op": "tiny.query"}, START, CHUNKS])
    assert "reads 'mentions', which no earlier step writes" in found


def test_a_slot_overwritten_before_anyone_read_it_is_a_problem():
    assert problems([START, {"op": "tiny.typed"}, CHUNKS]) == [
        "retrieve.1 tiny.typed overwrites 'nodes', which retrieve.0 tiny.start wrote and nobody "
        "has read; put the two in the arms of a branch to merge them."
    ]


def test_overwriting_what_was_read_is_none():
    assert problems([START, {"op": "tiny.grow"}, {"op": "tiny.grow"}, CHUNKS]) == []


def test_a_pipeline_that_gives_no_answer_is_a_problem():
    (found,) = problems([START, CHUNKS], [])
    assert found.startswith("No step writes 'answer'")


def test_a_slot_that_a_method_is_given_needs_no_writer():
    pipeline, _ = build({"generate": [ANSWER]})
    assert pipeline.check(given=frozenset({"chunks"})) == []


def test_an_optional_read_is_checked_only_where_it_is_used():
    assert problems([START, CHUNKS]) == []
    (found,) = problems([START, {**CHUNKS, "use": ["query"]}])
    assert "retrieve.1 tiny.chunks reads 'query'" in found


def test_only_optional_reads_can_be_used():
    (found,) = problems([START, {**CHUNKS, "use": ["mentions"]}])
    assert found == "retrieve.1 tiny.chunks cannot use 'mentions'; it can use query."


def test_used_slots_are_a_list():
    (found,) = problems([START, {**CHUNKS, "use": "query"}])
    assert found == "retrieve.1 tiny.chunks: use: a list of slots was expected, not 'query'."


# ---- resources and attributes


def test_a_resource_that_nothing_builds_is_a_problem():
    found = problems([], [{"op": "tiny.echo"}], resources={"graph", "bm25"})
    assert found == [
        "generate.0 tiny.echo needs 'llm', which nothing builds; there are: bm25, graph."
    ]


def test_an_attribute_that_the_graph_lacks_is_a_problem():
    steps = [{"op": "tiny.typed"}, CHUNKS]
    assert problems(steps, attributes={"node.name", "node.type"}) == []
    assert problems(steps, attributes={"node.name"}) == [
        "retrieve.0 tiny.typed requires node.type; the graph has node.name."
    ]
    assert problems(steps, attributes=None) == []


# ---- combinators


def test_arms_are_checked_from_the_same_start():
    branch = {"branch": {"a": [{"op": "tiny.names"}], "b": [{"op": "tiny.query"}]}}
    (found,) = problems([branch, START, CHUNKS])
    assert found.startswith("retrieve.0.b.0 tiny.query reads 'mentions'")


def test_what_several_arms_write_must_be_mergeable():
    branch = {"branch": {"a": [ANSWER], "b": [ANSWER]}}
    (found,) = problems([START, CHUNKS, branch], [])
    assert found == "retrieve.2 branch: several arms write 'answer', which cannot be merged."


def test_two_writers_of_a_slot_belong_into_a_branch():
    branch = {"branch": {"a": [START], "b": [{"op": "tiny.typed"}]}}
    assert problems([branch, CHUNKS]) == []


def test_a_switch_counts_on_what_every_arm_writes():
    one = {"switch": "mentions", "cases": {"empty": [START]}}
    both = {"switch": "mentions", "cases": {"empty": [START], "otherwise": [START]}}
    assert problems([{"op": "tiny.names"}, both, CHUNKS]) == []
    (found,) = problems([{"op": "tiny.names"}, one, CHUNKS])
    assert "tiny.chunks reads 'nodes', which no earlier step writes" in found


def test_a_switch_reads_its_slot():
    found = problems([{"switch": "mentions", "cases": {"otherwise": [START]}}, CHUNKS])
    assert found[0].startswith("retrieve.0 switch reads 'mentions'")


def test_what_stops_a_repetition_must_be_written_in_it():
    grow, enough = {"op": "tiny.grow"}, {"op": "tiny.enough"}
    sound = {"repeat": 3, "until": "node_scores", "steps": [grow, {"op": "tiny.mass"}]}
    assert problems([START, sound, CHUNKS]) == []
    (found,) = problems([START, {**sound, "steps": [grow]}, CHUNKS])
    assert found.startswith("retrieve.1 repeat reads 'node_scores'")
    may = {"repeat": 3, "until": "keywords", "steps": [grow, enough]}
    assert problems([START, may, CHUNKS]) == []


def test_only_a_slot_with_items_is_gone_through():
    (found,) = problems([START, {"each": "question", "steps": [CHUNKS]}])
    assert found.startswith("retrieve.1 each: 'question' has no items; slots that do: ")


def test_what_is_written_for_every_item_must_be_mergeable():
    (found,) = problems([START, CHUNKS, {"each": "chunks", "steps": [ANSWER]}], [])
    assert found == "retrieve.2 each: 'answer' of several items cannot be merged."


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("tiny.start", "retrieve.0: a step is a mapping such as {op: NAME}, not 'tiny.start'."),
        (
            {"do": 1},
            "retrieve.0 has none of op, aside, branch, each, repeat, resolve, switch",
        ),
        ({"branch": [START]}, "retrieve.0: named lists of steps were expected"),
        ({"branch": {"a": START}}, "retrieve.0.a: a list of steps was expected"),
        (
            {"branch": {"a": [START]}, "merge": "mix"},
            "retrieve.0 merge: 'mix' is none of interleave",
        ),
        ({"branch": {"a": [START]}, "keep": "max"}, "retrieve.0 (branch) has no key 'keep'"),
        ({"repeat": "3", "steps": [START]}, "retrieve.0 repeat: a whole number above 0"),
        ({"repeat": 0, "steps": [START]}, "retrieve.0 repeat: a whole number above 0"),
        ({"repeat": 1, "keep": "all", "steps": []}, "retrieve.0 keep: 'all' is none of last"),
        ({"each": "nodes", "at_most": True, "steps": []}, "retrieve.0 at_most: a whole number"),
        ({"switch": "question"}, "retrieve.0.cases: named lists of steps were expected"),
    ],
)
def test_a_step_that_is_written_wrongly_is_a_problem_with_its_place(step, said):
    assert any(found.startswith(said) for found in problems([step]))


def test_all_problems_come_in_one_error():
    found = problems(
        [{"op": "tiny.query"}, {"op": "tiny.grow", "by": -1, "bye": 2}, {"op": "tiny.chonks"}],
        resources={"graph"},
    )
    with pytest.raises(UserError) as raised:
        refuse(found, "the pipeline of method 'mine'")
    lines = str(raised.value).splitlines()
    assert lines[0] == f"{len(found)} problem(s) in the pipeline of method 'mine':"
    for words in ("'tiny.chonks'", "'bye'", "'by' is -1", "reads 'mentions'", "reads 'nodes'"):
        assert any(words in line for line in lines[1:])


# ---- what a pipeline says of itself


def test_a_pipeline_knows_what_it_needs_and_what_it_may_cost():
    pipeline, _ = build(
        {
            "retrieve": [
                {"repeat": 3, "steps": [{"op": "tiny.echo"}]},
                {"each": "nodes", "at_most": 5, "steps": [{"op": "tiny.echo"}]},
                {"branch": {"a": [{"op": "tiny.echo"}], "b": [{"op": "tiny.echo"}]}},
                {"switch": "nodes", "cases": {"empty": [{"op": "tiny.echo"}], "some": [START]}},
            ],
            "generate": [{"op": "tiny.echo"}],
        }
    )
    assert pipeline.needs() == {"llm"}
    assert pipeline.bound(answering=False) == 3 + 5 + 2 + 1
    assert pipeline.bound() == 12


def test_its_description_changes_with_settings_and_order_and_not_with_places():
    def described(*steps: Any) -> list[Any]:
        return build({"retrieve": list(steps)})[0].describe()

    grow = {"op": "tiny.grow"}
    assert described(grow) == described({**grow, "by": 1})
    assert described(grow) != described({**grow, "by": 2})
    assert described(START, grow) != described(grow, START)
    assert described(CHUNKS) != described({**CHUNKS, "use": ["query"]})
    assert build({"convert": [START]})[0].describe() == described(START)


def test_a_prompt_is_described_by_its_text(tmp_path):
    def described(folder: str | None) -> list[Any]:
        step = {"op": "tiny.say", "prompt": "methods:zeroshot/prompts/answer.j2"}
        return build({"generate": [step]}, StepOptions(folder))[0].describe()

    packaged = described(None)
    assert described(str(tmp_path)) == packaged
    (tmp_path / "answer.j2").write_text("{{ question }}?")
    assert described(str(tmp_path)) != packaged


def test_what_each_item_writes_may_be_missing_where_it_cannot_be_empty():
    """Of no item there are no chunks, but there is no mass that sums to 1."""
    scores = {"each": "nodes", "steps": [{"op": "tiny.mass"}]}
    read = {"op": "tiny.heaviest"}
    assert problems([START, {"each": "nodes", "steps": [CHUNKS]}]) == []
    (found,) = problems([START, scores, CHUNKS, read])
    assert "reads 'node_scores', which no earlier step writes" in found
