"""The parser of a command: an option or setting is declared once, and argparse writes the help."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NoReturn

from graphrag_bench.errors import UserError, did_you_mean

WIDTH, COLUMN = 100, 36
"""The columns of a help text, and the last one at which a meaning begins."""
HOME = "the folder that holds runs/ and artifacts/ (paths.home of a run); default: ."
SHARED = "the second artifacts/ folder of a run that read one (paths.shared_artifacts)"
RUN = "a folder (`run: ...` of a run prints it) or the beginning of its key"
CONFIG_DIR = (
    "--config-dir FOLDER",
    "adds the files of FOLDER/method, FOLDER/dataset, ...; ./configs is always searched",
)
_UNKNOWN = "unrecognized arguments: "
_formatter = partial(argparse.RawDescriptionHelpFormatter, width=WIDTH, max_help_position=COLUMN)


class Parser(argparse.ArgumentParser):
    """A parser of options, words and settings `NAME=VALUE`, without abbreviations.

    Its errors end like any other mistake of the user, with the nearest name.
    """

    def __init__(
        self, prog: str, usage: str | None = None, description: str = "", epilog: str = ""
    ) -> None:
        super().__init__(
            prog, usage, description, epilog, formatter_class=_formatter, allow_abbrev=False
        )
        self._settings: dict[str, str] = {}
        self._actions_of: argparse._SubParsersAction[Parser] | None = None

    def rows(
        self, title: str, rows: Iterable[tuple[str, str]], description: str | None = None
    ) -> None:
        """Show a section of words with their meanings, which are not parsed."""
        group = self.add_argument_group(title, description)
        for head, meaning in rows:
            _row(group, head, meaning)

    def settings(self, rows: Iterable[tuple[str, str, str | None, str]]) -> None:
        """Take settings, each (name, its value in the help, default, meaning), as texts."""
        group = self.add_argument_group("settings")
        for name, shown, default, meaning in rows:
            _row(group, f"{name}={shown}", meaning)
            self._settings[name] = name
            self.set_defaults(**{name: default})

    def flag(self, name: str, meaning: str, *short: str) -> None:
        """Take an option without a value."""
        self.add_argument(*short, name, action="store_true", help=meaning)

    def option(
        self,
        name: str,
        shown: str,
        meaning: str,
        default: object = None,
        kind: Callable[[str], object] = str,
    ) -> None:
        """Take an option with one value, which the help calls `shown`."""
        self.add_argument(name, metavar=shown, help=meaning, default=default, type=kind)

    def home(self, default: str | None = ".", meaning: str = HOME) -> None:
        """Take `--home`, which a run calls `paths.home`."""
        self.option("--home", "HOME", meaning, default)
        self._settings["paths.home"] = "home"

    def shared(self) -> None:
        """Take `--shared`, which a run calls `paths.shared_artifacts`."""
        self.option("--shared", "DIR", SHARED)
        self._settings["paths.shared_artifacts"] = "shared"

    def action(self, name: str, meaning: str) -> Parser:
        """The parser of one of several actions of the command, whose first word is its name."""
        if self._actions_of is None:
            self._actions_of = self.add_subparsers(
                dest="action", required=True, metavar="ACTION", title="actions"
            )
        return self._actions_of.add_parser(name, help=meaning, description=f"{meaning}.")

    def read(self, arguments: Sequence[str], *, alone: bool = False) -> argparse.Namespace:
        """What the arguments say; none at all ask for help, unless the command runs `alone`.

        Raises SystemExit after the help, and UserError for what the command does not take.
        """
        asked = arguments if arguments or alone else ["--help"]
        if self._actions_of is None:
            return self.parse_intermixed_args(asked)
        usages = [one.format_usage() for one in self._actions_of.choices.values()]
        self.usage = "       ".join(usage.removeprefix("usage: ") for usage in usages).rstrip()
        return self.parse_args(asked)

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str], namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """As argparse does, after the settings among the words have been taken."""
        found = argparse.Namespace() if namespace is None else namespace
        rest = []
        for word in args:
            name, equals, value = word.partition("=")
            if equals and name in self._settings:
                setattr(found, self._settings[name], value)
            else:
                rest.append(word)
        return super().parse_known_args(rest, found)

    def error(self, message: str) -> NoReturn:
        """Raise UserError; what is unknown is answered with the nearest."""
        command = " ".join(self.prog.split()[:2])
        choice = re.fullmatch(r"argument (\S+): invalid choice: '(.*?)' \(choose .*\)", message)
        hint = ""
        if choice and self._actions_of is not None:
            message = f"{command} has no '{choice[2]}'"
            hint = did_you_mean(choice[2], self._actions_of.choices)
        elif message.startswith(_UNKNOWN):
            word = message.removeprefix(_UNKNOWN).partition(" ")[0]
            message = f"'{word}' is not an option or a setting of {command}"
            hint = did_you_mean(word.partition("=")[0], self._known())
        raise UserError(" ".join(filter(None, (f"{message}.", hint, f"See {command} --help."))))

    def _known(self) -> list[str]:
        known = [option for action in self._actions for option in action.option_strings]
        rows = [action.dest for action in self._actions if action.nargs == argparse.SUPPRESS]
        known += [f"{row.partition('=')[0]}=" for row in rows]
        for inner in self._actions_of.choices.values() if self._actions_of else ():
            known += inner._known()
        return list(dict.fromkeys(known))


def _row(group: argparse._ArgumentGroup, head: str, meaning: str) -> None:
    group.add_argument(
        head, nargs=argparse.SUPPRESS, default=argparse.SUPPRESS, help=meaning.replace("%", "%%")
    )


def command_parser(command: str, about: str, usage: str | None = None) -> Parser:
    """The parser of a sub-command of graphrag-bench.

    `about` is shown above the options, from its line `example...` on below them. `usage` is what
    follows the command; argparse writes it where it is not given.
    """
    prog = f"graphrag-bench {command}"
    lines = [f"{prog} {line}".rstrip() for line in (usage or "").split("\n")]
    shown = None if usage is None else "\n       ".join(lines)
    above, sign, below = about.partition("\nexample")
    return Parser(prog, shown, above.strip(), f"{sign}{below}".strip())
