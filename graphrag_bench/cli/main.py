"""The `graphrag-bench` command: finds the sub-command, and turns errors into exit code 2."""

import atexit
import errno
import gc
import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module

from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.terminal import Terminated, cleaned, heeding_signals, refuse_secrets
from graphrag_bench.version import __version__

GROUPS = {
    "prepare data, models and methods": {
        "list": "list methods, data sets, models, embedders and operators",
        "fetch": "download a published data set and verify its checksums",
        "questions": "generate abstract or specific questions for a corpus; apply a review",
        "doctor": "check server, key, model, JSON replies, context window and embedder",
        "new": "create a package with an operator or a method of your own, ready to run",
    },
    "run": {
        "run": "run methods on a data set and print the scored table; -m for a Hydra sweep",
        "plan": "print the artifacts, steps, calls and cost of a run; calls no model",
        "ask": "answer a question of your own by one or more methods, with every step",
        "artifacts": "list, export, import and verify chunks, graphs, indices and reports",
        "cache": "summarise, export and import the cached replies of models",
    },
    "look and explain": {
        "view": "runs in the browser, or as a folder: scores, questions, prompts, graphs",
        "runs": "list, cite, remove, import and export runs; collect garbage",
        "show": "explain a stored answer, or the rank of a passage, step by step",
        "funnel": "the stage at which runs lost the gold evidence",
        "replay": "repeat a run with a step changed: which questions flip, and where",
        "ablate": "the contribution of each step of a method, with intervals",
    },
    "compare and report": {
        "table": "a paper's table beside our figures, or a pivot table over stored runs",
        "curve": "accuracy and evidence of runs against context tokens or a setting",
        "score": "re-score runs with other metrics or settings; calls no model",
        "diff": "compare two runs question by question",
        "compare": "compare the answers of runs pairwise by an LLM judge",
        "judge": "grade the answers of runs one by one by an LLM judge",
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
_HELP = """
usage: graphrag-bench COMMAND [ARGUMENTS]

Graph-based RAG decomposed into operators and composed from YAML.

options:
  -h, --help     show this help; graphrag-bench COMMAND --help that of a command
  -V, --version  show the version
{commands}
start here
  graphrag-bench run dataset=sample method=hipporag limit=5
  graphrag-bench run -m dataset=sample method=bm25,vanilla,hipporag answer=off
  graphrag-bench plan dataset=sample method=hipporag
  graphrag-bench COMMAND --help
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    0 when all is done: of a run, when every question has a row. 1 when part of it failed or was
    stopped: more questions than `failures.limit` allows, all of them, a cell of a sweep, a budget
    that is spent. 2 for input that the user can fix. 130 for SIGINT and 143 for SIGTERM, after
    the replies that were under way have been stored; a second signal ends it at once.
    """
    gc.set_threshold(_COLLECT_AT)
    atexit.register(gc.freeze)  # no search for cycles at the end
    name, *words = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if name in ("--shell-completion", "-sc"):  # as the shell asks: COMP_LINE has the command
        os.environ["COMP_LINE"] = re.sub(r"\brun\b *", "", os.environ.get("COMP_LINE", ""), count=1)
        name, words = "run", [name, *words]
    try:
        with cleaned():
            return _ended(name, words)
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - the reader went away, e.g. `head`
        return 0


def _ended(name: str, words: list[str]) -> int:
    try:
        with heeding_signals():
            return _command(name, words)
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


def _command(name: str, words: list[str]) -> int:
    if name in ("--help", "-h", "help"):
        commands = "".join(
            f"\n{title}\n" + "".join(f"  {one:<13}{COMMANDS[one]}\n" for one in group)
            for title, group in GROUPS.items()
        )
        sys.stdout.write(_HELP.format(commands=commands).lstrip())
        return 0
    if name in ("--version", "-V"):
        sys.stdout.write(f"graphrag-bench {__version__}\n")
        return 0
    if name not in COMMANDS:
        sys.stderr.write(f"graphrag-bench: no command '{name}'. {did_you_mean(name, COMMANDS)}\n")
        return 2
    for word, after in zip(words, [*words, ""][1:], strict=True):
        setting, equals, value = word.partition("=")
        if equals and " " not in setting:
            refuse_secrets(setting, value)
        elif word.startswith("--"):
            refuse_secrets(word, after)
    from graphrag_bench.cli.parsing import Parser, with_folders

    rest = with_folders(words) if any(w.lstrip("+").startswith(_FOLDERS) for w in words) else words
    module = import_module(f"graphrag_bench.cli.{name}")
    if name == "run" and not {"--help", "-h"} & set(words):
        return int(module.run(words))  # Hydra reads them, and the folders too
    parser = Parser(name, module.__doc__ or "")
    parser.set_defaults(work=getattr(module, "main", None))
    module.declare(parser)
    options = parser.read(rest)
    return int(options.work(options) or 0)


if __name__ == "__main__":
    sys.exit(main())
