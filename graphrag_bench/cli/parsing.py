"""Parse command-line arguments: options, positional arguments, and settings NAME=VALUE."""

import argparse
import re
import textwrap
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from graphrag_bench.config.compose import value_of
from graphrag_bench.config.plugins import config_folders
from graphrag_bench.config.settings import as_list, described_settings
from graphrag_bench.config.sources import GROUPS, ROLES, add_folders, file_of, names, read_mapping
from graphrag_bench.errors import UserError, did_you_mean, unknown
from graphrag_bench.report.tables import COLUMNS

WIDTH, COLUMN = 100, 36
"""Width of a help text, and the column at which descriptions begin."""
HOME = "the folder with runs/ and artifacts/, as paths.home of a run (default: .)"
RUN = "the folder of a run, the beginning of its key, or a method with one stored run"
RUNS = "the folder of a run, several runs or a sweep, the start of a key, or a method with one run"
_ALSO = "also search FOLDER/method, FOLDER/dataset, ... for choices; ./configs is always searched"
CONFIG_DIR = ("--config-dir FOLDER", _ALSO)
_STEP = "a setting of a step (`graphrag-bench plan` prints all steps)"
_MORE = (
    ("method.NAME=VALUE", "a parameter of the method: top_k, damping, ..."),
    ("method.retrieve.0.NAME=VALUE", _STEP),
    ("llm.NAME=VALUE", "a setting of the language model, e.g. llm.model_path=weights.gguf"),
)
_COLUMNS = "`main`, or `all` for every metric, difference from the baseline and cost"
COLUMNS_ROW = ("columns", "WHICH", COLUMNS[0], _COLUMNS)
_FOLDERS = ("--config-dir", "-cd", "--config-path", "-cp")
Work = Callable[[argparse.Namespace], int | None]
"""The function of a command or an action. It returns the exit code, or None for 0."""


