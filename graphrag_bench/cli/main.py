"""The `graphrag-bench` command: finds the sub-command, and turns errors into exit code 2."""

import atexit
import gc
import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise

from graphrag_bench.errors import UserError, did_you_mean, exit_code_of, message_of
from graphrag_bench.terminal import Terminated, cleaned, heeding_signals, refuse_secrets
from graphrag_bench.version import __version__

GROUPS: dict[str, dict[str, str]] = {
    "prepare data, models and methods": {
        "list": "List the methods, data sets, models, operators, ... that there are.",
        "fetch": "Download a published data set and check it.",
        "questions": "Make questions for a corpus.",
        "doctor": "Check the models of a run with a few small real calls.",
        "new": "Create a package with an operator or a method of your own.",
    },
    "run": {
        "run": "Run methods on a data set, score them, and print one table.",
        "plan": "Print what a run would build and call, and what it would cost.",
        "ask": "Answer a question of your own by one or more methods.",
        "artifacts": "List, export, import and verify graphs, indices and what else is built.",
        "cache": "Count, export and import stored replies of models.",
    },
    "look and explain": {
        "view": "Show stored runs in a browser.",
        "runs": "List, score, remove, import and export stored runs.",
        "show": "Show where runs lost their evidence, or why a question was answered so.",
        "ablate": "Show what each step of a method contributes.",
    },
    "compare and report": {
        "table": "Print a paper's table beside our figures, or the table of stored runs.",
        "diff": "Compare two runs question by question and setting by setting.",
        "judge": "Let a language model grade the answers of a run, or compare several runs.",
    },
}
"""The commands and what each does, by group; the module of a command has its long help."""
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
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    0 when all is done, 1 when part of it failed or was stopped, 2 for input that the user can fix.
    130 for SIGINT and 143 for SIGTERM, after the replies that were under way have been stored; a
    second signal ends it at once.
    """
    gc.set_threshold(_COLLECT_AT)
    atexit.register(gc.freeze)  # no search for cycles at the end
    name, *words = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if name in ("--shell-completion", "-sc"):  # as the shell asks: COMP_LINE has the command
        os.environ["COMP_LINE"] = re.sub(r"\brun\b *", "", os.environ.get("COMP_LINE", ""), count=1)
        name, words = "run", [name, *words]
    with cleaned():
        try:
            with heeding_signals():
                return _command(name, words)
        except SystemExit as shown:  # argparse, after it has printed the help
            return int(shown.code or 0)
        except BrokenPipeError:
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - the reader went away, e.g. `head`
            return 0
        except (UserError, OSError) as error:  # a disk that is full, a place that is no folder
            sys.stderr.write(f"graphrag-bench {name}: {message_of(error)}\n")
            return exit_code_of(error)
        except KeyboardInterrupt as stop:
            sys.stderr.write(
                "\nstopped; what is done is stored: run the same command again to resume\n"
            )
            return 143 if isinstance(stop, Terminated) else 130


def _command(name: str, words: list[str]) -> int:
    if name in ("--help", "-h", "help"):
        commands = "".join(
            f"\n{title}\n" + "".join(f"  {name:<11}{line}\n" for name, line in group.items())
            for title, group in GROUPS.items()
        )
        sys.stdout.write(_HELP.format(commands=commands).lstrip())
        return 0
    if name in ("--version", "-V"):
        sys.stdout.write(f"graphrag-bench {__version__}\n")
        return 0
    if name not in (every := [one for group in GROUPS.values() for one in group]):
        raise UserError(f"There is no such command. {did_you_mean(name, every)}")
    for word, after in pairwise([*words, ""]):
        setting, equals, value = word.partition("=")
        if equals and " " not in setting:
            refuse_secrets(setting, value)
        elif word.startswith("--"):
            refuse_secrets(word, after)
    from graphrag_bench.cli.parsing import Parser, with_folders
    from graphrag_bench.config.words import at_home

    words = [at_home(word) for word in words]
    rest = with_folders(words)
    module = import_module(f"graphrag_bench.cli.{name}")
    if name in ("run", "plan") and not {"--help", "-h"} & set(words):
        return int(module.run(words))  # Hydra reads them, and the folders too
    parser = Parser(name, module.__doc__ or "")
    parser.set_defaults(work=getattr(module, "main", None))
    module.declare(parser)
    options = parser.read(rest)
    return int(options.work(options) or 0)


if __name__ == "__main__":
    sys.exit(main())
