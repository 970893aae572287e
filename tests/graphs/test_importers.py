"""Graphs of other tools: Microsoft GraphRAG's tables, GraphML; and back; runs over them."""

from pathlib import Path

import pytest
from builds import dense, described, facts, related
from small_worlds import dataset

from graphrag_bench.algorithms.extraction import EntityRecord
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.artifacts.graphml import export_graphml, graphml
from graphrag_bench.artifacts.importers import msgraphrag
from graphrag_bench.artifacts.importers.paths import content_digest, file_of, variants_for
from graphrag_bench.artifacts.importers.rows import chunk_id, chunks_of_texts, mentions
from graphrag_bench.config.compose import composed
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.graphs.text_graph import text_graph
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.text import normalise_name

TKG, RKG = ("described",), ("described", "keywords")
CHUNKS = ChunkTable.of(
    [
        ("ada", "Ada Marsh", "Ada Marsh founded Norvik."),
        ("otto", "", "Otto Brandt taught Mira Holt in Norvik."),
    ]
)


def test_a_name_is_mentioned_where_its_words_stand_in_the_title_or_the_text():
    result = mentions(["ADA MARSH", "Norvik", "Marsh founded", "Nor", "...", "Ada Holt"], CHUNKS)
    assert result == {"ADA MARSH": (0,), "Norvik": (0, 1), "Marsh founded": (0,)}


def test_a_text_unit_is_the_chunk_of_its_text_or_what_holds_it_or_what_it_holds():
    texts = {
        "same": "Ada Marsh\n founded Norvik.",
        "part": "taught Mira Holt",
        "whole": "Ada Marsh founded Norvik. Otto Brandt taught Mira Holt in Norvik.",
        "other": "Nothing of it.",
        "blank": " ",
    }
    result = chunks_of_texts(texts, CHUNKS)
    assert result == {"same": (0,), "part": (1,), "whole": (0, 1), "other": (), "blank": ()}


@pytest.fixture
def file(tmp_path):

    def write(name: str, text: str) -> Path:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return write


LIGHTRAG = """<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d8" for="edge" attr.name="source_id" attr.type="string"/>
  <key id="d7" for="edge" attr.name="keywords" attr.type="string"/>
  <key id="d6" for="edge" attr.name="description" attr.type="string"/>
  <key id="d5" for="edge" attr.name="weight" attr.type="double"/>
  <key id="d3" for="node" attr.name="source_id" attr.type="string"/>
  <key id="d2" for="node" attr.name="description" attr.type="string"/>
  <key id="d1" for="node" attr.name="entity_type" attr.type="string"/>
  <key id="d0" for="node" attr.name="entity_id" attr.type="string"/>
  <graph edgedefault="undirected">
    <node id="Ada Marsh"><data key="d0">Ada Marsh</data><data key="d1">PERSON</data>
      <data key="d2">A founder.&lt;SEP&gt;A painter.</data><data key="d3">{ada}</data></node>
    <node id="Norvik"><data key="d0">Norvik</data><data key="d1">UNKNOWN</data>
      <data key="d3">{ada}&lt;SEP&gt;{otto}</data></node>
    <edge source="Ada Marsh" target="Norvik"><data key="d5">9.0</data>
      <data key="d6">She founded it.</data><data key="d7">founding, art</data>
      <data key="d8">{ada}</data></edge>
  </graph>
</graphml>
"""


def lightrag(ada: str, otto: str) -> str:
    return LIGHTRAG.replace("{ada}", ada).replace("{otto}", otto)


def test_lightrags_graph_is_a_rich_one_over_the_chunks_of_its_ids_and_can_be_read_as_a_poorer(file):
    ids = [chunk_id(text) for text in CHUNKS.texts]
    path = file("graph_chunk_entity_relation.graphml", lightrag(*ids))
    assert variants_for(path) == {"graph": "graphml_rkg"}
    graph = graphml(columns=RKG, import_from=path, chunk_table=CHUNKS)
    assert list(graph.names) == ["ada marsh", "norvik"]
    assert list(graph.types) == ["person", "unknown"]
    assert list(graph.descriptions) == ["A founder. A painter.", ""]
    assert (list(graph.facts), list(graph.keywords)) == (["She founded it."], ["founding, art"])
    assert graph.weight.tolist() == [9.0]
    assert dense(graph.node_chunk) == [[1, 0], [1, 1]]
    assert dense(graph.relationship_chunk) == [[1, 0]]
    assert graphml(columns=TKG, import_from=path, chunk_table=CHUNKS).keywords is None
    plain = graphml(columns=(), import_from=path, chunk_table=CHUNKS)
    assert plain.descriptions is None
    assert facts(plain) == [("ada marsh", "related to", "norvik", 9.0)]


