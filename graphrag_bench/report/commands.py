"""Command lines that fill what a table lacks; runs that differ in the method are one sweep."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

Settings = Sequence[str]


def run_lines(wanted: Sequence[Settings]) -> list[str]:
    """The commands that run these settings, as a shell reads them, in order and each run once.

    Settings that are the same but for `method=` become one `run -m` over the methods.
    """
    methods: dict[tuple[str, ...], dict[str, None]] = {}
    for settings in wanted:
        rest = tuple(text for text in settings if not text.startswith("method="))
        for text in settings:
            if text.startswith("method="):
                methods.setdefault(rest, {})[text.removeprefix("method=")] = None
    lines = []
    for rest, names in methods.items():
        sweep = ["-m"] if len(names) > 1 else []
        data = [text for text in rest if text.startswith("dataset=")]
        others = [text for text in rest if text not in data]
        chosen = f"method={','.join(names)}"
        lines.append(shlex.join(["graphrag-bench", "run", *sweep, *data, chosen, *others]))
    return lines
