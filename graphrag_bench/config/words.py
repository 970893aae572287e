"""Settings as words, `NAME=VALUE`: checked, and their values read as Hydra's grammar has them."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from graphrag_bench.addresses import refuse_secrets
from graphrag_bench.config.choices import FILE, GROUPS, names, path_of
from graphrag_bench.config.settings import NO_SETTINGS, RunSettings
from graphrag_bench.errors import UserError, nearest, unknown


def read_word(word: str) -> tuple[str, str]:
    """The name and the text of the value, with a home folder (`~/`) written out and quoted.

    Raises UserError for what is no `NAME=VALUE`, and for an unknown setting, group or choice; a
    group may be given several choices, as a sweep writes them.
    """
    name, equals, value = word.partition("=")
    name = name.lstrip("+~")
    refuse_secrets(name, value)
    if not equals or not name:
        raise UserError(f"'{word}' is no setting; settings are NAME=VALUE.")
    if name in GROUPS:
        value = _at_home(value)
        _check_choices(name, value)
        return name, value
    known = sorted({*RunSettings.model_fields} - NO_SETTINGS | {*GROUPS})
    if name.partition(".")[0] not in known:
        close = nearest(name.partition(".")[0], known) or known
        raise UserError(f"There is no setting '{name}'. Nearest: {', '.join(close)}.")
    if name in ("method.name", f"method.{FILE}"):
        raise UserError(f"{name} is of the method's file: method=NAME, or method=./FILE.yaml.")
    return name, _at_home(value)


def of_method(given: Iterable[str]) -> list[str]:
    """Those of some given settings that are of the method, as `RunSettings.given` has them."""
    return [name for name in given if name.startswith("method.")]


def _at_home(value: str) -> str:
    """A path that begins with `~`, which shells leave alone behind a `=`, as Hydra reads paths."""
    if not value.startswith("~/"):
        return value
    path = str(Path(value).expanduser()).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{path}"'


def _check_choices(group: str, value: str) -> None:
    """Refuse what the group lacks, in `a,b`, `[a,b]`, `choice(a,b)` and `glob(a*)` too."""
    if glob := re.fullmatch(r"glob\(([^,\[\]]*)\)", value):
        if not fnmatch.filter(names(group), glob[1]):
            raise unknown(group, glob[1], names(group))
        return
    if value.startswith("glob("):
        return
    listed = re.fullmatch(r"choice\((.*)\)|\[(.*)\]", value)
    for choice in ((listed[1] or listed[2] or "") if listed else value).split(","):
        path_of(group, choice.strip().strip("'\""))


@lru_cache(maxsize=4096)
def value_of(text: str, name: str = "value") -> Any:
    """The value of a text: true, false, null, a number, a list, a mapping, or the text itself.

    Raises UserError, which shows the setting `name` with it, for what cannot be read, and for the
    several values of a sweep.
    """
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    try:
        read = OverridesParser.create().parse_override(f"++{name}={text}")
    except (HydraException, ValueError) as error:
        raise unreadable(f"{name}={text}", str(error).splitlines()[0]) from None
    if read.is_sweep_override():
        raise several(f"{name}={text}")
    return read.value()


def unreadable(word: str, reason: str) -> UserError:
    """The error for a word that Hydra's grammar does not hold."""
    return UserError(
        f"'{word}' cannot be read ({reason}). Inside the shell's quotes, a value with "
        "brackets, commas, colons or quotes stands in double quotes: 'NAME=\"VALUE\"'."
    )


def several(word: str) -> UserError:
    """The error for a word that only a sweep can take."""
    return UserError(f"'{word}' gives several values; a sweep over them needs -m.")
