"""Artifacts: planned by the closure of needs, keyed by content, written whole or not at all."""

import importlib
import io
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import tiny_builders
from tiny_builders import Numbers, built, loaded

from graphrag_bench import fingerprint
from graphrag_bench.errors import UserError
from graphrag_bench.offline import chunking, extraction, indices, knowledge_graph
from graphrag_bench.offline.plan import Planned, plan
from graphrag_bench.offline.store import RECIPE, Store
from graphrag_bench.progress import Progress

REAL = (chunking, extraction, knowledge_graph, indices)


@pytest.fixture(autouse=True)
def tiny(open_registries):
    """The tiny builders are known while a test runs."""
    tiny_builders.register()
    forget()


def forget() -> None:
    """Forget what was built and loaded so far."""
    built.clear()
    loaded.clear()


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "artifacts", Progress(quiet=True))


def planned(
    *wanted: str, choices: Mapping[str, Any] | None = None, source: str = "1 2 3", **more: str
) -> dict[str, Planned]:
    """The plan, by resource; `source` is the identity of what the numbers are made from."""
    identities = {
        name: (lambda text=text: text) for name, text in {"source": source, **more}.items()
    }
    made = plan(wanted, {"doubled": "twice", **(choices or {})}, identities)
    return {one.resource: one for one in made}


def resources(store: Store, *wanted: str, source: list[int], **choices: Any) -> dict[str, Numbers]:
    plans = planned(*wanted, choices=choices, source=str(source))
    return store.resources(list(plans.values()), set(wanted), {"source": source})


# ---- the plan


def test_the_plan_is_the_closure_of_the_needs_each_after_what_it_is_built_from():
    assert list(planned("total")) == ["numbers", "doubled", "total"]
    assert list(planned("numbers")) == ["numbers"]
    assert list(planned()) == []


def test_what_is_given_is_not_planned():
    assert list(planned("total", "source", numbers="given")) == ["doubled", "total"]


def test_a_changed_setting_changes_the_keys_of_all_that_is_built_from_it():
    before, after = (planned("total", choices={"numbers": {"at_least": n}}) for n in (0, 2))
    for resource in ("numbers", "doubled", "total"):
        assert before[resource].key != after[resource].key


def test_a_changed_variant_leaves_what_lies_before_it_alone():
    before, after = (planned("total", choices={"doubled": d}) for d in ("twice", "thrice"))
    assert before["numbers"].key == after["numbers"].key
    assert before["doubled"].key != after["doubled"].key
    assert before["total"].key != after["total"].key


def test_another_corpus_changes_every_key():
    before, after = planned("total", source="a"), planned("total", source="b")
    assert not {one.key for one in before.values()} & {one.key for one in after.values()}


def test_a_setting_at_its_default_is_the_same_as_one_not_given():
    assert planned("numbers") == planned("numbers", choices={"numbers": {"at_least": 0}})


@pytest.mark.parametrize(
    ("wanted", "choices", "said"),
    [
        ("totals", {}, "Nothing builds 'totals'; nearest: total."),
        ("slow", {}, "Nothing builds 'log', which slow is built from,"),
        ("total", {"doubled": "twise"}, "build.doubled: no variant 'twise'; nearest: twice"),
        ("total", {"doubled": {}}, "build.doubled must name one of: thrice, twice."),
        ("numbers", {"numbers": {"at_lest": 1}}, "build.numbers has no setting 'at_lest'"),
        ("numbers", {"numbers": {"at_least": "1"}}, "build.numbers: setting 'at_least' is '1'"),
        ("hen", {}, "hen is built from itself: hen <- egg <- hen."),
    ],
)
def test_what_cannot_be_planned_is_said(wanted, choices, said):
    with pytest.raises(UserError) as raised:
        planned(wanted, choices=choices)
    assert said in str(raised.value)


def test_all_that_is_wrong_is_said_at_once():
    with pytest.raises(UserError) as raised:
        planned("total", "totals", choices={"doubled": "twise", "numbers": {"at_lest": 1}})
    problems = str(raised.value).splitlines()[1:]
    assert [problem.strip().partition("'")[0] for problem in problems] == [
        "build.doubled: no variant ",
        "build.numbers has no setting ",
        "Nothing builds ",
    ]