PLAIN = """<graphml><key id="k" for="edge" attr.name="label"/>
  <graph edgedefault="directed"><node id="Ada"/><node id="Otto"/>
  <edge source="Ada" target="Otto"><data key="k">taught</data></edge>
  <edge source="Otto" target="Ada"><data key="k">thanked</data></edge></graph></graphml>"""


def test_a_plain_graph_takes_names_from_ids_and_keeps_parallel_relationships(file):
    path = file("g.graphml", PLAIN)
    assert variants_for(path) == {"graph": "graphml"}
    graph = graphml(columns=(), import_from=path, chunk_table=CHUNKS)
    assert facts(graph) == [("ada", "taught", "otto", 1.0), ("otto", "thanked", "ada", 1.0)]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("<graphml>", "g.graphml"),
        ("<svg/>", "'svg'"),
        ('<graphml><graph><edge source="a" target="b"/></graph></graphml>', "edge 1"),
        (lightrag("?", "?").replace("9.0", "-9"), "edge 1: weight is '-9'"),
        ("<graphml><graph/></graphml>", "node"),
    ],
)
def test_graphml_that_cannot_be_read_is_an_error_that_names_the_place(file, text, place):
    with pytest.raises(UserError) as raised:
        graphml(columns=TKG, import_from=file("g.graphml", text), chunk_table=CHUNKS)
    assert place in str(raised.value)


def test_a_graph_goes_to_graphml_and_back_and_networkx_reads_it(tmp_path):
    import networkx

    ada = EntityRecord("Ada Marsh", "person", "A \x0bfounder & painter.")
    founded = related("Ada Marsh", "Norvik", "Founded <it>.", "art", strength=2.5)
    others = [EntityRecord("Norvik", "geo", ""), EntityRecord("Velia", "", "")]
    graph = text_graph(described([ada, founded], others), keywords=True)
    export_graphml(graph, CHUNKS, tmp_path / "g.graphml")
    assert variants_for(tmp_path) == {"graph": "graphml_rkg"}
    assert file_of(tmp_path) == tmp_path / "g.graphml"
    again = graphml(columns=RKG, import_from=file_of(tmp_path), chunk_table=CHUNKS)
    for column in ("names", "types", "facts", "keywords"):
        assert list(getattr(graph, column)) == list(getattr(again, column))
    for matrix in ("node_chunk", "relationship_chunk"):
        assert dense(getattr(graph, matrix)) == dense(getattr(again, matrix))
    assert facts(graph) == facts(again)
    assert again.descriptions[0] == "A founder & painter."
    read = networkx.read_graphml(tmp_path / "g.graphml")
    assert read.nodes["n0"]["name"] == "ada marsh"
    assert read.edges["n0", "n1"]["weight"] == 2.5


DULCE = Path(__file__).resolve().parents[3] / "shared" / "data" / "msgraphrag_dulce"


@pytest.fixture(scope="module")
def dulce() -> Path:
    """A finished index of a short novella."""
    pytest.importorskip("pyarrow")
    if not DULCE.is_dir():
        pytest.skip(f"the index of Microsoft GraphRAG is not there: {DULCE}")
    return DULCE


@pytest.fixture(scope="module")
def units(dulce) -> ChunkTable:
    return msgraphrag.text_units(import_from=dulce, corpus=dataset(("d1", "", "Another text.")))


@pytest.fixture(scope="module")
def story(dulce, units) -> Graph:
    return msgraphrag.graph(import_from=dulce, chunk_table=units)


def tables(folder: Path, name: str) -> list[dict]:
    return [dict(row) for row in msgraphrag.read_parquet(folder, name, ())]


def n_columns(matrix) -> list[int]:
    return matrix.sum(axis=1).ravel().tolist()[0]


def test_text_units_become_chunks_in_their_order_of_the_document_of_the_same_text_or_title(
    dulce, units
):
    table = sorted(tables(dulce, "text_units"), key=lambda row: row["human_readable_id"])
    assert list(units.texts) == [row["text"].strip() for row in table]
    assert list(units.documents) == ["dulce.txt"]
    text = tables(dulce, "documents")[0]["text"]
    for corpus, name in ((("op", "", f" {text}\n"), "op"), (("x", "dulce.txt", "a"), "x")):
        own = msgraphrag.text_units(import_from=dulce, corpus=dataset(corpus))
        assert list(own.documents) == [name]


