"""Parts of a run page: JavaScript files that hand JSON to the page, each when it is asked for.

A page opened from disk may not fetch files, but it may add script elements.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphrag_bench.runs.folder import write_whole

FOLDER = "data"
_UNSAFE = ("<", "\u2028", "\u2029")


def part_text(name: str, value: Any) -> str:
    """The file of a part: `grb.part("NAME", JSON);`.

    `<` and the line ends U+2028 and U+2029 are escaped, so that no text ends the script. Raises
    ValueError for a number that JSON does not have (infinite, or none).
    """
    held = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in _UNSAFE:
        held = held.replace(sign, f"\\u{ord(sign):04x}")
    return f"grb.part({json.dumps(name)},{held});\n"


@dataclass
class Parts:
    """The parts of a page that is being written; `written` are the paths of their files."""

    page: Path
    written: set[Path] = field(default_factory=set)

    def write(self, name: str, value: Mapping[str, Any]) -> None:
        """Write a part as data/NAME.js; a name may have folders (`r0/q3`)."""
        path = self.page / FOLDER / f"{name}.js"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = part_text(name, value)
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            write_whole(path, text)
        self.written.add(path)

    def remove_others(self) -> None:
        """Remove the parts of an earlier page that this one does not have."""
        for path in sorted((self.page / FOLDER).rglob("*.js")):
            if path not in self.written:
                path.unlink()
