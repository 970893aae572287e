"""The engine of `fake_engine_driver` for runs: `engine._target_=fake_engine.engine`."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from toy_runs import Capitals

from graphrag_bench.errors import UserError
from graphrag_bench.models.engine import Engine, Release
from graphrag_bench.models.engine_process import DriverProcess
from graphrag_bench.models.llm import Chat
from graphrag_bench.models.scripted import Scripted, last_user_message

DRIVER = Path(__file__).with_name("fake_engine_driver.py")
INSTALL = "graphrag-bench engines install fake"
asked: list[str] = []
"""Every prompt that reached the model, in order."""


def engine(
    seconds: float = 30.0,
    build_seconds: float = 60.0,
    settings: Mapping[str, Any] | None = None,
    installed: bool = True,
    differs: str = "",
) -> Engine:
    """The fake release."""

    def start(log: Path) -> DriverProcess:
        if not installed:
            raise UserError(f"The engine 'fake' is not installed: {INSTALL}")
        return DriverProcess([sys.executable, str(DRIVER)], log)

    release = Release("fake", "0.1", "lock-and-driver", start, differs)
    return Engine(release, seconds=seconds, build_seconds=build_seconds, settings=settings)


def reader(replies: Mapping[str, str] | Sequence[tuple[str, str]] = ()) -> Scripted:
    """A model that names what is capitalised, and answers `Ada Marsh`."""
    return Scripted(replies, named, concurrency=4)


def named(chat: Chat) -> str:
    text = last_user_message(chat)
    asked.append(text)
    if text.startswith(("Extract", "Keywords")):
        found = Capitals().entities(re.sub(r"^(Extract the names\.|Keywords of:)", "", text))
        return "; ".join(dict.fromkeys(found))
    return "Ada Marsh"
