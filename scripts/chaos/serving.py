"""The server of `chaos.server` as a process, and one scenario of it."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Bill:
    """What a scenario has answered: (digest, kind, time) of every usable reply, in order."""

    n_requests: int
    phases: dict[str, int]
    faults: dict[str, int]
    answered: Sequence[tuple[str, str, float]]

    @property
    def calls(self) -> Counter[str]:
        """How often each request was answered."""
        return Counter(key for key, _, _ in self.answered)


@dataclass(frozen=True)
class Scenario:
    """One path of the server with its own faults and bill."""

    host: str
    number: int

    @property
    def url(self) -> str:
        """The address of the model."""
        return f"{self.host}/{self.number}/v1"

    def bill(self) -> Bill:
        """What it has answered so far."""
        with urllib.request.urlopen(f"{self.host}/{self.number}/log", timeout=30) as answer:
            return Bill(**json.load(answer))


@dataclass(frozen=True)
class Server:
    """The address of a running server."""

    host: str

    def scenario(self, **faults: Any) -> Scenario:
        """A new scenario; its fields are those of `chaos.server.Scenario`."""
        asked = urllib.request.Request(f"{self.host}/scenario", json.dumps(faults).encode())
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return Scenario(self.host, json.load(answer)["number"])


@contextmanager
def serving() -> Iterator[Server]:
    """A server in a process of its own, ended with the block."""
    command = [sys.executable, str(Path(__file__).with_name("server.py"))]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdin is not None
    try:
        yield Server(f"http://127.0.0.1:{int(process.stdout.readline())}")
    finally:
        process.stdin.close()
        process.wait(10)
