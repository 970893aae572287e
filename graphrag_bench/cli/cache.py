"""Count, export and import cached model replies.

HOME/cache/replies.sqlite contains all replies of language models and all vectors of embedding APIs.
Export the replies of a paper so that others can reproduce its tables without a model. The caches of
local embedders (vectors.sqlite) and of the tagger (sentences.sqlite) can be computed again.

examples
  graphrag-bench cache stats
  graphrag-bench cache export replies.jsonl.gz
  graphrag-bench run llm=replay llm.path=replies.jsonl.gz ...    the same run without a model
  graphrag-bench cache import replies.jsonl.gz                   then runs make only missing calls
  graphrag-bench cache import replies.jsonl                      replies of a batch (cache.batch)
"""

from argparse import Namespace
from pathlib import Path

from graphrag_bench.cli.parsing import Parser
from graphrag_bench.errors import UserError
from graphrag_bench.llm.batch import import_replies, is_batch
from graphrag_bench.llm.cache import VECTORS, VERDICTS, cache_stats, export_rows, import_rows
from graphrag_bench.report.rendering import Table, show, show_json
from graphrag_bench.text import counted

_NOTE = (
    "New replies have not been parsed yet. Corrected replies were parsed at the second attempt. "
    "Unreadable and failed replies are requested again. Waiting requests are in a batch file. Cut "
    "replies reached max_tokens. Vectors are embedded texts."
)


def declare(parser: Parser) -> None:
    counting = parser.add_action("stats", _show, "count replies, tokens and dollars by model")
    exporting = parser.add_action("export", _export, "write all replies to FILE.jsonl or .jsonl.gz")
    meaning = "import replies from an export or a batch; readable replies in the cache are kept"
    importing = parser.add_action("import", _import, meaning)
    counting.add_json()
    for action in (exporting, importing):
        action.add_word("file", "FILE", "the file of replies")
    meaning = "the cache file, as cache.path of a run; `stats` also accepts an exported file"
    for action in (counting, exporting, importing):
        action.add_option("--path", "STORE", meaning)
    parser.add_home(None, "the folder with cache/, as paths.home of a run (default: .)")


def _store(options: Namespace) -> Path:
    if options.path and options.home:
        raise UserError("Set either --path, the cache file, or --home, its folder.")
    store = Path(options.path or f"{options.home or '.'}/cache/replies.sqlite")
    if hasattr(options, "file") and Path(options.file).resolve() == store.resolve():
        raise UserError(f"'{options.file}' is the cache itself. Choose another file.")
    return store


def _show(options: Namespace) -> None:
    store = _store(options)
    stats = cache_stats(store)
    if options.json:
        show_json(stats)
        return
    names = (*VERDICTS, "cut", VECTORS, "prompt_tokens", "completion_tokens")
    rows = tuple(
        (model, f"{sum(counts[one] for one in VERDICTS):,}",
         *(f"{counts[one]:,}" for one in names), f"{counts['usd']:.4f}")
        for model, counts in stats.items()
    )  # fmt: skip
    heads = ("model", "replies", *(name.replace("_", " ") for name in names), "USD")
    show(Table(str(store), heads, rows, (_NOTE,), texts=heads[:1]))


def _export(options: Namespace) -> None:
    store, file = _store(options), options.file
    print(f"{counted(export_rows(store, file), 'row')} from {store} to {file}")


def _import(options: Namespace) -> None:
    store, file = _store(options), options.file
    batch = is_batch(file)
    n = import_replies(file, store) if batch else counted(import_rows(file, store), "row")
    print(f"{n} from {file} to {store}")
