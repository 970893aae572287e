"""The `graphrag-bench` command: finds the sub-command, and turns errors into exit code 2."""

from __future__ import annotations

import atexit
import errno
import gc
import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module

from graphrag_bench.addresses import refuse_secrets
from graphrag_bench.cli.parsing import Parser
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.interrupts import Terminated, heeding_signals
from graphrag_bench.terminal import cleaned
from graphrag_bench.version import __version__

GROUPS = {
    "run and plan": {
        "run": "run methods on a data set and print a scored table, by Hydra; -m sweeps",
        "plan": "print what a run would build, read, write and call; touches no model",
        "ask": "answer one question of your own, by one method or several, and say why",
    },
    "look at what was run": {
        "view": "runs in a browser: scores, questions, prompts, graphs of answers; or as a folder",
        "runs": "list, show, remove, import and export finished runs; what none needs",
        "show": "why a stored question was answered so, and how a passage got its rank",
        "table": "a paper's table with our figures, or a free table over stored runs",
        "curve": "accuracy and evidence of finished runs against their tokens of context",
        "funnel": "at which stage finished runs lost the gold evidence",
    },
    "take methods apart": {
        "replay": "a finished run with a step changed: which questions flipped, and why",
        "ablate": "what each step of a method is worth, with intervals",
    },
    "make a method": {
        "new": "an operator or a method of your own: a package that runs at once",
    },
    "compare and judge": {
        "score": "re-score finished runs with other metrics or settings; calls no model",
        "diff": "compare two finished runs question by question",
        "compare": "let a language model compare the answers of runs head to head",
        "judge": "let a language model judge the answers of finished runs one by one",
    },
    "data, and what was built and paid for": {
        "fetch": "download a published data set, checked, to where run finds it",
        "questions": "make abstract or specific questions for a corpus, and read their review back",
        "artifacts": "list, export and import what was built: chunks, graphs, indices, reports",
        "cache": "count, export and import the replies that were paid for",
    },
    "publish": {"cite": "what to cite for finished runs, as BibTeX"},
    "what there is, and whether it works": {
        "list": "list methods, data sets, models, embedders and operators",
        "doctor": "check address, key, model, JSON replies, window and embedding before a run",
    },
}
COMMANDS = {name: meaning for group in GROUPS.values() for name, meaning in group.items()}
_OF_THE_DISK = (
    errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENOENT,
    errno.EEXIST, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL, errno.ENXIO,
    errno.EFBIG,
)  # fmt: skip
_FOLDERS = (
    "--config-dir", "-cd", "--config-path", "-cp", "hydra.searchpath=", "plugins=", "experiment=",
)  # fmt: skip
"""How words begin that say where choices are looked for."""
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
    about = "Graph-based RAG decomposed into operators and composed from YAML."
    usage = "graphrag-bench COMMAND [ARGUMENTS]"
    parser = Parser("graphrag-bench", usage, about, _START.strip())
    parser.add_argument("-V", "--version", action="version", version=f"%(prog)s {__version__}")
    for title, commands in GROUPS.items():
        parser.rows(title, commands.items())
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    0 when all is done: of a run, when every question has a row. 1 when part of it failed or was
    stopped: more questions than `failures.limit` allows, all of them, a cell of a sweep, a budget
    that is spent. 2 for input that the user can fix. 130 for SIGINT and 143 for SIGTERM, after
    the replies that were under way have been stored; a second signal ends it at once.
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
        with heeding_signals():
            if name not in COMMANDS:
                _parser().read(given)
                return 2
            _refuse_secrets(rest)
            if any(word.lstrip("+").startswith(_FOLDERS) for word in rest):
                from graphrag_bench.cli.settings_words import with_folders

                own = with_folders(rest)
                rest = rest if name == "run" else own  # Hydra takes the options itself
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


def _refuse_secrets(words: Sequence[str]) -> None:
    for word, after in zip(words, [*words, ""][1:], strict=True):
        name, equals, value = word.partition("=")
        if equals and " " not in name:
            refuse_secrets(name, value)
        elif word.startswith("--"):
            refuse_secrets(word, after)


if __name__ == "__main__":
    sys.exit(main())
