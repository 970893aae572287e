"""A run over an imported graph: what it takes the place of, and what its key is made of."""

from pathlib import Path

import networkx
import pytest

from graphrag_bench.config.compose import composed
from graphrag_bench.errors import UserError
from graphrag_bench.run.experiment import Experiment


@pytest.fixture
def file(tmp_path):
    """A GraphML file of this name, with a relationship of this name."""

    def write(name: str = "one.graphml", relation: str = "r") -> Path:
        graph = networkx.DiGraph()
        graph.add_edge("a", "b", label=relation)
        networkx.write_graphml(graph, tmp_path / name)
        return tmp_path / name

    return write


def prepared(method: str, import_from: Path | None, **settings) -> Experiment:
    """A method over the toy set, with a graph to import."""
    graph = {"import_from": import_from and str(import_from)}
    values = composed(["dataset=toy", f"method={method}"], {"graph": graph, **settings})
    return Experiment.prepare(values)


def builders_of(experiment: Experiment) -> dict[str, str]:
    return {item.resource: item.builder.name for item in experiment.plan}


def test_an_imported_graph_takes_the_place_of_the_extraction(file):
    experiment = prepared("hipporag", file())
    assert builders_of(experiment) == {
        "chunk_table": "chunk_table.presplit", "chunk_index": "chunk_index",
        "graph": "graph.graphml", "name_index": "name_index.graph",
        "node_index": "node_index.name",
    }  # fmt: skip
    assert experiment.extraction == "graphml"


def test_the_run_key_is_that_of_the_content_and_not_of_the_path(file):
    first = prepared("hipporag", file("one.graphml")).key
    assert prepared("hipporag", file("two.graphml")).key == first
    assert prepared("hipporag", file("one.graphml", "s")).key != first


@pytest.mark.parametrize("setting", ["graph=kg", "extraction=nlp"])
def test_a_contradiction_to_the_imported_graph_is_refused(file, setting):
    name, _, value = setting.partition("=")
    with pytest.raises(UserError, match=f"build.{name}"):
        prepared("hipporag", file(), build={name: value})
