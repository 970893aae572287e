"""The released engines that there are: version, driver, lock, and what stops one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

DRIVERS = Path(__file__).parent / "drivers"
FOLDER = "~/.cache/graphrag-bench/engines"
"""Where environments are, unless a setting says otherwise."""
LOCKS = Path(__file__).parent / "locks"
SHARED = DRIVERS / "driving.py"


@dataclass(frozen=True)
class Known:
    """An engine by the name of its package, at the version of its lock.

    `stops` says why it cannot be run here; "" where it can. `python` is the version of Python
    that it asks for, "3.12"; "" for that of this framework. `differs` says where its lock leaves
    what the release asks for: pip then looks at the requirements of all packages but the engine.
    """

    name: str
    version: str
    stops: str = ""
    python: str = ""
    differs: str = ""

    @property
    def driver(self) -> Path:
        """The program that runs the engine in its environment."""
        return DRIVERS / f"{self.name.replace('-', '_')}.py"


ENGINES: Mapping[str, Known] = {
    one.name: one
    for one in (
        Known("fast-graphrag", "0.0.5"),
        Known(
            "gfmrag",
            "2.0.0",
            "it has no driver: it downloads rmanluo/GFM-RAG-8M, all-mpnet-base-v2 and colbertv2.0 "
            "when it starts, and the first takes vectors of the second alone",
            python="3.12",
        ),
        Known("graphrag", "3.3.0"),
        Known(
            "hipporag",
            "2.0.0a4",
            differs="its lock has openai 1.92.0 for 1.91.1, which pip does not find, torch 2.13.0 "
            "for 2.5.1, and neither vllm nor gritlm, with which it would run models itself",
        ),
        Known("lightrag-hku", "1.5.7"),
        Known("nano-graphrag", "0.0.8.2"),
    )
}
"""The engines by name."""
