"""Import of Microsoft GraphRAG and GraphML, export to GraphML, and runs on imported graphs."""

import pandas
import pytest
from builds import dense, described, ends, facts, related
from small_worlds import dataset

from graphrag_bench.algorithms.extraction import EntityRecord
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.artifacts.graphml import export_graphml, graphml
from graphrag_bench.artifacts.importers import msgraphrag
from graphrag_bench.artifacts.importers.paths import content_digest, file_of, variants_for
from graphrag_bench.artifacts.importers.rows import chunk_id, chunks_of_texts, mentions
from graphrag_bench.config.compose import compose_settings
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.graphs.text_graph import text_graph
from graphrag_bench.run.experiment import Experiment

TKG, RKG = ("described",), ("described", "keywords")
ADA, OTTO = "Ada Marsh founded Norvik.", "Otto Brandt taught Mira Holt in Norvik."
CHUNKS = ChunkTable.of([("ada", "Ada Marsh", ADA), ("otto", "", OTTO)])


def test_names_and_text_units_are_found_in_chunks():
    result = mentions(["ADA MARSH", "Norvik", "Marsh founded", "Nor", "...", "Ada Holt"], CHUNKS)
    assert result == {"ADA MARSH": (0,), "Norvik": (0, 1), "Marsh founded": (0,)}
    for text, chunks in (
        ("Ada Marsh\n founded Norvik.", (0,)), ("taught Mira Holt", (1,)),
        (f"{ADA} {OTTO}", (0, 1)), ("Nothing of it.", ()), (" ", ()),
    ):  # fmt: skip
        assert chunks_of_texts({"unit": text}, CHUNKS) == {"unit": chunks}


@pytest.fixture
def file(tmp_path):
    def write(name, text):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return write


KEYS = {
    "edge": {"d8": "source_id", "d7": "keywords", "d6": "description", "d5": "weight"},
    "node": {"d3": "source_id", "d2": "description", "d1": "entity_type", "d0": "entity_id"},
}