class Parser(argparse.ArgumentParser):
    """Parser of options, positional arguments and settings. It prints examples in `about` last."""

    def __init__(self, command: str, about: str) -> None:
        above, sign, below = about.partition("\nexample")
        form = partial(argparse.RawDescriptionHelpFormatter, width=WIDTH, max_help_position=COLUMN)
        super().__init__(
            f"graphrag-bench {command}", description=above.strip(), epilog=f"{sign}{below}".strip(),
            formatter_class=form, allow_abbrev=False,
        )  # fmt: skip
        self._settings: dict[str, str] = {}  # options that are written NAME=VALUE, by NAME
        self._names: list[str] = []
        self._actions_of: dict[str, Parser] = {}
        self._meanings: list[tuple[str, str]] = []
        self._default: Parser | None = None

    def set_usage(self, usage: str) -> None:
        """Set the usage, with a line for each form of the command."""
        self.usage = f"%(prog)s {usage}".replace("\n", "\n       %(prog)s ")

    def add_section(self, title: str, rows: Iterable[tuple[str, str]]) -> None:
        """Add a section to the help, with a term and its meaning in each row."""
        wrapped = textwrap.TextWrapper(WIDTH - 2, break_on_hyphens=False)
        wrapped.subsequent_indent = " " * (COLUMN - 2)
        lines = []
        for head, meaning in rows:
            lines.append(wrapped.fill(f"{head:<{COLUMN - 3}} {meaning}"))
            self._names += [word.partition("=")[0] + "=" for word in head.split() if "=" in word]
        self.add_argument_group(title, "\n".join(lines))

    def add_settings(self, rows: Sequence[tuple[str, str, str | None, str]]) -> None:
        """Accept settings. A row has a name, the value in the help, a default and a meaning."""
        shown = [(f"{name}={value}", meaning) for name, value, _, meaning in rows]
        self.add_section("settings", shown)
        for name, _, default, _ in rows:
            self.add_argument(f"--{name}", default=default, help=argparse.SUPPRESS)
            self._settings[name] = f"--{name}"

    def add_word(self, name: str, shown: str, meaning: str, n: str | None = None) -> None:
        """Accept positional arguments, called `shown` in the help. `n` is argparse's `nargs`."""
        self.add_argument(name, metavar=shown, help=meaning, nargs=n)

    def add_flag(self, name: str, meaning: str, *synonyms: str) -> None:
        """Accept an option without a value."""
        self.add_argument(name, *synonyms, action="store_true", help=meaning)
        self._names.append(name)

    def add_option(
        self, name: str, shown: str | tuple[str, ...], about: str, default: Any = None, **more: Any
    ) -> None:
        """Add an option; `shown` stands for its value in the help. argparse gets `more`."""
        self.add_argument(name, metavar=shown, help=about, default=default, **more)
        self._names.append(name)

    def add_home(self, default: str | None = ".", meaning: str = HOME) -> None:
        """Accept `--home` and its synonym `paths.home=` in the command or in all its actions."""
        for action in self._actions_of.values() or [self]:
            action.add_option("--home", "HOME", meaning, default, type=Path)
            action._settings["paths.home"] = "--home"

    def add_json(self) -> None:
        """Accept `--json`."""
        self.add_flag("--json", "print JSON")

    def add_action(self, name: str, work: Work, meaning: str, *, default: bool = False) -> "Parser":
        """Add an action that calls `work`, e.g. `ls` in `runs ls`. One action can be `default`."""
        own = f"  {self.prog} {name} "
        examples = [line for line in (self.epilog or "").splitlines() if f"{line} ".startswith(own)]
        about = "\n".join([f"{meaning[0].upper()}{meaning[1:]}.", "\nexample", *examples])
        action = self._actions_of[name] = Parser(own.strip().partition(" ")[2], about)
        self._meanings.append((name, meaning))
        action.set_defaults(work=work)
        self._default = action if default else self._default
        return action

    def read(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Parse the arguments of a command or action. Raises SystemExit after the help."""
        every = list(arguments)
        if actions := self._actions_of:
            wordless = not every or every[0].startswith("--") or "=" in every[0]
            if self._default and wordless and "--help" not in every:
                return self._default.read(every)
            every = every or ["--help"]
            if every[0] in actions:
                return actions[every[0]].read(every[1:])
            if not every[0].startswith("-"):
                raise unknown(f"{self.prog.split()[1]} action", every[0], actions)
            self.add_section("actions", self._meanings)
            usages = [of.format_usage().removeprefix("usage: ") for of in actions.values()]
            self.usage = "       ".join(usages).rstrip()
        pairs = [word.partition("=") for word in every]
        words = [f"{self._settings.get(name, name) if equals else name}{equals}{value}"
                 for name, equals, value in pairs]  # fmt: skip
        options, rest = self.parse_known_intermixed_args(words)
        if rest:
            hint = did_you_mean(rest[0].partition("=")[0], self._names)
            raise UserError(f"{self.prog} has no option or setting '{rest[0]}'. {hint}")
        return options

    def error(self, message: str) -> NoReturn:
        """Raise UserError."""
        raise UserError(f"{message}. See {self.prog} --help.")


def integer(name: str, text: str, most: int | None = None) -> int:
    """Parse an integer from 1 to `most`. The UserError begins with `name` and the text."""
    if not text.strip().isdecimal() or not 1 <= int(text) <= (most or int(text)):
        bound = f" to {most}" if most else ""
        raise UserError(f"{name}{text} is not an integer from 1{bound}.")
    return int(text)


def add_settings_help(parser: Parser, usage: str, *, without: Collection[str] = ()) -> None:
    """Add the usage, the choices of every group and all settings of a run to the help."""
    parser.set_usage(usage)
    shown = {group: "PAPER.TABLE.ROW" if group == "row" else ", ".join(names(group))
             for group in GROUPS if not _within(group, without)}  # fmt: skip
    shown |= dict.fromkeys((f"llm@{role}" for role in ROLES), "another model (choices of llm=)")
    groups = [(f"{name}=", choices) for name, choices in shown.items()]
    parser.add_section("groups (chosen by name)", [*groups, CONFIG_DIR])
    parser.add_section("settings of a run (by path)", [*setting_rows(without=without), *_MORE])


def setting_rows(of: str = "", without: Collection[str] = ()) -> Iterable[tuple[str, str]]:
    """Yield `NAME=DEFAULT` and the meaning of each run setting whose name begins with `of`."""
    for name, default, meaning in described_settings():
        if name not in GROUPS and name.startswith(of) and not _within(name, without):
            yield f"{name}={default}", meaning


def register_folders(words: Sequence[str]) -> list[str]:
    """Add config folders from arguments, and return the arguments that do not name folders."""
    rest, places, plugins = list[str](), list[str](), list[str]()
    every = iter(words)
    for word in every:
        name, equals, value = word.lstrip("+").partition("=")
        if name in _FOLDERS:
            places.append(value if equals else next(every, ""))
            continue
        rest += [word] * (name != "hydra.searchpath")
        if name in ("hydra.searchpath", "plugins"):
            wanted = plugins if name == "plugins" else places
            wanted += map(str, as_list(value_of(value, name)))
        elif name == "experiment" and (file := file_of(name, value)):
            plugins += as_list(read_mapping(file).get("plugins"))
    add_folders([*places, *config_folders(plugins)])
    return rest


def is_setting(argument: str) -> bool:
    """Return whether an argument is a setting, and not a text such as "Is 1 + 1 = 2?"."""
    name, equals, _ = argument.partition("=")
    path = re.fullmatch(r"[+~]*[\w@/]+(\.[\w@:/.]+)?", name)
    return path is not None and bool(equals or argument.startswith("~"))


def runs_and_settings(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split arguments into names of runs and settings. An existing folder is always a run."""
    named = [word for word in words if not is_setting(word) or Path(word).is_dir()]
    return named, [word for word in words if word not in named]


def refuse_other_settings(
    command: str, words: Sequence[str], settings: Sequence[str], own: Sequence[str] = ()
) -> None:
    """Raise a UserError if an argument changes a setting outside the groups in `settings`."""
    problems = [
        f"{command} has no setting '{name}'. "
        + did_you_mean(name.partition(".")[0], [*settings, *own])
        for name in map(setting_name, filter(is_setting, words)) if not _within(name, settings)
    ]  # fmt: skip
    if problems:
        raise UserError("\n".join(problems))


def setting_name(word: str) -> str:
    """Return the path of the setting that a command-line argument changes, without `llm@`."""
    return word.lstrip("+~").partition("=")[0].removeprefix("llm@")


def _within(name: str, parts: Iterable[str]) -> bool:
    return any(name == one or name.startswith(f"{one}.") for one in parts)


def wrapped(lines: Iterable[str]) -> str:
    """Wrap lines at `WIDTH` characters with a hanging indent. Commands stay on one line."""
    wrapper = textwrap.TextWrapper(WIDTH, break_on_hyphens=False, break_long_words=False)
    output = []
    for line in "\n".join(lines).split("\n"):
        wrapper.subsequent_indent = " " * (len(line) - len(line.lstrip()) + 2)
        whole = len(line) <= WIDTH or "graphrag-bench " in line
        output += [line.rstrip()] if whole else wrapper.wrap(line)
    return "\n".join(output)
