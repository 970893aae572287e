"""Plan and store of artifacts: lists of numbers, built from each other by tiny builders.

numbers <- doubled <- total
numbers <- again (the same list under another name)
"""

import json
import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from builds import QUIET

from graphrag_bench.artifacts.plan import plan
from graphrag_bench.artifacts.store import RECIPE, Store
from graphrag_bench.contract import artifact
from graphrag_bench.errors import UserError

built: list[str] = []
"""The builders that were called, in order."""
loaded: list[str] = []
"""The resources that were read from disk, in order."""


@dataclass(frozen=True)
class Numbers:
    values: tuple[int, ...]

    def save(self, folder: Path) -> None:
        (folder / "values.json").write_text(json.dumps(self.values))

    @classmethod
    def load(cls, folder: Path) -> "Numbers":
        loaded.append(folder.parent.name)
        return cls(tuple(json.loads((folder / "values.json").read_text())))


def numbers(*, source: list[int], at_least: int = 0) -> Numbers:
    built.append("numbers")
    return Numbers(tuple(value for value in source if value >= at_least))


def twice(*, numbers: Numbers) -> Numbers:
    built.append("twice")
    return Numbers(tuple(2 * value for value in numbers.values))


def total(*, doubled: Numbers, numbers: Numbers, scratch: Path) -> Numbers:
    """Raises for the number 13; each attempt adds a line in the scratch folder."""
    built.append("total")
    with (scratch / "steps").open("a") as file:
        file.write("begun\n")
    if 13 in numbers.values:
        raise ZeroDivisionError("unlucky")
    return Numbers((sum(doubled.values) + sum(numbers.values),))


def again(*, numbers: Numbers) -> Numbers:
    return numbers


def logged(*, log: Path) -> Numbers:
    return Numbers((7,))


def hen(*, egg: Numbers) -> Numbers:
    return egg


def egg(*, hen: Numbers) -> Numbers:
    return hen


@pytest.fixture(autouse=True)
def store(open_registries, tmp_path):
    for name in ("doubled.twice", "doubled.thrice"):
        artifact(name)(twice)
    for function in (numbers, total, again, logged, hen, egg):
        artifact(function.__name__)(function)
    built.clear()
    loaded.clear()
    return Store(tmp_path / "artifacts", QUIET)


def planned(*wanted, choices=None, source="1 2 3", **more):
    """The plan, by resource; `source` is the identity of what the numbers are made from."""
    identities = {name: partial(str, text) for name, text in {"source": source, **more}.items()}
    result = plan(wanted, {"doubled": "twice", **(choices or {})}, identities)
    return {one.resource: one for one in result}


def resources(store: Store, *wanted: str, source: list[int]) -> dict[str, Numbers]:
    plans = planned(*wanted, source=str(source))
    return store.resources(list(plans.values()), set(wanted), {"source": source})


def test_an_artifact_is_built_once_and_then_loaded_without_its_inputs(store):
    first = resources(store, "total", "doubled", source=[1, 2, 3])
    assert first == {"total": Numbers((18,)), "doubled": Numbers((2, 4, 6))}
    assert built == ["numbers", "twice", "total"]
    loaded.clear()
    assert resources(store, "total", source=[1, 2, 3])["total"] == Numbers((18,))
    assert (len(built), loaded) == (3, ["total"])
    plans = planned("doubled", source="[1, 2, 3]")
    folder = store.root / "doubled" / plans["doubled"].key
    assert sorted(path.name for path in folder.iterdir()) == [RECIPE, "values.json"]
    recipe = store.recipe(plans["doubled"])
    assert (recipe["builder"], recipe["settings"]) == ("doubled.twice", {})
    assert recipe["inputs"] == {"numbers": plans["numbers"].key}


def test_a_builder_that_raises_leaves_no_artifact_and_its_scratch_survives(store):
    one = planned("total", source="[13]")["total"]
    for attempt in (1, 2):
        with pytest.raises(ZeroDivisionError, match="unlucky"):
            resources(store, "total", source=[13])
        assert not store.holds(one) and not store.folder(one).exists()
        steps = Path(f"{store.folder(one)}.scratch") / "steps"
        assert steps.read_text() == "begun\n" * attempt
    assert store.holds(planned("doubled", source="[13]")["doubled"])


def test_a_damaged_artifact_is_an_error(store):
    resources(store, "numbers", source=[1])
    folder = store.folder(planned("numbers", source="[1]")["numbers"])
    (folder / "values.json").unlink()
    with pytest.raises(UserError, match="damaged"):
        resources(store, "numbers", source=[1])
    shutil.rmtree(folder)
    assert resources(store, "numbers", source=[1])["numbers"] == Numbers((1,))


def test_an_artifact_that_is_its_input_is_not_written_again(store):
    first = resources(store, "again", "numbers", source=[1, 2])
    assert first["again"] is first["numbers"]
    folder = store.folder(planned("again", source="[1, 2]")["again"])
    assert {path.name for path in folder.iterdir()} == {RECIPE}
    loaded.clear()
    assert resources(store, "again", source=[1, 2])["again"] == Numbers((1, 2))
    assert (built, loaded) == (["numbers"], ["numbers"])


def test_a_plan_has_all_inputs_and_a_change_changes_all_keys_above_it():
    assert list(planned("total")) == ["numbers", "doubled", "total"]
    assert list(planned()) == []
    assert list(planned("total", "source", numbers="given")) == ["doubled", "total"]
    for other, changed in (
        ({"choices": {"numbers": {"at_least": 2}}}, {"numbers", "doubled", "total"}),
        ({"choices": {"numbers": {"at_least": 0}}}, set()),
        ({"choices": {"doubled": "thrice"}}, {"doubled", "total"}),
        ({"source": "b"}, {"numbers", "doubled", "total"}),
    ):
        usual, result = planned("total"), planned("total", **other)
        assert {name for name in usual if usual[name].key != result[name].key} == changed


def test_errors_of_the_plan_name_the_resource_and_the_setting():
    for wanted, choices, names in (
        ("totals", {}, "'totals' 'total'"),
        ("logged", {}, "'log' logged"),
        ("total", {"doubled": "twise"}, "build.doubled 'twise' 'twice'"),
        ("numbers", {"numbers": {"at_lest": 1}}, "build.numbers 'at_lest'"),
        ("hen", {}, "hen egg"),
    ):
        with pytest.raises(UserError) as raised:
            planned(wanted, choices=choices)
        assert all(name in str(raised.value) for name in names.split())
