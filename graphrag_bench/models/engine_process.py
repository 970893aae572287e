"""The driver of an engine in a process of its own: JSON lines on pipes, the rest in a log."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from graphrag_bench.models.engine_faults import EngineDied, EngineFailed, EngineHung

_SECRETS = ("KEY", "TOKEN", "SECRET", "PASSWORD")
_LONGEST = 256 * 1024 * 1024
_SECONDS_TO_END = 5.0


class DriverProcess:
    """A driver that was started with a command; one call at a time.

    It has the variables of this process but those whose name holds a word for a secret, so that it
    can reach no model but the run's. It leads a group of its own: what it starts ends with it.
    """

    def __init__(
        self, command: Sequence[str], log: Path, variables: Mapping[str, str] | None = None
    ) -> None:
        """Start it; `log` is appended to."""
        environment = {
            name: value
            for name, value in os.environ.items()
            if not any(word in name.upper() for word in _SECRETS) and name != "PYTHONPATH"
        }
        environment |= {"PYTHONHASHSEED": "0", "PYTHONUNBUFFERED": "1", **(variables or {})}
        with log.open("ab") as file:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                env=environment,
                start_new_session=True,
            )
        self._lines: SimpleQueue[bytes] = SimpleQueue()
        self._n_calls = 0
        threading.Thread(target=self._read, daemon=True).start()

    def call(self, name: str, arguments: Mapping[str, object], seconds: float) -> Mapping[str, Any]:
        """The result of a call.

        Raises EngineFailed for an error that the driver told of, EngineHung when there is no reply
        in time and EngineDied when there is none to come, or one that cannot be read; the process
        is ended then.
        """
        self._n_calls += 1
        asked = {"id": self._n_calls, "call": name, "arguments": arguments}
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(asked).encode() + b"\n")
            self._process.stdin.flush()
            line = self._lines.get(timeout=seconds)
        except (OSError, ValueError):
            raise self._ended() from None
        except Empty:
            self.close()
            raise EngineHung(f"there was no reply to '{name}' within {seconds:g} s.") from None
        if not line:
            raise self._ended()
        return self._result(line)

    def close(self) -> None:
        """End the process and all that it has started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_SECONDS_TO_END)
        with suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()

    def _read(self) -> None:
        with suppress(OSError, ValueError):
            assert self._process.stdout is not None
            while line := self._process.stdout.readline(_LONGEST):
                self._lines.put(line)
        self._lines.put(b"")

    def _ended(self) -> EngineDied:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_SECONDS_TO_END)
        code = self._process.poll()
        self.close()
        how = "" if code is None else f" (exit code {code})" if code >= 0 else f" (signal {-code})"
        return EngineDied(f"its process ended{how}.")

    def _result(self, line: bytes) -> Mapping[str, Any]:
        try:
            reply = json.loads(line)
        except (ValueError, RecursionError):
            reply = None
        if isinstance(reply, dict) and reply.get("id") == self._n_calls:
            result, error = reply.get("result"), reply.get("error")
            if isinstance(result, dict):
                return result
            if isinstance(error, dict):
                raise EngineFailed(f"{error.get('type')}: {error.get('message')}")
        self.close()
        said = line[:100].decode("utf-8", "replace").strip()
        raise EngineDied(f"it wrote what is no reply: {said!r}.")
