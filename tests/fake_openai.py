"""A server that speaks the OpenAI protocol over real HTTP, with faults, limits and bookkeeping.

One process (`fake_openai_server.py`) serves many scenarios, each under its own path: `scenario`
returns the `base_url` of a new one, `stats` what it saw so far.
"""

import json
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SERVER = Path(__file__).with_name("fake_openai_server.py")


@dataclass
class Scenario:
    """How the server behaves. Shares are in 0-1; times in seconds.

    `minute` is the length of the sliding window in which requests and tokens are counted. With
    `reads` replies are read out of the prompts, and calls are counted by the whole prompt.
    Prompts that hold `fail_word` get HTTP 500, and so does every one after `out_after` requests.
    """

    latency: float = 0.0
    share_429: float = 0.0
    share_500: float = 0.0
    share_reset: float = 0.0
    share_timeout: float = 0.0
    share_broken: float = 0.0
    share_cut: float = 0.0
    retry_after: float | None = 0.05
    timeout: float = 2.0
    seed: int = 0
    minute: float = 60.0
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    key: str | None = None
    models: tuple[str, ...] = ("fake",)
    listed: list[dict[str, Any]] = field(default_factory=list)
    refuse: tuple[str, ...] = ()
    window: int | None = None
    silent_window: int | None = None
    filter_word: str | None = None
    fail_word: str | None = None
    out_after: int | None = None
    text: str | None = None
    texts: dict[str, str] = field(default_factory=dict)
    reasoning: str | None = None
    message: dict[str, Any] = field(default_factory=dict)
    finish: str = "stop"
    raw_status: int | None = None
    raw_body: str | None = None
    fail_first: int = 0
    fingerprints: tuple[str, ...] = ("fp",)
    dimension: int = 8
    reads: bool = False


@dataclass
class Stats:
    """What the server saw: every request, and the answers that went out whole."""

    requests: int = 0
    answered: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    tokens: int = 0
    most_requests: int = 0
    most_tokens: int = 0
    most_at_once: int = 0
    bodies: list[dict[str, Any]] = field(default_factory=list)


class FakeOpenAI:
    """The running server, as tests and benchmarks see it."""

    def __init__(self, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}"

    def scenario(self, **settings: Any) -> str:
        """The `base_url` of a new scenario."""
        return f"{self.address}{self._fetch('/scenarios', settings)['path']}/v1"

    def stats(self, base_url: str) -> Stats:
        """What a scenario saw so far."""
        counts = self._fetch(base_url.removeprefix(self.address).removesuffix("/v1") + "/stats")
        counters = {name: Counter(counts[name]) for name in ("answered", "faults")}
        return Stats(**counts | counters)

    def _fetch(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        written = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, written)
        with urllib.request.urlopen(request, timeout=10) as response:
            answer: dict[str, Any] = json.load(response)
            return answer


@contextmanager
def running() -> Iterator[FakeOpenAI]:
    """A server in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, str(SERVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield FakeOpenAI(int(process.stdout.readline()))
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(10)
