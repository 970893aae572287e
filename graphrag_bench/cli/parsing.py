"""Parsers of the commands: options, words, and settings `NAME=VALUE`, of a command or of a run."""

import argparse
import re
import textwrap
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

from graphrag_bench.config.compose import value_of
from graphrag_bench.config.plugins import config_folders
from graphrag_bench.config.settings import explained
from graphrag_bench.config.sources import GROUPS, ROLES, file_of, names, read, search_in
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.report.tables import COLUMNS

WIDTH, COLUMN = 100, 36
"""The columns of a help text, and the last one at which a meaning begins."""
HOME = "the folder that holds runs/ and artifacts/ (paths.home of a run); default: ."
RUN = "a folder (`run: ...` of a run prints it), the beginning of its key, or a method with one run"
RUNS = f"{RUN}; or a folder of runs, or of a sweep"
CONFIG_DIR = (
    "--config-dir FOLDER",
    "adds the files of FOLDER/method, FOLDER/dataset, ...; ./configs is always searched",
)
_MORE = (
    ("method.NAME=VALUE", "a parameter of the method: top_k, damping, ..."),
    ("method.retrieve.0.NAME=VALUE", "a setting of one step, as `graphrag-bench plan` shows them"),
    ("llm.NAME=VALUE", "a setting of the model, e.g. llm.model_path=weights.gguf"),
)
_FOLDERS = ("--config-dir", "-cd", "--config-path", "-cp")


class Parser(argparse.ArgumentParser):
    """A parser of options, words and settings `NAME=VALUE`, without abbreviations.

    `about` is shown above the options, from its line `example...` on below them. Errors end like
    any other mistake of the user, with the nearest name.
    """

    def __init__(self, command: str, about: str) -> None:
        above, sign, below = about.partition("\nexample")
        super().__init__(
            f"graphrag-bench {command}",
            description=above.strip(),
            epilog=f"{sign}{below}".strip(),
            formatter_class=partial(
                argparse.RawDescriptionHelpFormatter, width=WIDTH, max_help_position=COLUMN
            ),
            allow_abbrev=False,
        )
        self._settings: dict[str, str] = {}
        self._names: list[str] = []
        self._actions_of: dict[str, Parser] = {}
        self._alone: Parser | None = None

    def takes(self, usage: str) -> None:
        """Say what follows the command, a line for each way to use it."""
        self.usage = f"%(prog)s {usage}".replace("\n", "\n       %(prog)s ")

    def rows(self, title: str, rows: Iterable[tuple[str, str]]) -> None:
        """Show a section of words with their meanings, which are not parsed."""
        wrapped = textwrap.TextWrapper(WIDTH - 2, break_on_hyphens=False)
        wrapped.subsequent_indent = " " * (COLUMN - 2)
        lines = []
        for head, meaning in rows:
            lines.append(wrapped.fill(f"{head:<{COLUMN - 3}} {meaning}"))
            self._names += [word.partition("=")[0] + "=" for word in head.split() if "=" in word]
        self.add_argument_group(title, "\n".join(lines))

    def settings(self, rows: Sequence[tuple[str, str, str | None, str]]) -> None:
        """Take settings, each (name, its value in the help, default, meaning), as texts."""
        self.rows("settings", [(f"{name}={shown}", meaning) for name, shown, _, meaning in rows])
        self.set_defaults(**{name: default for name, _, default, _ in rows})
        self._settings |= {name: name for name, *_ in rows}

    def word(self, name: str, shown: str, meaning: str, n: str | None = None) -> None:
        """Take a word, or several (`n` is "?", "*" or "+"), which the help calls `shown`."""
        self.add_argument(name, metavar=shown, help=meaning, nargs=n)

    def flag(self, name: str, meaning: str, *short: str) -> None:
        """Take an option without a value."""
        self.add_argument(*short, name, action="store_true", help=meaning)
        self._names.append(name)

    def option(
        self, name: str, shown: str, meaning: str, default: object = None, **more: Any
    ) -> None:
        """Take an option with a value, which the help calls `shown`; `more` is of argparse."""
        self.add_argument(name, metavar=shown, help=meaning, default=default, **more)
        self._names.append(name)

    def home(self, default: str | None = ".", meaning: str = HOME) -> None:
        """Take `--home`, which a run calls `paths.home`."""
        self.option("--home", "HOME", meaning, default)
        self._settings["paths.home"] = "home"

    def json(self) -> None:
        """Take `--json`."""
        self.flag("--json", "print JSON, for a program")

    def columns(self) -> None:
        """Take `columns=main` or `columns=all`."""
        meaning = (
            "main: n, the main metric, its difference from the baseline, context and cost of each "
            "method in 100 columns; all: every metric, difference and cost"
        )
        self.settings([("columns", "WHICH", COLUMNS[0], meaning)])

    def action(
        self,
        name: str,
        work: Callable[[argparse.Namespace], int | None],
        meaning: str,
        *,
        alone: bool = False,
    ) -> "Parser":
        """Return the parser of an action, a command's first word; `work` is given what it read.

        With `alone` it is that of the command without a first word.
        """
        action = self._actions_of[name] = Parser(f"{self.prog.split()[1]} {name}", f"{meaning}.")
        action.set_defaults(work=work)
        self._alone = action if alone else self._alone
        return action

    def read(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Return what the arguments say.

        A command with actions and without a word shows its help, unless one is declared `alone`.
        Raises SystemExit after the help, and UserError for what the command does not take.
        """
        every = list(arguments)
        if actions := self._actions_of:
            alone = not every or every[0].startswith("--") or "=" in every[0]
            if self._alone and alone and "--help" not in every:
                return self._alone.read(every)
            every = every or ["--help"]
            if every[0] in actions:
                return actions[every[0]].read(every[1:])
            if not every[0].startswith("-"):
                hint = did_you_mean(every[0], actions)
                raise UserError(f"{self.prog} has no '{every[0]}'. {hint} See {self.prog} --help.")
            self.rows("actions", [(name, str(of.description)[:-1]) for name, of in actions.items()])
            usages = [of.format_usage().removeprefix("usage: ") for of in actions.values()]
            self.usage = "       ".join(usages).rstrip()
        settings, words = {}, []
        for word in every:
            name, equals, value = word.partition("=")
            if equals and name in self._settings:
                settings[self._settings[name]] = value
            else:
                words.append(word)
        options, unknown = self.parse_known_intermixed_args(words)
        if unknown:
            hint = did_you_mean(unknown[0].partition("=")[0], self._names)
            raise UserError(f"'{unknown[0]}' is not an option or a setting of {self.prog}. {hint}")
        return argparse.Namespace(**{**vars(options), **settings})

    def error(self, message: str) -> NoReturn:
        """Raise UserError."""
        raise UserError(f"{message}. See {self.prog} --help.")


def positive(text: str) -> int:
    """Return the whole number from 1 on that a text is, for argparse."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: a number, at least 1, was expected")
    return int(text)


