"""The `graphrag-bench` command: finds the sub-command, and turns errors into exit code 2."""

import ast
import atexit
import gc
import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

from graphrag_bench.errors import UserError, did_you_mean, exit_code_of, message_of
from graphrag_bench.terminal import Terminated, cleaned, heeding_signals, refuse_secrets
from graphrag_bench.version import __version__

GROUPS = {
    "prepare data, models and methods": ("list", "fetch", "questions", "doctor", "new"),
    "run": ("run", "plan", "ask", "artifacts", "cache"),
    "look and explain": ("view", "runs", "show", "funnel", "replay", "ablate"),
    "compare and report": ("table", "curve", "score", "diff", "compare", "judge"),
}
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


def about(name: str) -> str:
    """Return the help of a command: the docstring of its module, which is not imported."""
    module = find_spec(f"graphrag_bench.cli.{name}")
    assert module is not None and module.origin is not None
    return ast.get_docstring(ast.parse(Path(module.origin).read_bytes())) or ""


def _command(name: str, words: list[str]) -> int:
    if name in ("--help", "-h", "help"):
        commands = "".join(
            f"\n{title}\n" + "".join(f"  {one:<11}{about(one).splitlines()[0]}\n" for one in group)
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
