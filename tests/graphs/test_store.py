"""The store of artifacts: built once, written whole or not at all, found by what made them."""

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
