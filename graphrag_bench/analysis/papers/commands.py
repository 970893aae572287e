"""Command lines that fill what a table lacks; runs that differ in the method are one sweep."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

Settings = Sequence[str]
_SWEPT = ("method.", "build.", "pooling.", "chunking.")
"""How the settings begin whose values are joined in one sweep; models and sets stay apart."""
_LISTED = ("[", "{", "'", '"')
_Line = tuple[tuple[str, ...], tuple[str, ...]]
"""The methods of a command, and its other settings."""


def run_lines(wanted: Sequence[Settings]) -> list[str]:
    """The commands that run these settings, as a shell reads them, in order and each run once.

    Settings that are the same but for `method=` become one `run -m` over the methods, and commands
    that are the same but for one setting of method, graph, pooling or chunks one over its values.
    """
    methods: dict[tuple[str, ...], dict[str, None]] = {}
    for settings in wanted:
        rest = tuple(text for text in settings if not text.startswith("method="))
        for text in settings:
            if text.startswith("method="):
                methods.setdefault(rest, {})[text.removeprefix("method=")] = None
    lines: list[_Line] = [(tuple(names), rest) for rest, names in methods.items()]
    for name in dict.fromkeys(_name(text) for _, rest in lines for text in rest):
        if name.startswith(_SWEPT):
            lines = _joined(lines, name)
    return [_shown(*line) for line in lines]


def _name(text: str) -> str:
    return text.partition("=")[0]


def _joined(lines: Sequence[_Line], name: str) -> list[_Line]:
    values: dict[tuple[tuple[str, ...], tuple[str, ...]], dict[str, None]] = {}
    for methods, rest in lines:
        open_place = tuple(f"{name}=" if _name(text) == name else text for text in rest)
        held = [text.partition("=")[2] for text in rest if _name(text) == name]
        values.setdefault((methods, open_place), {}).update(dict.fromkeys(held))
    return [
        (
            methods,
            tuple(f"{name}={','.join(held)}" if text == f"{name}=" else text for text in rest),
        )
        for (methods, rest), held in values.items()
    ]


def _shown(methods: tuple[str, ...], rest: tuple[str, ...]) -> str:
    several = len(methods) > 1 or any(_is_swept(text) for text in rest)
    data = [text for text in rest if text.startswith(("dataset=", "dataset."))]
    others = [text for text in rest if text not in data]
    words = [*(["-m"] if several else []), *data, f"method={','.join(methods)}", *others]
    return shlex.join(["graphrag-bench", "run", *words])


def _is_swept(text: str) -> bool:
    value = text.partition("=")[2]
    return "," in value and not value.startswith(_LISTED)
