"""A run over an imported graph: what it takes the place of, and what its key is made of."""

from pathlib import Path

import pytest

from graphrag_bench.config.compose import composed
from graphrag_bench.errors import UserError
from graphrag_bench.run.experiment import Experiment

DULCE = Path(__file__).resolve().parents[3] / "shared" / "data" / "msgraphrag_dulce"


@pytest.fixture
def file(tmp_path):
    """A GraphML file of this name, with a relationship of this name."""

    def write(name: str = "one.graphml", relation: str = "r") -> Path:
        (tmp_path / name).write_text(
            '<graphml><key id="k" for="edge" attr.name="label"/><graph edgedefault="directed">'
            '<node id="a"/><node id="b"/><edge source="a" target="b">'
            f'<data key="k">{relation}</data></edge></graph></graphml>'
        )
        return tmp_path / name

    return write


def prepared(method: str, import_from: Path | None, **settings) -> Experiment:
    """A method over the toy set, with a graph to import."""
    graph = {"import_from": import_from and str(import_from)}
    values = composed(["dataset=toy", f"method={method}"], {"graph": graph, **settings})
    return Experiment.prepare(values)


def builders_of(experiment: Experiment) -> list[str]:
    return sorted(item.builder.name for item in experiment.plan)


def test_an_imported_graph_takes_the_place_of_the_extraction(file):
    experiment = prepared("hipporag", file())
    builders = "chunk_index chunk_table.presplit graph.graphml name_index.graph node_index.name"
    assert builders_of(experiment) == builders.split()
    assert experiment.extraction == "graphml"


@pytest.mark.parametrize(
    ("graph", "name_index", "settings"),
    [
        ("kg_synonymy", "name_index.extraction", {"titles": "off", "signs": True}),
        ({"variant": "kg_synonymy", "titles": "about"}, "name_index.extraction",
         {"titles": "about", "signs": True}),
        ("rkg", "name_index.graph", {}),
    ],
)  # fmt: skip
def test_names_are_indexed_with_the_titles_of_the_graph_or_as_the_graph_has_them(
    graph, name_index, settings
):
    plan = prepared("hipporag", None, build={"graph": graph}).plan
    (index,) = (item for item in plan if item.resource == "name_index")
    assert (index.builder.name, dict(index.settings)) == (name_index, settings)


def test_a_rich_graph_asks_the_language_model_for_keywords():
    build = {"graph": "rkg", "text_extraction": "llm"}
    (extraction,) = (
        item
        for item in prepared("hipporag", None, build=build).plan
        if item.resource == "text_extraction"
    )
    assert extraction.settings["keywords"] is True


def test_the_run_key_is_that_of_the_content_and_not_of_the_path(file):
    first = prepared("hipporag", file("one.graphml")).key
    assert prepared("hipporag", file("two.graphml")).key == first
    assert prepared("hipporag", file("one.graphml", "s")).key != first


def test_text_units_are_the_chunks_unless_chunking_is_set():
    if not DULCE.is_dir():
        pytest.skip(f"the index of Microsoft GraphRAG is not there: {DULCE}")
    own = prepared("hipporag", DULCE)
    assert {"chunk_table.msgraphrag", "graph.msgraphrag"} <= set(builders_of(own))
    cut = prepared("hipporag", DULCE, chunking={"variant": "token"})
    assert "chunk_table.token" in builders_of(cut)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"build": {"graph": "kg"}}, "takes the place of build.graph=kg"),
        ({"build": {"extraction": "nlp"}}, "build.extraction is set, but"),
    ],
)
def test_a_contradiction_to_the_imported_graph_is_refused(file, settings, message):
    with pytest.raises(UserError) as raised:
        prepared("hipporag", file(), **settings)
    assert message in str(raised.value)
