"""The `graphrag-bench` command: finds the sub-command, and turns errors into exit code 2."""

from __future__ import annotations

import atexit
import errno
import gc
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module

from graphrag_bench.addresses import refuse_secrets
from graphrag_bench.cli.parsing import Parser
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.terminal import cleaned
from graphrag_bench.version import __version__

COMMANDS = {
    "run": "run methods on a data set and print a scored table, by Hydra; -m sweeps",
    "plan": "print what a run would build, read, write and call; touches no model",
    "ask": "answer one question of your own, by one method or several, and say why",
    "judge": "let a language model judge the answers of finished runs one by one",
    "score": "re-score finished runs with other metrics or settings; calls no model",
    "compare": "let a language model compare the answers of runs head to head",
    "questions": "make abstract or specific questions for a corpus, and read their review back",
    "diff": "compare two finished runs question by question",
    "funnel": "at which stage finished runs lost the gold evidence",
    "view": "runs in a browser: scores, questions, prompts, graphs of answers; or as a folder",
    "show": "why a stored question was answered so, and how a passage got its rank",
    "replay": "a finished run with a step changed: which questions flipped, and why",
    "ablate": "what each step of a method is worth, with intervals",
    "new": "an operator or a method of your own: a package that runs at once",
    "runs": "list, show, remove, import and export finished runs; what none needs",
    "table": "a paper's table with our figures, or a free table over stored runs",
    "fetch": "download a published data set, checked, to where run finds it",
    "curve": "accuracy and evidence of finished runs against their tokens of context",
    "list": "list methods, data sets, models, embedders and operators",
    "doctor": "check address, key, model, JSON replies, window and embedding before a run",
    "artifacts": "list, export and import what was built: chunks, graphs, indices, reports",
    "cite": "what to cite for finished runs, as BibTeX",
    "cache": "count, export and import the replies that were paid for",
}
GROUPS = {
    "run and plan": ("run", "plan", "ask"),
    "look at what was run": ("view", "runs", "show", "table", "curve", "funnel"),
    "take methods apart": ("replay", "ablate"),
    "make a method": ("new",),
    "compare and judge": ("score", "diff", "compare", "judge"),
    "data, and what was built and paid for": ("fetch", "questions", "artifacts", "cache"),
    "publish": ("cite",),
    "what there is, and whether it works": ("list", "doctor"),
    "other": (),
}
"""The commands by purpose; one without a group is shown under the last."""
_OF_THE_DISK = (
    errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENOENT,
    errno.EEXIST, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL, errno.ENXIO,
)  # fmt: skip
_FOLDERS = ("--config-dir", "-cd", "hydra.searchpath=")
_COLLECT_AT = 50_000
"""New objects before Python looks for cycles: a start makes many objects, and hardly a cycle."""
_START = """
start here
  graphrag-bench run dataset=sample method=hipporag limit=5
  graphrag-bench run -m dataset=sample method=bm25,vanilla,hipporag answer=off
  graphrag-bench plan dataset=sample method=hipporag
  graphrag-bench COMMAND --help
"""


def _parser() -> Parser:
    made = Parser(
        "graphrag-bench",
        "graphrag-bench COMMAND [ARGUMENTS]",
        "Graph-based RAG decomposed into operators and composed from YAML.",
        _START.strip(),
    )
    made.add_argument("-V", "--version", action="version", version=f"%(prog)s {__version__}")
    grouped = [name for names in GROUPS.values() for name in names]
    left = tuple(name for name in COMMANDS if name not in grouped)
    for title, names in GROUPS.items():
        made.rows(title, [(n, COMMANDS[n]) for n in names or left if n in COMMANDS])
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    0 when all is done: of a run, when every question has a row. 1 when part of it failed or was
    stopped: more questions than `failures.limit` allows, all of them, a cell of a sweep, a budget
    that is spent. 2 for input that the user can fix. 130 for SIGINT and 143 for SIGTERM, after
    the replies that were under way have been stored; a second SIGTERM ends it at once.
    """
    gc.set_threshold(_COLLECT_AT)
    atexit.register(gc.freeze)  # no search for cycles at the end
    try:
        with cleaned():
            return _main(list(sys.argv[1:] if arguments is None else arguments))
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - the reader went away, e.g. `head`
        return 0


def _main(given: list[str]) -> int:
    if not given or given[0] == "help":
        given = ["--help"]
    if given[0] in ("--shell-completion", "-sc"):  # as the shell asks: COMP_LINE has the command
        os.environ["COMP_LINE"] = re.sub(r"\brun\b *", "", os.environ.get("COMP_LINE", ""), count=1)
        given = ["run", *given]
    name, rest = given[0], given[1:]
    if name not in COMMANDS and not name.startswith("-"):
        sys.stderr.write(f"graphrag-bench: no command '{name}'. {did_you_mean(name, COMMANDS)}\n")
        return 2
    try:
        with _ended_by_sigterm():
            if name not in COMMANDS:
                _parser().read(given)
                return 2
            _refuse_secrets(rest)
            if name != "run" and any(word.startswith(_FOLDERS) for word in rest):
                from graphrag_bench.cli.settings_words import with_folders

                rest = with_folders(rest)
            module = import_module(f"graphrag_bench.cli.{name}")
            return int(module.main(rest))
    except SystemExit as shown:  # argparse, after it has printed the help
        return int(shown.code or 0)
    except UserError as error:
        sys.stderr.write(f"graphrag-bench {name}: {error}\n")
        return error.exit_code
    except OSError as error:
        if error.errno not in _OF_THE_DISK:
            raise
        sys.stderr.write(f"graphrag-bench {name}: {error}\n")
        return 2
    except KeyboardInterrupt as stop:
        sys.stderr.write(
            "\nstopped; what is done is stored: run the same command again to resume\n"
        )
        return 143 if isinstance(stop, Terminated) else 130


class Terminated(KeyboardInterrupt):
    """SIGTERM arrived: what is under way ends as it does at Ctrl-C."""


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Raise Terminated at the first SIGTERM; only the main thread can be told of signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_: int, __: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise Terminated

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _refuse_secrets(words: Sequence[str]) -> None:
    for word, after in zip(words, [*words, ""][1:], strict=True):
        name, equals, value = word.partition("=")
        if equals and " " not in name:
            refuse_secrets(name, value)
        elif word.startswith("--"):
            refuse_secrets(word, after)


if __name__ == "__main__":
    sys.exit(main())