# ---- the keys of the real builders


def real_keys(**chunking_settings: Any) -> dict[str, str]:
    """The keys of what HippoRAG with token windows builds."""
    choices = {
        "chunk_table": {"variant": "token", **chunking_settings},
        "extraction": "nlp",
        "graph": "kg_synonymy",
        "node_index": "name",
    }
    names = ("corpus", "nlp", "embedder")
    identities = {name: (lambda name=name: name) for name in names}
    made = plan({"graph", "node_index", "chunk_index", "bm25"}, choices, identities)
    return {one.resource: one.key for one in made}


def test_another_chunk_size_changes_every_key_downstream():
    before, after = real_keys(), real_keys(size=600)
    assert before.keys() == after.keys()
    assert len(before) == 7
    assert not set(before.values()) & set(after.values())


def test_another_embedder_changes_the_indices_and_not_the_extraction():
    def keys(embedder: str) -> dict[str, str]:
        choices = {"chunk_table": "presplit", "extraction": "nlp", "graph": "kg"}
        identities = {"corpus": lambda: "c", "nlp": lambda: "n", "embedder": lambda: embedder}
        made = plan({"graph", "chunk_index", "bm25"}, choices, identities)
        return {one.resource: one.key for one in made}

    before, after = keys("small"), keys("large")
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"chunk_index"}


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
        fingerprint._definitions.cache_clear()
        importlib.import_module("squaring")
        return resources(store, "squares", source=[1, 2])["squares"].values

    yield make
    fingerprint._definitions.cache_clear()


def test_an_edited_comment_or_docstring_recomputes_nothing(squares):
    squares()
    assert squares("# why: a square is a product", "# because") == (1, 4)
    assert squares('"""The squares."""', '"""The products with themselves."""') == (1, 4)
    assert built.count("squares") == 1


def test_an_edited_line_never_gives_yesterdays_result(squares):
    assert squares() == (1, 4)
    assert squares("value * value", "value * value * value") == (1, 8)
    assert built.count("squares") == 2
    assert built.count("numbers") == 1


# ---- the store


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


def test_two_that_share_an_artifact_share_its_folder(store):
    resources(store, "total", source=[1], doubled="twice")
    forget()
    resources(store, "total", source=[1], doubled="thrice")
    assert built == ["thrice", "total"]


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


def test_nothing_but_artifacts_is_left_behind(store):
    resources(store, "total", "again", source=[1])
    kinds = {path.suffix for path in store.root.glob("*/*")}
    assert kinds == {""}


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


def test_a_half_written_folder_is_no_artifact(store):
    """As a kill would leave it: files, and no recipe yet."""
    folder = store.folder(planned("numbers", source="[1]")["numbers"])
    folder.mkdir(parents=True)
    (folder / "values.json").write_text("[9")
    assert resources(store, "numbers", source=[1])["numbers"] == Numbers((1,))


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
    assert [path.name for path in folder.iterdir()] == [RECIPE]
    forget()
    assert resources(store, "again", source=[1, 2])["again"] == Numbers((1, 2))
    assert (built, loaded) == ([], ["numbers"])


def test_why_an_artifact_is_built_anew_is_said(tmp_path):
    said = io.StringIO()
    store = Store(tmp_path, Progress(stream=said))
    resources(store, "doubled", source=[1])
    assert said.getvalue() == ""
    resources(store, "doubled", source=[1], doubled="thrice")
    assert said.getvalue() == (
        "doubled is built anew: the variant is doubled.thrice, not doubled.twice\n"
    )


def test_two_processes_that_want_the_same_artifact_build_it_once(tmp_path):
    command = [
        sys.executable,
        tiny_builders.__file__,
        str(tmp_path / "artifacts"),
        tmp_path / "log",
    ]
    root = str(Path(__file__).resolve().parents[2])
    running = [
        subprocess.Popen(command, env={"PYTHONPATH": root, "PATH": ""}, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    assert [process.communicate()[0] for process in running] == [b"(7,)\n", b"(7,)\n"]
    assert (tmp_path / "log").read_text() == "built\n"
