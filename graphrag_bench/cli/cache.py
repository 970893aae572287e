"""`graphrag-bench cache`: the paid replies counted, exported and imported."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from graphrag_bench.cli.parsing import Parser, command_parser
from graphrag_bench.errors import UserError, unknown
from graphrag_bench.models.cache import VERDICTS
from graphrag_bench.models.cache_exchange import (
    VECTORS,
    CacheStats,
    cache_stats,
    export_rows,
    import_rows,
)
from graphrag_bench.report.rendering import Table, show

_ABOUT = """
Every reply of a language model (and every embedding by API) is kept the moment it arrives, in
HOME/cache/replies.sqlite, and is not paid for again. With the replies of a paper in a file,
everybody can repeat its tables. Vectors of local embedders are in HOME/cache/vectors.sqlite, by
model and text, and what the tagger has read in HOME/cache/sentences.sqlite: deleting these two
costs nothing but time.

examples
  graphrag-bench cache stats
  graphrag-bench cache export replies.jsonl.gz
  graphrag-bench run llm=replay llm.path=replies.jsonl.gz ...    the same run, and no model at all
  graphrag-bench cache import replies.jsonl.gz                   a run asks only for what is missing
"""
_ACTIONS = {
    "stats": "what the store holds: replies, tokens and price by model",
    "export FILE": "write the replies to FILE (JSON lines; compressed when it ends in .gz)",
    "import FILE": "put the replies of FILE into the store; readable ones that are there stay",
}


def main(arguments: Sequence[str]) -> int:
    """Print the table of `stats`, or how many replies were written."""
    asked = _parser().read(arguments)
    if asked.path and asked.home:
        raise UserError("--path names the store itself, --home its folder: give one of the two.")
    store = Path(asked.path or f"{asked.home or '.'}/cache/replies.sqlite")
    if asked.action == "stats":
        if asked.file:
            raise UserError(f"stats takes no FILE; --path {asked.file} counts another store.")
        show(_table(store, cache_stats(store)))
        return 0
    if not asked.file:
        raise UserError(f"{asked.action} needs a FILE: graphrag-bench cache {asked.action} FILE.")
    file = Path(asked.file)
    if file.resolve() == store.resolve():
        raise UserError(f"'{file}' is the store itself; name another file.")
    if asked.action == "export":
        print(_exported(store, file, asked.identity))  # noqa: T201 - read by scripts
    else:
        print(f"{import_rows(file, store)} rows from {file} to {store}")  # noqa: T201
    return 0


def _parser() -> Parser:
    usage = "stats|export|import [FILE] [OPTIONS]"
    parser = command_parser("cache", _ABOUT, usage)
    parser.add_argument("action", choices=("stats", "export", "import"), help="see below")
    parser.add_argument("file", nargs="?", metavar="FILE", help="of replies, to write or to read")
    parser.rows("actions", _ACTIONS.items())
    parser.home(None, "the folder that holds cache/ (paths.home of a run); default: .")
    parser.option(
        "--path", "STORE", "the store itself (cache.path of a run), or for stats an exported file"
    )
    parser.option(
        "--identity", "MODEL", "only the replies of this model, as stats names it (export)"
    )
    return parser


def _exported(store: Path, file: Path, identity: str | None) -> str:
    if not file.parent.is_dir():
        raise UserError(f"There is no folder '{file.parent}' to write to.")
    if file.is_dir():
        raise UserError(f"'{file}' is a folder; name a file in it, e.g. {file}/replies.jsonl.gz.")
    n_written = export_rows(store, file, identity)
    if identity is not None and not n_written:
        file.unlink()
        raise unknown("model", identity, [stats.identity for stats in cache_stats(store)])
    return f"{n_written} rows from {store} to {file}"


def _table(store: Path, held: Sequence[CacheStats]) -> Table:
    numbers = (*VERDICTS, "cut", VECTORS, "prompt tokens", "completion tokens", "USD")
    heads = ("model", "replies", *numbers)
    rows = []
    for stats in held:
        counts = dict(stats.verdicts)
        n_vectors = counts.pop(VECTORS, 0)
        row = [stats.identity, f"{sum(counts.values()):,}"]
        row += [f"{counts.get(verdict, 0):,}" for verdict in VERDICTS]
        row += [f"{stats.truncated:,}", f"{n_vectors:,}", f"{stats.prompt_tokens:,}"]
        row += [f"{stats.completion_tokens:,}", f"{stats.usd:.4f}"]
        rows.append(tuple(row))
    notes = (
        "new: no reader has judged them yet; corrected: unreadable, but the second try was not; "
        "unreadable and failed ones are asked for again; cut: reached max_tokens; vectors: texts "
        "embedded",
    )
    return Table(str(store), heads, tuple(rows), notes, texts=heads[:1])
