"""The engine of `fake_engine_driver` for runs: `engine._target_=fake_engine.engine`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from toy_runs import Capitals

from graphrag_bench.errors import UserError
from graphrag_bench.models.engine import Engine, EngineDied, EngineFailed, EngineHung, Release
from graphrag_bench.models.llm import Chat
from graphrag_bench.models.scripted import Scripted, last_user_message

DRIVER = Path(__file__).with_name("fake_engine_driver.py")
INSTALL = "graphrag-bench engines install fake"
asked: list[str] = []
"""Every prompt that reached the model, in order."""


class PlainProcess:
    """The driver as a process."""

    def __init__(self, log: Path) -> None:
        self._log = log.open("ab")
        self._process = subprocess.Popen(
            [sys.executable, str(DRIVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self._log, text=True,
        )  # fmt: skip
        self._lines: SimpleQueue[str] = SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put("")

    def call(self, name: str, arguments: Mapping[str, object], seconds: float) -> Mapping[str, Any]:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(
                json.dumps({"id": 1, "call": name, "arguments": arguments}) + "\n"
            )
            self._process.stdin.flush()
            line = self._lines.get(timeout=seconds)
        except OSError:
            raise EngineDied("its process has ended.") from None
        except Empty:
            self._process.kill()
            raise EngineHung(f"no reply to '{name}' within {seconds:g} s.") from None
        try:
            reply = json.loads(line)
        except ValueError:
            self._process.kill()
            raise EngineDied(
                "its process has ended." if not line else "what it wrote is no reply."
            ) from None
        if "error" in reply:
            raise EngineFailed(f"{reply['error']['type']}: {reply['error']['message']}")
        found: Mapping[str, Any] = reply["result"]
        return found

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        self._log.close()


def engine(
    seconds: float = 30.0,
    build_seconds: float = 60.0,
    settings: Mapping[str, Any] | None = None,
    installed: bool = True,
) -> Engine:
    """The fake release."""

    def start(log: Path) -> PlainProcess:
        if not installed:
            raise UserError(f"The engine 'fake' is not installed: {INSTALL}")
        return PlainProcess(log)

    release = Release("fake", "0.1", "lock-and-driver", start)
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
