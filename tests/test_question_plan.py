"""Plans of sub-questions: dependency order, and what is fixed in a plan that has none."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from graphrag_bench.question_plan import Plan, SubQuestion, checked_plan

Shape = dict[str, list[str]]


def plan_of(shape: Shape, final: list[str]) -> Plan:
    """A plan with these sub-questions and dependencies, in this order."""
    hops = [SubQuestion(name, f"{name}?", "specific", tuple(on)) for name, on in shape.items()]
    return checked_plan(hops, SubQuestion("final", "final?", "specific", tuple(final)))


def layers(plan: Plan) -> list[list[str]]:
    return [[one.id for one in layer] for layer in plan.layers()]


def test_independent_sub_questions_share_a_layer() -> None:
    shape = {"1-1": [], "1-2": ["1-1"], "2-1": [], "0-1": ["1-2"], "0-2": ["0-1", "2-1"]}
    plan = plan_of(shape, ["0-1", "0-2"])
    assert layers(plan) == [["1-1", "2-1"], ["1-2"], ["0-1"], ["0-2"]]
    assert plan.fixes == ()


def test_a_sequence_may_wait_for_sequence_zero() -> None:
    shape = {"0-1": [], "0-2": [], "1-1": ["0-1"], "1-2": ["0-2"]}
    plan = plan_of(shape, ["0-1", "0-2"])
    assert layers(plan) == [["0-1", "0-2"], ["1-1", "1-2"]]
    assert layers(plan.needed()) == [["0-1", "0-2"]]


def test_dangling_and_self_dependencies_are_dropped_and_told() -> None:
    plan = plan_of({"0-1": ["3-9"], "1-1": ["1-1"]}, ["0-1"])
    assert all(one.dependencies == () for one in plan.sub_questions)
    assert plan.fixes == ("0-1 depends on 3-9, which is not there", "1-1 depends on itself")


def test_of_a_circle_the_edge_to_the_later_sub_question_goes() -> None:
    plan = plan_of({"1-1": ["1-2"], "1-2": ["1-1"]}, [])
    assert layers(plan) == [["1-1"], ["1-2"]]
    assert len(plan.fixes) == 1


def test_a_final_question_without_dependencies_takes_what_nothing_else_uses() -> None:
    assert plan_of({"1-1": [], "1-2": ["1-1"], "2-1": []}, []).final.dependencies == ("1-2", "2-1")


def test_a_plan_without_sub_questions_has_no_layers() -> None:
    assert layers(plan_of({}, [])) == []


NAMES = [f"{s}-{h}" for s in range(3) for h in range(3)]
SHAPES = st.dictionaries(
    st.sampled_from(NAMES), st.lists(st.sampled_from([*NAMES, "9-9"]), max_size=4), max_size=9
)


@given(SHAPES, st.lists(st.sampled_from([*NAMES, "9-9"]), max_size=3))
def test_any_plan_is_worked_off_each_after_what_it_needs(shape: Shape, final: list[str]) -> None:
    plan = plan_of(shape, final)
    done: set[str] = set()
    for layer in plan.layers():
        assert all(set(one.dependencies) <= done for one in layer)
        done |= {one.id for one in layer}
    assert done == set(shape)
    assert set(plan.final.dependencies) <= done
