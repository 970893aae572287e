"""The store of artifacts: built once, written whole or not at all, found by what made them."""

import importlib
import json
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tiny_builders import Numbers, built, forget, loaded, planned, resources

from graphrag_bench.artifacts.store import RECIPE, Store
from graphrag_bench.errors import UserError
from graphrag_bench.progress import Progress


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
    recipe = json.loads((folder / RECIPE).read_text())
    assert recipe["builder"] == "doubled.twice"
    assert recipe["settings"] == {}
    assert recipe["inputs"] == {"numbers": planned("numbers", source="[1]")["numbers"].key}
    assert recipe["seconds"] >= 0
    assert store.recipe(one) == recipe


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
    with pytest.raises(UserError, match="is damaged .* remove that folder to build it again"):
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


def test_two_runs_that_want_the_same_artifact_at_once_build_it_once(tmp_path):
    log, plans = tmp_path / "log", planned("slow", log="log")

    def value(_: int) -> Numbers:
        own = Store(tmp_path / "artifacts", Progress(quiet=True))
        return own.resources(list(plans.values()), {"slow"}, {"log": log})["slow"]

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(value, range(2))) == [Numbers((7,))] * 2
    assert log.read_text() == "built\n"


# ---- keys see code

PLUG_IN = '''
from tiny_builders import Numbers, built, loaded

from graphrag_bench.contract import artifact


@artifact("squares")
def squares(*, numbers: Numbers) -> Numbers:
    """The squares."""
    built.append("squares")
    return Numbers(tuple(square(value) for value in numbers.values))


def square(value: int) -> int:
    # why: a square is a product
    return value * value
'''


@pytest.fixture
def squares(tmp_path, monkeypatch, store):
    """The squares of 1 and 2 by a plug-in, after an edit of its file."""
    versions = iter(range(9))

    def make(old: str = "", new: str = "") -> tuple[int, ...]:
        folder = tmp_path / f"version {next(versions)}"
        folder.mkdir()
        (folder / "squaring.py").write_text(PLUG_IN.replace(old, new) if old else PLUG_IN)
        monkeypatch.syspath_prepend(str(folder))
        monkeypatch.delitem(sys.modules, "squaring", raising=False)
        importlib.import_module("squaring")
        return resources(store, "squares", source=[1, 2])["squares"].values

    return make


def test_an_edited_comment_recomputes_nothing_and_an_edited_line_what_it_is_in(squares):
    assert squares() == squares("# why: a square is a product", "# because") == (1, 4)
    assert built.count("squares") == 1
    assert squares("value * value", "value * value * value") == (1, 8)
    assert built.count("squares") == 2
    assert built.count("numbers") == 1