def test_entities_and_relationships_keep_their_types_descriptions_weights_and_units(dulce, story):
    table = tables(dulce, "entities")
    rows = range(len(table))
    assert story.names.take(rows) == [normalise_name(row["title"]) for row in table]
    assert story.types.take(rows) == [row["type"].lower() for row in table]
    assert story.descriptions.take(rows) == [row["description"] for row in table]
    for row, has in zip(table, n_columns(story.node_chunk), strict=False):
        assert has >= len(row["text_unit_ids"])
    table = tables(dulce, "relationships")
    assert story.weight.sum() == sum(row["weight"] for row in table)
    assert story.facts[0] == table[0]["description"]
    assert story.names[int(story.source[0])].upper() == table[0]["source"]
    assert n_columns(story.relationship_chunk)[0] == len(table[0]["text_unit_ids"])
    other = ChunkTable.of([("d", "", "Taylor Cruz met Alex Mercer."), ("e", "", "Nothing.")])
    graph = msgraphrag.graph(import_from=dulce, chunk_table=other)  # names no unit: mentions count
    assert dense(graph.node_chunk)[list(graph.names).index("alex mercer")] == [1, 0]


def test_communities_keep_levels_parents_members_and_reports(dulce, story, units):
    result = msgraphrag.communities(import_from=dulce, graph=story, chunk_table=units)
    table = sorted(tables(dulce, "communities"), key=lambda row: (row["level"], row["community"]))
    assert result.level.tolist() == [0] * 7 + [1] * 3
    assert result.parent.tolist() == [-1] * 7 + [0] * 3
    assert n_columns(result.nodes) == [row["size"] for row in table]
    assert n_columns(result.chunks) == [len(row["text_unit_ids"]) for row in table]
    reports = msgraphrag.reports(import_from=dulce, communities=result)
    written = sorted(tables(dulce, "community_reports"), key=lambda row: row["community"])
    assert list(reports.titles) == [row["title"] for row in written]
    assert list(reports.texts) == [row["full_content"] for row in written]
    assert reports.ratings.tolist() == [row["rank"] for row in written]
    with pytest.raises(UserError, match="build.graph=msgraphrag"):
        msgraphrag.communities(
            import_from=dulce, graph=Graph.from_arrays([0], [1], [[1], [1]]), chunk_table=units
        )


@pytest.mark.parametrize("name", ["nothing.graphml", "graph.xml", "folder"])
def test_a_path_that_is_no_graph_is_refused_with_what_would_be_one(tmp_path, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "graph.xml").write_text(PLAIN)
    with pytest.raises(UserError, match=r"entities\.parquet"):
        variants_for(tmp_path / name)


def test_the_digest_of_a_folder_is_that_of_the_tables_that_are_read(dulce, tmp_path):
    for path in dulce.glob("*.parquet"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "covariates.parquet").unlink()
    assert content_digest(tmp_path) == content_digest(dulce)
    (tmp_path / "entities.parquet").write_bytes(b"edited")
    assert content_digest(tmp_path) != content_digest(dulce)


def test_tables_that_cannot_be_read_are_errors_that_name_what_is_wrong(dulce, tmp_path):
    (tmp_path / "entities.parquet").write_bytes(b"no parquet")
    with pytest.raises(UserError, match=r"entities\.parquet"):
        msgraphrag.graph(import_from=tmp_path, chunk_table=CHUNKS)
    with pytest.raises(UserError, match="colour"):
        msgraphrag.read_parquet(dulce, "entities", ("id", "colour"))
    (tmp_path / "entities.parquet").write_bytes((dulce / "entities.parquet").read_bytes())
    with pytest.raises(UserError, match=r"relationships\.parquet"):
        msgraphrag.graph(import_from=tmp_path, chunk_table=CHUNKS)


def prepared(import_from: Path, **settings) -> Experiment:
    """HippoRAG over the toy set, with a graph to import."""
    graph = {"import_from": str(import_from)}
    return Experiment.prepare(
        composed(["dataset=toy", "method=hipporag"], {"graph": graph, **settings})
    )


def test_an_imported_graph_takes_the_place_of_the_extraction(file):
    experiment = prepared(file("g.graphml", PLAIN))
    assert {item.resource: item.builder.name for item in experiment.plan} == {
        "chunk_table": "chunk_table.presplit", "chunk_index": "chunk_index",
        "graph": "graph.graphml", "name_index": "name_index.graph",
        "node_index": "node_index.name",
    }  # fmt: skip
    assert experiment.extraction == "graphml"


def test_the_run_key_is_that_of_the_content_and_not_of_the_path(file):
    first = prepared(file("one.graphml", PLAIN)).key
    assert prepared(file("two.graphml", PLAIN)).key == first
    assert prepared(file("one.graphml", PLAIN.replace("taught", "led"))).key != first


@pytest.mark.parametrize("setting", ["graph=kg", "extraction=nlp"])
def test_a_contradiction_to_the_imported_graph_is_refused(file, setting):
    name, _, value = setting.partition("=")
    with pytest.raises(UserError, match=f"build.{name}"):
        prepared(file("g.graphml", PLAIN), build={name: value})
