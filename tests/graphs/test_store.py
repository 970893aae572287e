"""Plan and store of artifacts: each key of all it is made from, built once, written whole."""

import shutil
from pathlib import Path

import pytest
from tiny_builders import Numbers, built, forget, loaded, planned, resources

from graphrag_bench.artifacts.store import RECIPE
from graphrag_bench.errors import UserError


def test_an_artifact_is_built_from_others_once_each(store):
    assert resources(store, "total", "doubled", source=[1, 2, 3]) == {
        "total": Numbers((18,)),
        "doubled": Numbers((2, 4, 6)),
    }
    assert built == ["numbers", "twice", "total"]


def test_what_is_there_is_loaded_and_what_it_was_built_from_is_not(store):
    resources(store, "total", source=[1, 2, 3])
    forget()
    assert resources(store, "total", source=[1, 2, 3])["total"] == Numbers((18,))
    assert (built, loaded) == ([], ["total"])


def test_the_folder_is_named_by_resource_and_key_and_holds_its_recipe(store):
    resources(store, "doubled", source=[1])
    one = planned("doubled", source="[1]")["doubled"]
    folder = store.root / "doubled" / one.key
    assert store.folder(one) == folder
    assert sorted(path.name for path in folder.iterdir()) == [RECIPE, "values.json"]
    recipe = store.recipe(one)
    assert (recipe["builder"], recipe["settings"]) == ("doubled.twice", {})
    assert recipe["inputs"] == {"numbers": planned("numbers", source="[1]")["numbers"].key}


def test_a_builder_that_raises_leaves_no_artifact_and_its_scratch_survives(store):
    for attempt in (1, 2):
        with pytest.raises(ZeroDivisionError, match="unlucky"):
            resources(store, "total", source=[13])
        one = planned("total", source="[13]")["total"]
        assert not store.holds(one)
        assert not store.folder(one).exists()
        steps = Path(f"{store.folder(one)}.scratch") / "steps"
        assert steps.read_text() == "begun\n" * attempt
    assert store.holds(planned("doubled", source="[13]")["doubled"])


def test_a_damaged_artifact_is_named_and_not_trusted(store):
    resources(store, "numbers", source=[1])
    folder = store.folder(planned("numbers", source="[1]")["numbers"])
    (folder / "values.json").unlink()
    with pytest.raises(UserError, match="damaged"):
        resources(store, "numbers", source=[1])
    shutil.rmtree(folder)
    assert resources(store, "numbers", source=[1])["numbers"] == Numbers((1,))


def test_the_same_thing_under_another_name_is_not_written_twice(store):
    first = resources(store, "again", "numbers", source=[1, 2])
    assert first["again"] is first["numbers"]
    folder = store.folder(planned("again", source="[1, 2]")["again"])
    assert {path.name for path in folder.iterdir()} == {RECIPE}
    forget()
    assert resources(store, "again", source=[1, 2])["again"] == Numbers((1, 2))
    assert (built, loaded) == ([], ["numbers"])


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
