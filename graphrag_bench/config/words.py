"""Settings as words, `NAME=VALUE`: checked, and their values read by Hydra's grammar."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from graphrag_bench.addresses import refuse_secrets
from graphrag_bench.config.choices import FILE, GROUPS, names, path_of
from graphrag_bench.config.settings import NO_SETTINGS, RunSettings
from graphrag_bench.errors import UserError, did_you_mean, unknown


@dataclass(frozen=True)
class Word:
    """One setting of a command: its path, and the text of its value as it was written."""

    name: str
    text: str

    def __str__(self) -> str:
        return f"{self.name}={self.text}"

    @property
    def is_hydras(self) -> bool:
        """Whether it sets Hydra itself: its sweeper, its launcher, its folders."""
        return self.name.startswith(("hydra.", "hydra/"))

    @property
    def is_choice(self) -> bool:
        """Whether it chooses a file of a group."""
        return self.name in GROUPS

    @property
    def value(self) -> Any:
        """The value; raises UserError for what cannot be read, and for several values."""
        return value_of(self.text, self.name)

    @property
    def is_sweep(self) -> bool:
        """Whether it gives several values: a list without brackets, a range, an interval."""
        return bool(_parsed(self.text, self.name).is_sweep_override())

    def values(self) -> list[str]:
        """The texts of the values of a grid, in order; one for a plain value.

        Raises UserError for what cannot be read, and for an interval, which is not a grid.
        """
        if not self.is_sweep:
            return [self.text]
        read = _parsed(self.text, self.name)
        if read.is_interval_sweep():
            raise UserError(f"'{self}' is an interval: add hydra/sweeper=optuna, or list values.")
        if glob := _glob(self.text):
            return fnmatch.filter(names(self.name), glob)
        return [str(text) for text in read.sweep_string_iterator()]

    def ends(self) -> list[str]:
        """The texts of the choices of a sweep, or of both ends of its range or interval."""
        read = _parsed(self.text, self.name)
        if read.is_interval_sweep():
            swept: Any = read.value()
            return [str(swept.start), str(swept.end)]
        found = self.values()
        return [found[0], found[-1]] if read.is_range_sweep() else found


def is_setting(argument: str) -> bool:
    """Whether an argument is meant as a setting: `name=...` of a known first part.

    Anything else is text, e.g. a question that holds a `=`.
    """
    name, equals, _ = argument.partition("=")
    first = name.lstrip("+~").partition(".")[0]
    return bool(equals) and re.fullmatch(r"\w+", first) is not None and " " not in name


def read_word(argument: str) -> Word:
    """The setting that an argument gives, with a home folder (`~/`) written out and quoted.

    Raises UserError for what is not `NAME=VALUE`, and for an unknown setting, group or choice; a
    group may be given several choices, as a sweep writes them. Settings of Hydra are left to it.
    """
    name, equals, value = argument.partition("=")
    name = name.lstrip("+~")
    refuse_secrets(name, value)
    if not equals or not name:
        raise UserError(f"'{argument}' is not a setting; settings are NAME=VALUE.")
    word = Word(name, _at_home(value))
    if word.is_hydras:
        return Word(name, value)
    if word.is_choice:
        _check_choices(name, word.text)
        return word
    known = sorted({*RunSettings.model_fields} - NO_SETTINGS | {*GROUPS})
    if name.partition(".")[0] not in known:
        hint = did_you_mean(name.partition(".")[0], known)
        raise UserError(f"There is no setting '{name}'. {hint}")
    if name in ("method.name", f"method.{FILE}"):
        raise UserError(f"{name} is set by the method's file: method=NAME, or method=./FILE.yaml.")
    return word


def read_words(arguments: Iterable[str]) -> list[Word]:
    """The settings that arguments give; raises UserError at the first that is not one."""
    return [read_word(argument) for argument in arguments]


def given_names(words: Iterable[Word]) -> list[str]:
    """The paths that words set, in order; those of Hydra left out."""
    return [word.name for word in words if not word.is_hydras]


def of_method(given: Iterable[str]) -> list[str]:
    """Those of some given settings that are of the method, as `RunSettings.given` has them."""
    return [name for name in given if name.startswith("method.")]


def _at_home(value: str) -> str:
    if not value.startswith("~/"):
        return value
    path = str(Path(value).expanduser()).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{path}"'


def _glob(value: str) -> str:
    found = re.fullmatch(r"glob\(([^,\[\]]*)\)", value)
    return found[1] if found else ""


def _check_choices(group: str, value: str) -> None:
    if glob := _glob(value):
        if not fnmatch.filter(names(group), glob):
            raise unknown(group, glob, names(group))
        return
    if value.startswith("glob("):
        return
    listed = re.fullmatch(r"choice\((.*)\)|\[(.*)\]", value)
    for choice in ((listed[1] or listed[2] or "") if listed else value).split(","):
        path_of(group, choice.strip().strip("'\""))


def value_of(text: str, name: str = "value") -> Any:
    """The value of a text: true, false, null, a number, a list, a mapping, or the text itself.

    Raises UserError, which shows the setting `name` with it, for what cannot be read, and for the
    several values of a sweep.
    """
    read = _parsed(text, name)
    if read.is_sweep_override():
        raise several(f"{name}={text}")
    return read.value()


@lru_cache(maxsize=4096)
def _parsed(text: str, name: str) -> Any:
    """Hydra's `Override` of a setting."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    try:
        return OverridesParser.create().parse_override(f"++{name}={text}")
    except (HydraException, ValueError) as error:
        raise unreadable(f"{name}={text}", str(error).splitlines()[0]) from None


def unreadable(word: str, reason: str) -> UserError:
    """The error for a word that Hydra's grammar does not hold."""
    return UserError(
        f"'{word}' cannot be read ({reason}). Inside the shell's quotes, a value with "
        "brackets, commas, colons or quotes needs double quotes: 'NAME=\"VALUE\"'."
    )


def several(word: str) -> UserError:
    """The error for a word that only a sweep can take."""
    return UserError(f"'{word}' gives several values; a sweep over them needs -m.")
