"""The `graphrag-bench` command: run a sub-command, and turn errors into exit codes."""

import atexit
import gc
import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise

from graphrag_bench.errors import UserError, exit_code_of, message_of, unknown
from graphrag_bench.terminal import Terminated, clean_output, refuse_secrets, signal_handlers
from graphrag_bench.version import __version__

GROUPS: dict[str, dict[str, str]] = {
    "prepare data, models and methods": {
        "list": "List methods, data sets, models, operators and other choices.",
        "fetch": "Download a published data set and check it.",
        "questions": "Generate questions for a corpus.",
        "doctor": "Test the models of a run with a few small calls.",
        "new": "Create a package with a new operator or method.",
    },
    "run": {
        "run": "Run methods on a data set, score them, and print a table.",
        "plan": "Print what a run would build, call and cost.",
        "ask": "Answer one question with one or more methods.",
        "artifacts": "List, export, import and verify graphs, indices and other artifacts.",
        "cache": "Count, export and import cached model replies.",
    },
    "look and explain": {
        "view": "Show stored runs in a browser.",
        "runs": "List, score, remove, import and export stored runs.",
        "show": "Show where runs lost evidence, or the retrieval trace of one question.",
        "ablate": "Measure what each step of a method contributes.",
    },
    "compare and report": {
        "table": "Compare a paper's table with stored runs, or print a table of stored runs.",
        "diff": "Compare two runs question by question and setting by setting.",
        "judge": "Grade answers with a language model, or compare runs pairwise.",
    },
}
"""The commands by group, with their short helps. The docstring of a module is the long help."""
_HELP = """
usage: graphrag-bench COMMAND [ARGUMENTS]

Compose graph-based RAG methods from operators, run them, and compare them.

options:
  -h, --help     show this help; `graphrag-bench COMMAND --help` explains a command
  -V, --version  show the version
{commands}
start here
  graphrag-bench run dataset=sample method=hipporag limit=5
  graphrag-bench run -m dataset=sample method=bm25,vanilla,hipporag answer=off
  graphrag-bench plan dataset=sample method=hipporag
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code (docs/architecture.md lists the codes)."""
    gc.set_threshold(50_000)  # imports allocate many objects and few cycles
    atexit.register(gc.freeze)  # skip the collection at exit
    name, *words = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if name in ("--shell-completion", "-sc"):  # Hydra completes the words of `run` in COMP_LINE
        os.environ["COMP_LINE"] = re.sub(r"\brun\b *", "", os.environ.get("COMP_LINE", ""), count=1)
        name, words = "run", [name, *words]
    with clean_output():
        try:
            with signal_handlers():
                return _command(name, words)
        except SystemExit as shown:  # argparse, after printing the help
            return int(shown.code or 0)
        except BrokenPipeError:
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - e.g. `head` closed the pipe
            return 0
        except (UserError, OSError) as error:  # e.g. a full disk
            sys.stderr.write(f"graphrag-bench {name}: {message_of(error)}\n")
            return exit_code_of(error)
        except KeyboardInterrupt as stop:
            sys.stderr.write("\nStopped. Run the same command again to resume.\n")
            return 143 if isinstance(stop, Terminated) else 130


def _command(name: str, words: list[str]) -> int:
    if name in ("--help", "-h", "help"):
        lines = []
        for title, group in GROUPS.items():
            lines += ["", title, *(f"  {command:<11}{line}" for command, line in group.items())]
        sys.stdout.write(_HELP.format(commands="\n".join([*lines, ""])).lstrip())
        return 0
    if name in ("--version", "-V"):
        sys.stdout.write(f"graphrag-bench {__version__}\n")
        return 0
    if name not in (every := [one for group in GROUPS.values() for one in group]):
        raise unknown("command", name, every)
    for word, after in pairwise([*words, ""]):
        setting, equals, value = word.partition("=")
        if equals and " " not in setting:
            refuse_secrets(setting, value)
        elif word.startswith("--"):
            refuse_secrets(word, after)
    from graphrag_bench.cli.parsing import Parser, register_folders
    from graphrag_bench.config.words import expand_home_in

    words = [expand_home_in(word) for word in words]
    rest = register_folders(words)
    module = import_module(f"graphrag_bench.cli.{name}")
    if name in ("run", "plan") and not {"--help", "-h"} & set(words):
        return int(module.run(words))  # Hydra parses them
    parser = Parser(name, module.__doc__ or "")
    parser.set_defaults(work=getattr(module, "main", None))
    module.declare(parser)
    options = parser.read(rest)
    return int(options.work(options) or 0)


if __name__ == "__main__":
    sys.exit(main())
