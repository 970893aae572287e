"""List, export, import and verify graphs, indices and other artifacts.

An artifact is built once and stored in HOME/artifacts under a key, which is a digest of its code,
settings and inputs. To share a graph that was expensive to build, export it. The import verifies
every sha256. With paths.shared_artifacts=FOLDER, a run also uses artifacts in FOLDER.

examples
  graphrag-bench artifacts ls
  graphrag-bench artifacts export 3f2a graph.tar.gz
  graphrag-bench artifacts import graph.tar.gz --home /scratch/me
  graphrag-bench artifacts export 3f2a folder --form neo4j
  graphrag-bench artifacts health 3f2a
  graphrag-bench artifacts push 3f2a mira/my-graphs --with-texts
  graphrag-bench artifacts pull mira/my-graphs 3f2a
  graphrag-bench artifacts verify
"""

from argparse import Namespace
from pathlib import Path

from graphrag_bench.algorithms.graph import Graph, graph_health, hubs
from graphrag_bench.artifacts import sharing
from graphrag_bench.artifacts.graphml import export_graphml
from graphrag_bench.artifacts.store import fault_of, load_artifact
from graphrag_bench.cli.parsing import Parser
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.report.rendering import MISSING, Table, show, show_json, show_tables
from graphrag_bench.tables import hub
from graphrag_bench.text import counted

_FILE = "FILE.tar.gz for `artifacts import`, or FILE.graphml for other tools and graph.import_from"
_REPO = "a data set repository of the Hugging Face hub, OWNER/NAME (a new repository is private)"
_FORM = "write a graph as CSV files for GFM-RAG 2 (gfmrag) or Neo4j; FILE is a folder"


def declare(parser: Parser) -> None:
    meaning = "list artifacts with key, size and build time (default)"
    listing = parser.add_action("ls", _list, meaning, default=True)
    measuring = parser.add_action("health", _health, "describe a graph: hubs, isolated nodes, ...")
    exporting = parser.add_action("export", _export, "export an artifact with its inputs")
    importing = parser.add_action("import", _import, "import artifacts into HOME/artifacts")
    verifying = parser.add_action("verify", _verify, "check every sha256 (exit code 1: damaged)")
    pushing = parser.add_action("push", _push, "upload an artifact with its inputs to the hub")
    pulling = parser.add_action("pull", _import, "download an artifact from the hub, and import it")
    pulling.add_word("repo", "REPO", _REPO)
    for action in (measuring, exporting, pushing, pulling):
        action.add_word("key", "KEY", "the key of the artifact, or its beginning")
    pushing.add_word("repo", "REPO", _REPO)
    pushing.add_flag("--with-texts", "confirm that texts of the data set are published (required)")
    exporting.add_word("file", "FILE", _FILE)
    exporting.add_option("--form", "FORM", _FORM, choices=("gfmrag", "neo4j"))
    importing.add_word("file", "FILE.tar.gz", "an archive written by export")
    for action in (listing, measuring, verifying):
        action.add_json()
    parser.add_home(meaning="the folder with artifacts/, as paths.home of a run (default: .)")


def _list(options: Namespace) -> None:
    folder = options.home / "artifacts"
    rows = tuple(
        (one.dataset, one.resource, str(one.recipe["builder"]).partition(".")[2], one.key,
         f"{one.n_bytes / 1e6:.1f}", f"{one.recipe.get('seconds', 0):.1f}")
        for one in sharing.stored_artifacts(folder)
    )  # fmt: skip
    heads = ("data set", "resource", "variant", "key", "MB", "s")
    show_tables([Table(str(folder), heads, rows, (), texts=heads[:4])], as_json=options.json)


