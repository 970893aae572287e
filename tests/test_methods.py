"""Every method of the repository runs on the toy set, and says what it reproduces."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from toy_runs import QUICK, TOY, metrics, ran, records

from graphrag_bench.config.choices import names
from graphrag_bench.config.compose import load
from graphrag_bench.locations import checkout

pytestmark = pytest.mark.slow

METHODS = names("method")


def page_of(name: str) -> Path:
    """The page that a method's file names, else that of its own name."""
    root = checkout()
    assert root is not None
    text = (root / "configs" / "method" / f"{name}.yaml").read_text(encoding="utf-8")
    named = re.search(r"methods/\w+/README\.md", text)
    return root / (named[0] if named else f"methods/{name}/README.md")


@pytest.mark.parametrize("name", METHODS)
def test_the_method_has_a_page_of_its_own_or_names_that_of_its_paper(name: str) -> None:
    assert page_of(name).is_file()
    assert len(page_of(name).read_text(encoding="utf-8").split()) >= 20


def test_the_page_and_the_file_of_a_method_say_alike_how_far_it_is_verified() -> None:
    pages = {page_of(name): page_of(name).read_text(encoding="utf-8") for name in METHODS}
    marks = {page: set[str]() for page in pages}
    for name in METHODS:
        if "verified" in load("method", name):
            marks[page_of(name)].add(str(load("method", name)["verified"]).lower())
    for page, text in pages.items():
        assert set(re.findall(r"`verified: (\w+)`", text)) == marks[page], page
        checked = re.search(r"not checked|was not at hand|were at hand", text, re.IGNORECASE)
        assert checked or not marks[page], page


def test_the_conversion_by_language_model_finds_the_same_passages(tmp_path: Path) -> None:
    settings = [*TOY, "method=hipporag", "answer=off", f"paths.home={tmp_path}"]
    by_tagger = ran(*settings)
    by_model = ran(*settings, "method.conversion=llm")
    assert by_model.folder != by_tagger.folder
    assert [row["documents"] for row in records(by_model.folder)] == [
        row["documents"] for row in records(by_tagger.folder)
    ]


LINKING = [name for name in METHODS if "linking" in load("method", name)]


def test_every_method_that_links_names_says_how() -> None:
    root = checkout()
    assert root is not None
    folder = root / "configs" / "method"
    assert [
        name
        for name in METHODS
        if "node.link" in (text := (folder / f"{name}.yaml").read_text()) or "linker:" in text
    ] == LINKING
    assert {"dalk", "fastgraphrag", "hipporag", "linearrag", "tog"} <= set(LINKING)


@pytest.mark.parametrize("name", LINKING)
def test_the_method_answers_with_names_by_vectors_alone(name: str, tmp_path: Path) -> None:
    settings = [*TOY, f"method={name}", "reference_rows=off", f"paths.home={tmp_path}"]
    ended = ran(
        *settings,
        *QUICK.get(name, ()),
        "method.linking=[vectors]",
        *(["method.linker=link", "build.node_index=name"] if name == "entitypassage" else []),
        "limit=2",
    )
    held = metrics(ended.folder)
    assert (held["n"], held["failed"], held["answered"]) == (2, 0, 2)


def test_the_filter_of_facts_by_language_model_costs_a_call_for_each_question(
    tmp_path: Path,
) -> None:
    settings = [*TOY, "method=hipporag2", "answer=off", f"paths.home={tmp_path}"]
    free = records(ran(*settings).folder)
    filtered = records(ran(*settings, "method.filter=llm").folder)
    assert [row["calls"] for row in free] == [0] * 6
    assert [row["calls"] for row in filtered] == [1] * 6
    assert all(row["documents"] for row in filtered)


def test_titles_can_be_entities_of_the_graph(tmp_path: Path) -> None:
    settings = [*TOY, "method=hipporag2_ner", "answer=off", f"paths.home={tmp_path}"]
    without = ran(*settings)
    titled = ran(*settings, "build.graph.titles=about")
    assert titled.folder != without.folder
    assert all(row["documents"] for row in records(titled.folder))
