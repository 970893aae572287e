"""`graphrag-bench artifacts`: what was built listed, exported, imported, verified."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.artifacts import sharing
from graphrag_bench.artifacts.exporters import export_graphml, export_parquet
from graphrag_bench.artifacts.store import loaded
from graphrag_bench.cli.parsing import Parser
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError, unknown
from graphrag_bench.report.rendering import Table, show

_ABOUT = """
Chunks, extractions, graphs, indices and reports are built once and stored in HOME/artifacts,
content-addressed by code, settings and inputs. An expensive graph can be passed on: its recipe has
the sha256 of each file, which import verifies; export and import print the digest of the content.

paths.shared_artifacts=FOLDER adds a second, read-only store to a run.
`graphrag-bench artifacts ACTION --help` has the options of an action.

examples
  graphrag-bench artifacts ls sample
  graphrag-bench artifacts export 3f2a graph.tar.gz
  graphrag-bench artifacts import graph.tar.gz --home /scratch/me
  graphrag-bench artifacts export 3f2a graph.graphml
"""
_FILE = (
    "FILE.tar.gz as it is, for import; FILE.graphml, a graph for other tools (and for "
    "graph.import_from); FILE.parquet, a folder of tables, named as Microsoft GraphRAG does"
)


def main(arguments: Sequence[str]) -> int:
    """Print the list, what was written or taken over, or what is damaged; 1 when something is."""
    options = _parser().read(arguments)
    folder, dataset = Path(options.home) / "artifacts", getattr(options, "dataset", None)
    match options.action:
        case "ls":
            show(_table(folder, dataset))
        case "verify":
            return _verified(folder, dataset)
        case "export":
            print(_exported(folder, options.key, Path(options.file), options.alone))  # noqa: T201
        case _:
            file = Path(options.file)
            if not file.is_file():
                raise UserError(f"There is no file '{file}'.")
            new, known, content = sharing.import_artifacts(file, folder, options.content)
            sys.stdout.writelines(f"new: {folder / place}\n" for place in new)
            sys.stdout.writelines(f"there already: {folder / place}\n" for place in known)
            sys.stdout.write(f"content: {content}\n")
    return 0


def _parser() -> Parser:
    parser = Parser("artifacts", _ABOUT)
    actions = [
        listing := parser.action("ls", "data set, resource, variant, key, size, seconds of each"),
        exporting := parser.action("export", "write an artifact to FILE, with what it is built of"),
        importing := parser.action(
            "import", "put what FILE has into HOME/artifacts; what is there stays"
        ),
        verifying := parser.action(
            "verify", "compare every file with its sha256; 1 when one differs"
        ),
    ]
    for action in (listing, verifying):
        action.add_argument("dataset", nargs="?", metavar="DATASET", help="only of this set")
    exporting.add_argument("key", metavar="KEY", help="of the artifact, or the beginning of it")
    exporting.add_argument("file", metavar="FILE", help=_FILE)
    exporting.flag("--alone", "without what it is built from")
    importing.add_argument("file", metavar="FILE.tar.gz", help="an archive that export has written")
    importing.option("--content", "DIGEST", "only with this content, as export printed it")
    for action in actions:
        action.home(meaning="the folder that holds artifacts/ (paths.home of a run); default: .")
    return parser


def _table(folder: Path, dataset: str | None) -> Table:
    every = sharing.stored(folder)
    sets = sorted({one.dataset for one in every})
    if dataset is not None and dataset not in sets:
        raise unknown("artifacts of", dataset, sets)
    rows = tuple(
        (
            one.dataset,
            one.resource,
            str(one.recipe["builder"]).partition(".")[2],
            one.key,
            f"{one.n_bytes / 1e6:.1f}",
            f"{one.recipe.get('seconds', 0):.1f}",
        )
        for one in every
        if dataset in (None, one.dataset)
    )
    heads = ("data set", "resource", "variant", "key", "MB", "s")
    return Table(str(folder), heads, rows, (), texts=heads[:4])


def _verified(folder: Path, dataset: str | None) -> int:
    known = {path.name for path in folder.glob("*") if path.is_dir()}
    if dataset is not None and dataset not in known:
        raise unknown("artifacts of", dataset, known)
    checked = [
        (path.relative_to(folder).as_posix(), wrong or "whole")
        for path, wrong in sharing.verify(folder, dataset)
    ]
    n_wrong = sum(state != "whole" for _, state in checked)
    caption = f"{folder}: {len(checked)} artifacts, {n_wrong} not whole"
    heads = ("artifact", "state")
    show(Table(caption, heads, tuple(checked), (), texts=heads))
    return 1 if n_wrong else 0


def _exported(folder: Path, key: str, file: Path, alone: bool) -> str:
    one = sharing.find(folder, key)
    if not file.parent.is_dir():
        raise UserError(f"There is no folder '{file.parent}' to write to.")
    items = sharing.with_inputs(folder, one)
    if file.name.endswith((".tar.gz", ".tgz")):
        chosen = [one] if alone else items
        content = sharing.export_artifacts(chosen, file)
        return f"{len(chosen)} artifacts to {file}\ncontent: {content}"
    if file.suffix not in (".graphml", ".parquet"):
        raise UserError(f"'{file}': a name in .tar.gz, .graphml or .parquet was expected.")
    if one.resource != "graph":
        raise UserError(f"{one.key} is a {one.resource}; {file.suffix} files are made of graphs.")
    chunks = next((item for item in items if item.resource == "chunk_table"), None)
    if chunks is None:
        raise UserError("The chunk table is not there; import or build it too.")
    graph = loaded(Graph, one.folder)
    write = export_graphml if file.suffix == ".graphml" else export_parquet
    write(graph, loaded(ChunkTable, chunks.folder), file)
    return f"{graph.n_nodes} nodes and {graph.n_relationships} relationships to {file}"