def lightrag(ada: str, otto: str) -> str:
    keys = (f'<key id="{key}" for="{of}" attr.name="{name}" attr.type="string"/>'
            for of, names in KEYS.items() for key, name in names.items())  # fmt: skip
    return f"""<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{"".join(keys)}
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


def test_lightrags_graph_is_imported_as_a_rich_textual_or_plain_graph(file):
    ids = [chunk_id(text) for text in CHUNKS.texts]
    path = file("graph_chunk_entity_relation.graphml", lightrag(*ids))
    assert variants_for(path) == {"graph": "graphml_rkg"}
    graph = graphml(columns=RKG, import_from=path, chunk_table=CHUNKS)
    nodes = [("ada marsh", "person", "A founder. A painter."), ("norvik", "unknown", "")]
    assert list(zip(graph.names, graph.types, graph.descriptions, strict=True)) == nodes
    assert (list(graph.facts), list(graph.keywords)) == (["She founded it."], ["founding, art"])
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


def test_a_plain_graph_has_ids_as_names_and_keeps_parallel_edges(file):
    path = file("g.graphml", PLAIN)
    assert variants_for(path) == {"graph": "graphml"}
    graph = graphml(columns=(), import_from=path, chunk_table=CHUNKS)
    assert facts(graph) == [("ada", "taught", "otto", 1.0), ("otto", "thanked", "ada", 1.0)]


def test_invalid_graphml_is_an_error_that_names_the_place(file):
    for text, place in (
        ("<graphml>", "g.graphml"), ("<svg/>", "'svg'"), ("<graphml><graph/></graphml>", "node"),
        ('<graphml><graph><edge source="a" target="b"/></graph></graphml>', "edge 1"),
        (lightrag("?", "?").replace("9.0", "-9"), "edge 1: weight is '-9'"),
    ):  # fmt: skip
        with pytest.raises(UserError) as raised:
            graphml(columns=TKG, import_from=file("g.graphml", text), chunk_table=CHUNKS)
        assert place in str(raised.value)


def test_a_graph_survives_export_to_graphml_and_networkx_reads_it(tmp_path):
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
    several = Graph.from_arrays([1, 0, 2, 0], [2, 1, 1, 2], names=["ada", "norvik", "velia"])
    export_graphml(several, CHUNKS, tmp_path / "g.graphml")
    again = graphml(columns=(), import_from=tmp_path / "g.graphml", chunk_table=CHUNKS)
    assert ends(again) == ends(several)


COLUMNS = {
    "text_units": "id human_readable_id text document_ids",
    "documents": "id title text",
    "entities": "id title type description text_unit_ids",
    "relationships": "source target description weight text_unit_ids",
    "communities": "community level parent entity_ids text_unit_ids",
    "community_reports": "community title full_content rank",
}
INDEX = {
    "text_units": [("t2", 2, OTTO, ["n"]), ("t1", 1, f" {ADA}", ["n"])],
    "documents": [("n", "norvik.txt", "All of Norvik.")],
    "entities": [
        ("a", "ADA MARSH", "PERSON", "A founder.", ["t1"]),
        ("b", "NORVIK", "GEO", "A town.", ["t1", "t2"]), ("c", "OTTO BRANDT", "", None, ["t2"]),
    ],
    "relationships": [("NORVIK", "ADA MARSH", "She founded it.", 7.0, ["t1"])],
    "communities": [(1, 1, 0, ["a"], ["t1"]), (0, 0, -1, ["a", "b"], ["t1", "t2"])],
    "community_reports": [(1, "Ada", "# Ada", 6.5)],
}  # fmt: skip


@pytest.fixture
def index(tmp_path):
    """The output tables of Microsoft GraphRAG, with three entities."""
    pytest.importorskip("pyarrow")
    for name, rows in INDEX.items():
        frame = pandas.DataFrame(rows, columns=COLUMNS[name].split())
        frame.to_parquet(tmp_path / f"{name}.parquet")
    return tmp_path


def units_of(index, *document):
    return msgraphrag.text_units(import_from=index, corpus=dataset(document or ("d", "", "Else.")))


def test_text_units_become_chunks_of_the_document_with_the_same_text_or_title(index):
    assert list(units_of(index).texts) == [ADA, OTTO]
    for document, name in (
        ((), "norvik.txt"), (("op", "", " All of\nNorvik."), "op"), (("x", "norvik.txt", "a"), "x"),
    ):  # fmt: skip
        assert list(units_of(index, *document).documents) == [name]


def test_graph_communities_and_reports_are_imported_from_the_tables(index):
    units = units_of(index)
    graph = msgraphrag.graph(import_from=index, chunk_table=units)
    nodes = list(zip(graph.names, graph.types, graph.descriptions, strict=True))
    assert nodes[:2] == [("ada marsh", "person", "A founder."), ("norvik", "geo", "A town.")]
    assert nodes[2:] == [("otto brandt", "", "")]
    assert dense(graph.node_chunk) == [[1, 0], [1, 1], [0, 1]]
    assert facts(graph) == [("norvik", "", "ada marsh", 7.0)]
    assert (list(graph.facts), dense(graph.relationship_chunk)) == (["She founded it."], [[1, 0]])

    parts = msgraphrag.communities(import_from=index, graph=graph, chunk_table=units)
    assert (parts.level.tolist(), parts.parent.tolist()) == ([0, 1], [-1, 0])
    assert (dense(parts.nodes), dense(parts.chunks)) == ([[1, 1, 0], [1, 0, 0]], [[1, 1], [1, 0]])
    reports = msgraphrag.reports(import_from=index, communities=parts)
    assert (list(reports.titles), list(reports.texts)) == (["", "Ada"], ["", "# Ada"])
    assert reports.ratings.tolist() == [0.0, 6.5]

    other = ChunkTable.of([("d", "", "Nothing."), ("e", "", "Otto Brandt met Ada Marsh.")])
    mentioned = msgraphrag.graph(import_from=index, chunk_table=other)  # it names no unit
    assert dense(mentioned.node_chunk) == [[0, 1], [0, 0], [0, 1]]
    tiny = Graph.from_arrays([0], [1], [[1], [1]])
    with pytest.raises(UserError, match="build.graph=msgraphrag"):
        msgraphrag.communities(import_from=index, graph=tiny, chunk_table=units)


def test_a_path_without_a_graph_is_an_error_that_lists_valid_files(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "graph.xml").write_text(PLAIN)
    for name in ("nothing.graphml", "graph.xml", "folder"):
        with pytest.raises(UserError, match=r"entities\.parquet"):
            variants_for(tmp_path / name)


def test_the_digest_of_a_folder_covers_the_imported_tables_only(index):
    before = content_digest(index)
    (index / "covariates.parquet").write_bytes(b"not read")
    assert content_digest(index) == before
    (index / "entities.parquet").write_bytes(b"edited")
    assert content_digest(index) != before


def test_invalid_tables_are_errors_that_name_the_table_or_column(index):
    with pytest.raises(UserError, match="colour"):
        msgraphrag.read_parquet(index, "entities", ("id", "colour"))
    for name in ("relationships", "entities"):
        (index / f"{name}.parquet").write_bytes(b"no parquet")
        with pytest.raises(UserError, match=rf"{name}\.parquet"):
            msgraphrag.graph(import_from=index, chunk_table=CHUNKS)


def prepared(import_from, **settings):
    settings["graph"] = {"import_from": str(import_from)}
    return Experiment.prepare(compose_settings(["dataset=toy", "method=hipporag"], settings))


def test_an_imported_graph_replaces_the_extraction_and_its_content_is_in_the_key(file):
    experiment = prepared(file("g.graphml", PLAIN))
    built = "chunk_table.presplit chunk_index graph.graphml name_index.graph node_index.name"
    assert {item.builder.name for item in experiment.plan} == set(built.split())
    assert experiment.extraction == "graphml"
    assert prepared(file("other.graphml", PLAIN)).key == experiment.key
    changed = file("g.graphml", PLAIN.replace("taught", "led"))
    assert prepared(changed).key != experiment.key, "the content, not the path"
    for name, value in {"graph": "kg", "extraction": "nlp"}.items():
        with pytest.raises(UserError, match=f"build.{name}"):
            prepared(changed, build={name: value})
