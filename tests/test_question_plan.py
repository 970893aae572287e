"""Plans of sub-questions: order by dependencies, and fixes of invalid dependencies."""

from hypothesis import given
from hypothesis import strategies as st

from graphrag_bench.question_plan import SubQuestion, checked_plan


def plan_of(shape, final):
    hops = [SubQuestion(name, f"{name}?", "specific", tuple(on)) for name, on in shape.items()]
    return checked_plan(hops, SubQuestion("final", "final?", "specific", tuple(final)))


def layers(plan):
    return [[one.id for one in layer] for layer in plan.layers()]


def test_a_plan_is_layered_after_fixing_its_dependencies():
    for shape, order, fixes in (
        # independent sub-questions share a layer
        ({"1-1": [], "1-2": ["1-1"], "2-1": [], "0-1": ["1-2"], "0-2": ["0-1", "2-1"]},
         [["1-1", "2-1"], ["1-2"], ["0-1"], ["0-2"]], []),
        ({"0-1": ["3-9"], "1-1": ["1-1"]}, [["0-1", "1-1"]],
         ["0-1 depends on 3-9, which is not there", "1-1 depends on itself"]),
        # a cycle loses its edge to the later sub-question
        ({"1-1": ["1-2"], "1-2": ["1-1"]}, [["1-1"], ["1-2"]],
         ["1-1 and 1-2 wait for each other: 1-1 no longer does"]),
    ):  # fmt: skip
        plan = plan_of(shape, [])
        assert (layers(plan), list(plan.fixes)) == (order, fixes)
    # the final question needs sub-questions that no other needs, unless the plan says it
    plan = plan_of({"0-1": [], "0-2": [], "1-1": ["0-1"], "1-2": ["0-2"]}, ["0-1", "0-2"])
    assert layers(plan.needed()) == [["0-1", "0-2"]]
    assert plan_of({"1-1": [], "1-2": ["1-1"], "2-1": []}, []).final.dependencies == ("1-2", "2-1")


NAMES = [f"{s}-{h}" for s in range(3) for h in range(3)]
SHAPES = st.dictionaries(
    st.sampled_from(NAMES), st.lists(st.sampled_from([*NAMES, "9-9"]), max_size=4), max_size=9
)


@given(SHAPES, st.lists(st.sampled_from([*NAMES, "9-9"]), max_size=3))
def test_every_plan_is_in_topological_order(shape, final):
    plan = plan_of(shape, final)
    done: set[str] = set()
    for layer in plan.layers():
        assert all(set(one.dependencies) <= done for one in layer)
        done |= {one.id for one in layer}
    assert done == set(shape)
    assert set(plan.final.dependencies) <= done