def _health(options: Namespace) -> None:
    artifact = sharing.find(options.home / "artifacts", options.key)
    if artifact.resource != "graph":
        raise UserError(f"{artifact.key} is not a graph, but a {artifact.resource}.")
    graph = load_artifact(Graph, artifact.folder)
    synonymy = f"{int(graph.synonym.sum())} of them synonymy edges"
    caption = f"{artifact.path}: {_size(graph)}, {synonymy}, {counted(graph.n_chunks, 'chunk')}"
    heads = ("measure", "n", "of", "share")
    health = graph_health(graph).items()
    measured = [(name, n, whole, n / whole if whole else None) for name, (n, whole) in health]
    notes = (
        f"largest hubs, with their links: {', '.join(f'{name} ({n})' for name, n in hubs(graph))}",
        "Links are the neighbours of a node, or its chunks if there are no relationships.",
        "The largest hubs are 1 % of the nodes. Facts are relationships without synonymy edges.",
        "Parts are connected by relationships and shared chunks.",
    )
    if options.json:
        values = [dict(zip(heads, row, strict=True)) for row in measured]
        show_json([{"caption": caption, "rows": values, "notes": notes}])
        return
    rows = tuple((*map(str, row), MISSING if share is None else f"{share:.3f}")
                 for *row, share in measured)  # fmt: skip
    show(Table(caption, heads, rows, notes, texts=heads[:1]))


def _size(graph: Graph) -> str:
    return f"{counted(graph.n_nodes, 'node')}, {counted(graph.n_relationships, 'relationship')}"


def _verify(options: Namespace) -> int:
    folder = options.home / "artifacts"
    stored = sharing.stored_folders(folder)
    rows = tuple((path.relative_to(folder).as_posix(), fault_of(path) or "ok") for path in stored)
    n_wrong = sum(state != "ok" for _, state in rows)
    heads = ("artifact", "state")
    caption = f"{folder}: {counted(len(rows), 'artifact')}, {n_wrong} damaged"
    show_tables([Table(caption, heads, rows, (), texts=heads)], as_json=options.json)
    return 1 if n_wrong else 0


def _import(options: Namespace) -> None:
    folder = options.home / "artifacts"
    if "repo" in options:
        new, known, content = hub.pull_artifact(options.repo, options.key, folder)
    else:
        new, known, content = sharing.import_artifacts(Path(options.file), folder)
    for state, names in (("new", new), ("present", known)):
        for name in names:
            print(f"{state}: {folder / name}")
    print(f"content: {content}")


def _push(options: Namespace) -> None:
    if not options.with_texts:
        raise UserError("Artifacts contain texts of data sets. Add --with-texts to publish them.")
    print(f"content: {hub.push_artifact(options.home / 'artifacts', options.key, options.repo)}")


def _export(options: Namespace) -> None:
    folder, file = options.home / "artifacts", Path(options.file)
    artifact = sharing.find(folder, options.key)
    items = sharing.with_inputs(folder, artifact)
    if options.form is None and file.name.endswith((".tar.gz", ".tgz")):
        content = sharing.export_artifacts(items, file)
        print(f"{counted(len(items), 'artifact')} to {file}\ncontent: {content}")
        return
    if options.form is None and file.suffix != ".graphml":
        raise UserError(f"'{file}' must end in .tar.gz or .graphml. Add --form for other formats.")
    if artifact.resource != "graph":
        form = options.form or file.suffix
        what = f"Only a graph can be exported as {form}, but {artifact.key} is {artifact.resource}"
        raise UserError(f"{what}. Export it to a .tar.gz file.")
    chunks = next((item for item in items if item.resource == "chunk_table"), None)
    if chunks is None:
        raise UserError("The chunk table of the graph is missing. Import or build it.")
    graph, table = load_artifact(Graph, artifact.folder), load_artifact(ChunkTable, chunks.folder)
    if options.form is None:
        export_graphml(graph, table, file)
    else:
        from graphrag_bench.adapters import graph_tables as forms  # imports pandas

        export = forms.export_neo4j if options.form == "neo4j" else forms.export_gfm
        export(graph, table, file)
    print(f"{_size(graph)} to {file}")
