"""Prepare the arguments of a command for Hydra: expand `~` and quote values.

Outside of quotes, Hydra's grammar accepts only ASCII letters, and no `~`, `;`, `=` or `#`.
"""

import re
from contextlib import suppress
from pathlib import Path

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException

from graphrag_bench.config.sources import GROUPS, ROLES
from graphrag_bench.errors import UserError

_HOME = re.compile(r"(?<![^=,\[:\s\"'])~(?=[/\\,\"'\]]|$)")
"""A `~` at the start of a path: after `=`, a comma, a bracket or a quote."""
_PIECE = re.compile(r"""("(?:\\.|[^"])*"|'(?:\\.|[^'])*'|[^\[\]{}(),:"'\s][^\[\]{}(),:"']*)""")
"""A value in a list, a mapping or a function, with or without quotes."""
_NESTED = re.compile(
    r"[\[{]|(choice|range|interval|glob|shuffle|sort|tag|extend_list|int|float|str|bool|json_str)\("
)
_NO_NAME = re.compile(r"null|true|false|nan|inf|[+-]?(\d[\d_]*\.?\d*|\.\d+)(e[+-]?\d+)?", re.I)
"""Words that Hydra's grammar does not parse as text."""
_OPTIONAL = {"row", "experiment", *(f"llm@{role}" for role in ROLES)}
"""Optional groups, whose default in `configs/run.yaml` is null."""
_IN_QUOTES = re.compile(r"""("(?:\\.|[^"])*"|'(?:\\.|[^'])*')$""", re.DOTALL)


def expand_home_in(word: str) -> str:
    """Replace a leading `~` of each path in a command-line argument by the home folder."""
    name, equals, value = word.partition("=")
    return f"{name}{equals}{_HOME.sub(lambda _: str(Path.home()), value)}" if equals else word


def quote(word: str) -> str:
    """Quote each value of an override if Hydra's grammar cannot parse the override."""
    name, equals, value = word.partition("=")
    if not equals or name.startswith("-"):
        return word
    if (group := name.lstrip("+")).partition("@")[0] in GROUPS or group.startswith("hydra/"):
        if value.lower() == "null" and group in _OPTIONAL:
            return f"~{group}"
        if value.startswith("[") and group in GROUPS and group != "experiment":
            listed = value.strip("[] ").replace(" ", "")
            raise UserError(
                f"{name}={value}: choose one value, or run a sweep: -m {name}={listed}."
            )
        if not _NESTED.match(value):
            names = value.split(",")
            value = ",".join(f'"{n}"' if _NO_NAME.fullmatch(n.strip()) else n for n in names)
        word = f"{name}={value}"
    if _is_read(word):
        return word
    if _NESTED.match(value):
        tried = [f"{name}={_PIECE.sub(lambda one: _piece(name, one[0]), value)}"]
    else:
        several = ",".join(_piece(name, one) for one in value.split(","))
        tried = [f"{name}={several}"] * (not re.search(r"[()\[\]{}]", value))
        tried.append(f"{name}={_in_quotes(value)}")
    return next(filter(_is_read, tried), word)


def _piece(name: str, text: str) -> str:
    stays = _is_read(f"{name}={text}") or _IN_QUOTES.match(text.strip())
    return text if stays else _in_quotes(text)


def _in_quotes(text: str) -> str:
    # the grammar parses two backslashes as one only before a quote
    escaped = re.sub(r'(\\*)(?="|$)', lambda one: one[1] * 2, text).replace('"', '\\"')
    return f'"{escaped}"'


def _is_read(word: str) -> bool:
    with suppress(HydraException):
        return bool(OverridesParser.create().parse_override(word))
    return False
