"""The commands that take the settings of a run: their parsers, and what each of them reads."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from graphrag_bench.cli.parsing import CONFIG_DIR, Parser, command_parser
from graphrag_bench.config.choices import GROUPS, names
from graphrag_bench.config.settings import explained
from graphrag_bench.config.words import is_setting
from graphrag_bench.errors import UserError, did_you_mean

_MORE = (
    ("method.NAME=VALUE", "a parameter of the method: top_k, damping, ..."),
    (
        "method.retrieve.0.NAME=VALUE",
        "a setting of one step; `graphrag-bench plan` shows the steps",
    ),
    ("llm.NAME=VALUE", "a setting of the model, e.g. llm.model_path=weights.gguf"),
)
_FILES = (
    "GROUP=./FILE.yaml",
    "your own file instead of a name; names are also searched in ./configs/GROUP and in "
    "the configs of plugins=[PACKAGE], too",
)


def settings_parser(
    command: str, about: str, usage: str, *, without: Collection[str] = ()
) -> Parser:
    """A parser of words that shows every group with its choices and every setting of a run."""
    made = command_parser(command, about, usage)
    groups = [
        (f"{group}=", ", ".join(names(group))) for group in GROUPS if not _within(group, without)
    ]
    made.rows("groups (chosen by name)", [*groups, _FILES, CONFIG_DIR])
    made.rows("settings of a run (by path)", [*setting_rows(without=without), *_MORE])
    return made


def setting_rows(of: str = "", without: Collection[str] = ()) -> Iterable[tuple[str, str]]:
    """`NAME=DEFAULT` and the meaning of the settings of a run, or of those below a name."""
    for name, default, meaning in explained():
        if name not in GROUPS and name.startswith(of) and not _within(name, without):
            yield f"{name}={default}", meaning


def divided(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words that are not settings, and the settings, each in order."""
    settings = [word for word in words if is_setting(word)]
    return [word for word in words if not is_setting(word)], settings


def refuse_unread(command: str, settings: Sequence[str], unread: Mapping[str, str]) -> None:
    """Raise one UserError that names every setting among `unread`, with the reason it has there."""
    problems = {
        name: reason
        for name in map(name_of, settings)
        for one, reason in unread.items()
        if _within(name, (one,))
    }
    if problems:
        lines = "\n".join(f"  {name}: {reason}" for name, reason in problems.items())
        raise UserError(f"{len(problems)} setting(s) would change nothing in {command}:\n{lines}")


def refuse_but(
    command: str, words: Sequence[str], taken: Sequence[str], own: Sequence[str] = ()
) -> None:
    """Raise one UserError that names every setting of a run that a command does not take.

    `taken` are first parts of the settings that it takes, `own` the settings that only it has.
    """
    problems = []
    for name in map(name_of, filter(is_setting, words)):
        if not _within(name, taken):
            hint = did_you_mean(name.partition(".")[0], [*taken, *own])
            problems.append(f"'{name}' is not a setting of {command}. {hint}")
    if problems:
        raise UserError("\n".join(problems))


def name_of(word: str) -> str:
    """The path that a setting sets."""
    return word.lstrip("+~").partition("=")[0]


def _within(name: str, listed: Iterable[str]) -> bool:
    return any(name == one or name.startswith(f"{one}.") for one in listed)
