"""`graphrag-bench cache`: the paid replies counted, exported and imported."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from graphrag_bench.cli.parsing import Parser
from graphrag_bench.errors import UserError, unknown
from graphrag_bench.llm.cache import VERDICTS
from graphrag_bench.llm.cache_exchange import (
    VECTORS,
    CacheStats,
    cache_stats,
    export_rows,
    import_rows,
)
from graphrag_bench.report.rendering import Table, show

_ABOUT = """
Every reply of a language model (and every embedding by API) is cached on arrival in
HOME/cache/replies.sqlite and never paid for twice. An export of the replies behind a paper lets
anyone reproduce its tables without a model. Vectors of local embedders are cached in
HOME/cache/vectors.sqlite, sentences read by the tagger in HOME/cache/sentences.sqlite; deleting
these two costs only time.

examples
  graphrag-bench cache stats
  graphrag-bench cache export replies.jsonl.gz
  graphrag-bench run llm=replay llm.path=replies.jsonl.gz ...    the same run without a model
  graphrag-bench cache import replies.jsonl.gz                   runs request only missing replies
"""


def main(arguments: Sequence[str]) -> int:
    """Print the table of `stats`, or how many replies were written."""
    options = _parser().read(arguments)
    if options.path and options.home:
        raise UserError("--path names the store itself, --home its folder: give one of the two.")
    store = Path(options.path or f"{options.home or '.'}/cache/replies.sqlite")
    if options.action == "stats":
        show(_table(store, cache_stats(store)))
        return 0
    file = Path(options.file)
    if file.resolve() == store.resolve():
        raise UserError(f"'{file}' is the store itself; name another file.")
    if options.action == "export":
        print(_exported(store, file, options.identity))  # noqa: T201 - read by scripts
    else:
        print(f"{import_rows(file, store)} rows from {file} to {store}")  # noqa: T201
    return 0


def _parser() -> Parser:
    parser = Parser("cache", _ABOUT)
    actions = [
        parser.action("stats", "what the store holds: replies, tokens and price by model"),
        exporting := parser.action(
            "export", "write the replies to FILE (JSON lines; compressed when it ends in .gz)"
        ),
        importing := parser.action(
            "import", "put the replies of FILE into the store; readable ones that are there stay"
        ),
    ]
    for action in (exporting, importing):
        action.add_argument("file", metavar="FILE", help="of replies, to write or to read")
    exporting.option("--identity", "MODEL", "only those of this model, as stats names it")
    for action in actions:
        action.home(None, "the folder that holds cache/ (paths.home of a run); default: .")
        action.option("--path", "STORE", "the store itself (cache.path of a run); for stats also "
                      "an exported file")  # fmt: skip
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


def _table(store: Path, every: Sequence[CacheStats]) -> Table:
    numbers = (*VERDICTS, "cut", VECTORS, "prompt tokens", "completion tokens", "USD")
    heads = ("model", "replies", *numbers)
    rows = []
    for stats in every:
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
