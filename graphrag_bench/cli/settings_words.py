"""The commands that take the settings of a run: their parsers, and what each of them reads."""

from __future__ import annotations

import argparse
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from graphrag_bench.cli.parsing import CONFIG_DIR, Parser, command_parser
from graphrag_bench.config.compose import value_of
from graphrag_bench.config.plugins import config_folders
from graphrag_bench.config.settings import explained
from graphrag_bench.config.sources import GROUPS, ROLES, file_of, names, read, search_in
from graphrag_bench.errors import UserError, did_you_mean

_MORE = (
    ("method.NAME=VALUE", "a parameter of the method: top_k, damping, ..."),
    (
        "method.retrieve.0.NAME=VALUE",
        "a setting of one step; `graphrag-bench plan` shows the steps",
    ),
    ("llm.NAME=VALUE", "a setting of the model, e.g. llm.model_path=weights.gguf"),
)


def settings_parser(
    command: str, about: str, usage: str, *, without: Collection[str] = ()
) -> Parser:
    """Return a parser of words that shows every group with its choices and every setting."""
    parser = command_parser(command, about, usage)
    groups = [
        (f"{group}=", ", ".join(names(group)) if group != "row" else "PAPER.TABLE.ROW")
        for group in GROUPS
        if not _within(group, without)
    ]
    roles = [(f"llm@{role}=", "another model for this: as llm=") for role in ROLES]
    parser.rows("groups (chosen by name)", [*groups, *roles, CONFIG_DIR])
    parser.rows("settings of a run (by path)", [*setting_rows(without=without), *_MORE])
    return parser


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
    options = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for names_of_option in (("--config-dir", "-cd"), ("--config-path", "-cp")):
        options.add_argument(*names_of_option, action="append", default=[], dest="folders")
    asked, rest = options.parse_known_args(words)
    values = {name_of(word): word.partition("=")[2] for word in rest}
    plugins = _listed(values, "plugins")
    if file := file_of("experiment", values.get("experiment", "")):
        plugins += read(file).get("plugins") or []
    folders = [*asked.folders, *_listed(values, "hydra.searchpath"), *config_folders(plugins)]
    search_in(folders)
    return [word for word in rest if not word.startswith("hydra.searchpath=")]


def _listed(values: Mapping[str, str], name: str) -> list[str]:
    value = value_of(values[name], name) if name in values else []
    return [str(one) for one in value] if isinstance(value, list) else []


def is_setting(argument: str) -> bool:
    """Return whether an argument is meant as a setting, and is not a text that holds a `=`."""
    name, equals, _ = argument.partition("=")
    path = re.fullmatch(r"[+~]*[\w@/]+(\.[\w@:/.]+)?", name)
    return path is not None and bool(equals or argument.startswith("~"))


def divided(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the words that are not settings, and the settings, each in order."""
    settings = [word for word in words if is_setting(word)]
    return [word for word in words if word not in settings], settings


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
    """Return the path that a setting sets; that of `llm@llm_judge=NAME` is `llm_judge`."""
    return word.lstrip("+~").partition("=")[0].removeprefix("llm@")


def _within(name: str, listed: Iterable[str]) -> bool:
    return any(name == one or name.startswith(f"{one}.") for one in listed)
