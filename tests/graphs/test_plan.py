"""The plan of artifacts: the closure of needs, each with a key of all it is made from."""

import pytest
from tiny_builders import planned

from graphrag_bench.errors import UserError


def test_the_plan_is_the_closure_of_the_needs_each_after_what_it_is_built_from():
    assert list(planned("total")) == ["numbers", "doubled", "total"]
    assert list(planned("numbers")) == ["numbers"]
    assert list(planned()) == []

    assert list(planned("total", "source", numbers="given")) == ["doubled", "total"]


def test_a_changed_setting_variant_or_corpus_changes_the_keys_of_all_that_is_built_from_it():
    def changed(first, second) -> set[str]:
        return {name for name in first if first[name].key != second[name].key}

    usual, every = planned("total"), {"numbers", "doubled", "total"}
    assert changed(usual, planned("total", choices={"numbers": {"at_least": 2}})) == every
    assert changed(usual, planned("total", choices={"numbers": {"at_least": 0}})) == set()
    assert changed(usual, planned("total", choices={"doubled": "thrice"})) == {"doubled", "total"}
    assert changed(usual, planned("total", source="b")) == every


@pytest.mark.parametrize(
    ("wanted", "choices", "names"),
    [
        ("totals", {}, "'totals' 'total'"),
        ("logged", {}, "'log' logged"),
        ("total", {"doubled": "twise"}, "build.doubled 'twise' 'twice'"),
        ("numbers", {"numbers": {"at_lest": 1}}, "build.numbers 'at_lest'"),
        ("hen", {}, "hen egg"),
    ],
)
def test_what_cannot_be_planned_is_named(wanted, choices, names):
    with pytest.raises(UserError) as raised:
        planned(wanted, choices=choices)
    assert all(name in str(raised.value) for name in names.split())
