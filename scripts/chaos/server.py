"""An OpenAI-protocol server of the standard library, with faults by seed and a bill of every call.

As a program it prints its port and serves on 127.0.0.1 until its standard input ends, and no longer
than LIFETIME. Each scenario has its own path, its own faults and its own bill.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import socket
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from chaos.faults import BROKEN, LATE, ODD, PACKED, REFUSED, SILENT, answer_with  # noqa: E402
from chaos.replies import digest, phase, reply, vectors  # noqa: E402

LIFETIME = 3600.0
MOST_REQUESTS = 20_000
"""Of one scenario; beyond it every request is refused."""


@dataclass
class Scenario:
    """Faults of a server and what it has answered.

    `share` of the requests, in 0-1, meet one of the `kinds`; the request decides, with the seed and
    how often it came, so that the faults do not depend on the order of threads. An outage begins
    at request `outage_at` of the kind `outage_phase`, and does not end.
    """

    seed: int = 0
    share: float = 0.0
    kinds: list[str] = field(default_factory=list)
    latency: float = 0.0
    outage: str = ""
    outage_phase: str = ""
    outage_at: int = 0
    n_requests: int = 0
    seen: Counter[str] = field(default_factory=Counter)
    phases: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    answered: list[tuple[str, str, float]] = field(default_factory=list)
    out: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def fault(self, body: dict[str, Any]) -> str:
        """The fault that this request meets; "" for none."""
        key, kind = digest(body), phase(body)
        with self.lock:
            self.n_requests += 1
            self.seen[key] += 1
            self.phases[kind] += 1
            at_last = kind == self.outage_phase and self.phases[kind] > self.outage_at
            self.out = self.out or (bool(self.outage) and at_last)
            if self.n_requests > MOST_REQUESTS:
                return "500"
            fault = self.outage if self.out else self._by_chance(key)
            self.faults[fault or "none"] += 1
            return fault

    def _by_chance(self, key: str) -> str:
        """Faults meet a request at most three times, so that every one is answered in the end."""
        chance = random.Random(f"{self.seed} {key} {self.seen[key]}")
        if not self.kinds or self.seen[key] > 3 or chance.random() >= self.share:
            return ""
        return chance.choice(self.kinds)

    def bill(self, body: dict[str, Any]) -> None:
        """Note that a usable reply was written whole."""
        with self.lock:
            self.answered.append((digest(body), phase(body), time.monotonic()))

    def told(self) -> dict[str, Any]:
        """The bill, and how often which fault was met."""
        with self.lock:
            return {
                "n_requests": self.n_requests,
                "phases": dict(self.phases),
                "faults": dict(self.faults),
                "answered": list(self.answered),
            }


SCENARIOS: list[Scenario] = []


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server_version, sys_version = "chaos", ""

    def log_message(self, *words: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:  # noqa: N802
        """The bill of a scenario, or the list of models."""
        number, _, rest = self.path.strip("/").partition("/")
        if rest == "log":
            self._send(200, SCENARIOS[int(number)].told())
        else:
            self._send(200, {"object": "list", "data": [{"id": "chaos", "object": "model"}]})

    def do_POST(self) -> None:  # noqa: N802
        """A new scenario, or one call of the protocol."""
        raw = self.rfile.read(int(self.headers.get("content-length", "0")))
        try:
            body = json.loads(raw)
        except ValueError:  # of a process that was killed while it wrote
            return self._hang_up()
        if self.path == "/scenario":
            SCENARIOS.append(Scenario(**body))
            self._send(200, {"number": len(SCENARIOS) - 1})
            return
        scenario = SCENARIOS[int(self.path.split("/")[1])]
        fault = scenario.fault(body)
        time.sleep(scenario.latency)
        if self._failed(fault):
            return
        whole = self._body(body)
        odd = fault in BROKEN or fault in ODD
        packed = {"content-encoding": "gzip"} if fault in PACKED else {}
        sent = self._send(200, answer_with(fault, whole) if odd else whole, packed)
        if sent and fault not in BROKEN:
            scenario.bill(body)

    def _failed(self, fault: str) -> bool:
        """Whether the fault took the place of an answer."""
        if fault in REFUSED:
            status, said, headers = REFUSED[fault]
            self._send(status, {"error": {"message": said}}, headers)
        elif fault in LATE:
            self._late(fault)
        elif fault in SILENT:
            time.sleep(SILENT[fault])
            self._hang_up()
        else:
            return False
        return True

    def _late(self, fault: str) -> None:
        """An answer that is cut in the middle, or that comes byte by byte and never ends."""
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 4000\r\n\r\n"
        try:
            self.wfile.write(head + b'{"id": "x", "choices": [')
            for _ in range(200 if fault == "drip" else 0):
                self.wfile.write(b" ")
                self.wfile.flush()
                time.sleep(0.05)
        except OSError:
            pass
        self._hang_up()

    def _hang_up(self) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def _body(self, body: dict[str, Any]) -> dict[str, Any]:
        """A whole answer to `/chat/completions` or `/embeddings`."""
        if "input" in body:
            rows = [
                {"object": "embedding", "index": at, "embedding": vector}
                for at, vector in enumerate(vectors(body["input"]))
            ]
            usage = {"prompt_tokens": len(rows), "total_tokens": len(rows)}
            return {"object": "list", "model": body["model"], "data": rows, "usage": usage}
        text = reply(body)
        n_prompt = sum(len(str(m["content"]).split()) for m in body["messages"])
        message = {"role": "assistant", "content": text}
        return {
            "id": "x",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {
                "prompt_tokens": n_prompt,
                "completion_tokens": len(text.split()),
                "total_tokens": n_prompt + len(text.split()),
            },
        }

    def _send(
        self, status: int, body: dict[str, Any] | bytes, headers: dict[str, str] | None = None
    ) -> bool:
        """Write an answer; False when nobody reads it any more."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        try:
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)
            self.wfile.flush()
        except OSError:
            self.close_connection = True
            return False
        return True


class Server(ThreadingHTTPServer):
    """A thread for each connection; those that a client drops are no news."""

    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing."""


def serve() -> None:
    """Serve on a free port, printed first, until standard input or the lifetime ends."""
    server = Server(("127.0.0.1", 0), Handler)
    sys.stdout.write(f"{server.server_address[1]}\n")
    sys.stdout.flush()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    reading = threading.Thread(target=sys.stdin.read, daemon=True)
    reading.start()
    reading.join(LIFETIME)
    os._exit(0)


if __name__ == "__main__":
    serve()