def show_settings(parser: Parser, usage: str, *, without: Collection[str] = ()) -> None:
    """Let a help show what follows the command, every group with its choices and every setting."""
    parser.takes(usage)
    groups = [
        (f"{group}=", ", ".join(names(group)) if group != "row" else "PAPER.TABLE.ROW")
        for group in GROUPS
        if not _within(group, without)
    ]
    roles = [(f"llm@{role}=", "another model for this: as llm=") for role in ROLES]
    parser.rows("groups (chosen by name)", [*groups, *roles, CONFIG_DIR])
    parser.rows("settings of a run (by path)", [*setting_rows(without=without), *_MORE])


def setting_rows(of: str = "", without: Collection[str] = ()) -> Iterable[tuple[str, str]]:
    """Yield `NAME=DEFAULT` and the meaning of the settings of a run, or of those below a name."""
    for name, default, meaning in explained():
        if name not in GROUPS and name.startswith(of) and not _within(name, without):
            yield f"{name}={default}", meaning


def with_folders(words: Sequence[str]) -> list[str]:
    """Return the words without --config-dir and hydra.searchpath, whose folders are looked in.

    Hydra itself reads both after our folders. The packages of `plugins=`, and those of the
    experiment that is chosen, are looked in too.
    """
    rest, places, plugins = [], [], []
    every = iter(words)
    for word in every:
        name, equals, value = word.lstrip("+").partition("=")
        if name in _FOLDERS:
            places.append(value if equals else next(every, ""))
        elif name == "hydra.searchpath":
            places += _listed(name, value)
        else:
            rest.append(word)
            if name == "plugins":
                plugins += _listed(name, value)
            elif name == "experiment" and (file := file_of(name, value)):
                plugins += read(file).get("plugins") or []
    search_in([*places, *config_folders(plugins)])
    return rest


def _listed(name: str, text: str) -> list[str]:
    value = value_of(text, name)
    return [str(one) for one in value] if isinstance(value, list) else []


def is_setting(argument: str) -> bool:
    """Return whether an argument is meant as a setting, and is not a text that holds a `=`."""
    name, equals, _ = argument.partition("=")
    path = re.fullmatch(r"[+~]*[\w@/]+(\.[\w@:/.]+)?", name)
    return path is not None and bool(equals or argument.startswith("~"))


def runs_and_settings(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the words that name runs, and those that are settings.

    A folder that is there is a run, whatever it is called.
    """
    named = [word for word in words if not is_setting(word) or Path(word).is_dir()]
    return named, [word for word in words if word not in named]


def refuse_but(
    command: str, words: Sequence[str], settings: Sequence[str], own: Sequence[str] = ()
) -> None:
    """Raise one UserError that names every setting of a run that a command does not take.

    `settings` are first parts of the settings that it takes, `own` the settings that only it has.
    """
    problems = []
    for name in map(name_of, filter(is_setting, words)):
        if not _within(name, settings):
            hint = did_you_mean(name.partition(".")[0], [*settings, *own])
            problems.append(f"'{name}' is not a setting of {command}. {hint}")
    if problems:
        raise UserError("\n".join(problems))


def name_of(word: str) -> str:
    """Return the path that a setting sets; that of `llm@llm_judge=NAME` is `llm_judge`."""
    return word.lstrip("+~").partition("=")[0].removeprefix("llm@")


def _within(name: str, parts: Iterable[str]) -> bool:
    return any(name == one or name.startswith(f"{one}.") for one in parts)


def folded(lines: Iterable[str]) -> str:
    """Return lines of at most `WIDTH` characters, longer ones continued two columns further in.

    A line with a command, which is to be copied, stays whole.
    """
    wrapped = []
    for line in chain.from_iterable(text.split("\n") for text in lines):
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        whole = len(line) <= WIDTH or "graphrag-bench " in line
        wrapped += [line.rstrip()] if whole else textwrap.wrap(
            line, WIDTH, subsequent_indent=indent, break_on_hyphens=False, drop_whitespace=True,
            break_long_words=False, replace_whitespace=False,
        )  # fmt: skip
    return "\n".join(wrapped)
