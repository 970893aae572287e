"""Models on a GPU, served by a child process `vllm serve`. Settings: see configs/llm/vllm.yaml."""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any

from pydantic import PositiveInt

from graphrag_bench.errors import UserError
from graphrag_bench.fingerprint import digest, stored_digest
from graphrag_bench.llm import child
from graphrag_bench.llm.calls import CallFailed, Completion, Request, ServerFailed
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.openai_compatible import OpenAICompatible
from graphrag_bench.llm.settings import Decoding, parse_settings
from graphrag_bench.progress import Progress
from graphrag_bench.terminal import pause
from graphrag_bench.text import short

_PORTS, _POLL, _FAILURE_HOLDS, _FIRST_LINE, _BETWEEN_LINES = 3, 0.25, 5.0, 3.0, 30.0
_RESOURCES = ("--gpu-memory-utilization", "--tensor-parallel-size", "--max-num-seqs")
"""Flags of vLLM that are not part of the identity, because they only change the rounding."""
_PREFIX = re.compile(r"^(\([^()]*pid=\d+\)\s*)?([A-Z]+ [^\]]*\]\s*)?")
_PORT_TAKEN = "address already in use"
_CAUSES = {
    "Failed to infer device type|No CUDA GPUs are available|Found no NVIDIA driver":
        "No GPU is found. Check that `nvidia-smi` lists one, or set llm=openai_compatible.",
    "CUDA out of memory|less than desired GPU memory":
        "End other programs on the GPU (nvidia-smi), lower llm.args=[--gpu-memory-utilization=0.9],"
        " or use a smaller or quantised model.",
    "No available memory for the cache|larger than the maximum number of tokens|KV cache is needed":
        "Lower llm.window, or raise llm.args=[--gpu-memory-utilization=0.9].",
    "Repository Not Found|not a valid model identifier|Invalid repository ID|Repo id must":
        "Check llm.model. It is neither a folder nor a hub model that this HF_TOKEN can access.",
    "gated repo": "Accept the licence at https://huggingface.co/{}, and export HF_TOKEN=...",
    "than the derived max_model_len": "Lower llm.window to the model's window.",
    _PORT_TAKEN: "", "Error.*:": "", "": "",
}  # fmt: skip
"""Log lines that explain why the server did not start, with advice for the user."""


@dataclass(eq=False)
class Vllm(ChatModel):
    """Model on a GPU. The first call starts `vllm serve`, which ends with this process."""

    model: str
    revision: str | None = None
    dtype: str = "auto"
    window: PositiveInt = 8192
    args: Sequence[str] = ()
    version: str | None = None
    parallel: PositiveInt = 256
    _: KW_ONLY
    timeout: float = 900.0
    decoding: Decoding | Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        self.folder: Path | None = None
        self.concurrency = self.parallel
        self._decoding = parse_settings(Decoding, self.decoding)
        if any("api-key" in one or not one.startswith("--") for one in self.args):
            raise UserError("llm.args must be a list [--FLAG=VALUE,--FLAG] without --api-key.")
        self._lock = threading.Lock()
        self._client: OpenAICompatible | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._log, self._failure, self._failed_at = Path(), "", -_FAILURE_HOLDS

    @cached_property
    def identity(self) -> str:
        """Name of the model, digest of its settings and files, and version of vLLM."""
        folder, name, content = Path(self.model).expanduser(), self.model, ""
        if folder.is_dir():
            files = [one for one in sorted(folder.iterdir()) if one.is_file()]
            name, content = folder.resolve().name, digest([stored_digest(one) for one in files])
        args = [one for one in self.args if not one.startswith(_RESOURCES)]
        facts = digest(content, self.revision, self.dtype, args, self._decoding.model_dump())
        return f"{name}:{facts}:vllm-{self.version or self._installed}"

    @cached_property
    def _installed(self) -> str:
        if (program := shutil.which("vllm")) is None:
            raise UserError(
                "llm=vllm needs the program vllm: pip install vllm, on a machine with a GPU. For "
                "plans and stored replies, it is enough to set llm.version=VERSION."
            )
        root = Path(program).resolve().parent.parent  # vLLM may have its own environment
        folders = [str(path) for path in root.glob("lib/python*/site-packages")]
        for found in metadata.distributions(name="vllm", path=folders):
            return found.version
        shown = subprocess.run([program, "--version"], capture_output=True, text=True)
        return (shown.stdout.split() or ["unknown"])[-1]

    def call(self, request: Request) -> Completion:
        """Return the reply to a request. Raises ServerFailed if the server has ended."""
        with self._lock:
            client = self._client = self._client or self._start()
        try:
            return client.call(request)
        except (CallFailed, ServerFailed):
            if _get(f"{client.server.address}/models") or not _ended(self._process):
                raise
            self._failure, self._failed_at = self._cause(), time.monotonic()
            self.close()
            raise ServerFailed(self._failure) from None

    def close(self) -> None:
        """Stop the server. The next call starts it again."""
        with self._lock:
            self._client = None
            _end(self._process)

    def _start(self) -> OpenAICompatible:
        if time.monotonic() < self._failed_at + _FAILURE_HOLDS:  # a call in another thread failed
            raise UserError(self._failure)
        if self.version not in (None, self._installed):
            raise UserError(f"llm.version={self.version}, but {self._installed} is installed.")
        self._log = (self.folder or Path(tempfile.mkdtemp())) / "vllm.log"
        for _ in range(_PORTS):  # another program may take the port first
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                address = f"http://127.0.0.1:{free.getsockname()[1]}"
            if self._serves(address):
                return OpenAICompatible(
                    self.model, f"{address}/v1", None, window=self.window, timeout=self.timeout,
                    decoding=self._decoding, limits={"concurrency": self.parallel},
                )  # fmt: skip
            self._failure = self._cause()
            if _PORT_TAKEN not in self._failure.lower():
                break
        self._failed_at = time.monotonic()
        raise UserError(self._failure)

    def _serves(self, address: str) -> bool:
        """Start the server. Return whether it responds. Other programs on its port do not count."""
        _end(self._process)
        port = address.rpartition(":")[2]
        proof = f"child-of-{os.getpid()}-at-{port}"
        words = [
            sys.executable, child.__file__, "vllm", "serve", os.path.expanduser(self.model),
            *self.args, "--enable-prefix-caching", "--host=127.0.0.1", f"--port={port}",
            f"--dtype={self.dtype}", f"--max-model-len={self.window}",
            *([f"--revision={self.revision}"] if self.revision else []),
            "--served-model-name", self.model, proof,
        ]  # fmt: skip
        keyless = {name: of for name, of in os.environ.items() if not name.endswith("_KEY")}
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=log, stderr=log, env=keyless,
                start_new_session=True,
            )  # fmt: skip
        weakref.finalize(self, _end, self._process)
        began, line_at = time.monotonic(), _FIRST_LINE
        while self._process.poll() is None:
            if _get(f"{address}/health") and proof in _get(f"{address}/v1/models"):
                return True
            if (seconds := time.monotonic() - began) >= line_at:
                line_at = seconds + _BETWEEN_LINES
                last = short(self._lines()[0], 80)
                Progress().say(f"vLLM loads {self.model}: {seconds:.0f} s; {last}")
            pause(_POLL)
        return False

    def _lines(self) -> list[str]:
        lines = self._log.read_text("utf-8", "replace").splitlines()
        return [_PREFIX.sub("", line).strip() for line in reversed(lines)] or ["no output"]

    def _cause(self) -> str:
        lines = self._lines()
        line, advice = next((line, advice) for pattern, advice in _CAUSES.items()
                            for line in lines if re.search(pattern, line, re.I))  # fmt: skip
        what = f"vLLM cannot serve {self.model}: {short(line, 200)}"
        return f"{what} {advice.format(self.model)} Log: {self._log}"


def _get(address: str) -> str:
    """Return the status and body of a response, or "" for an error status or no response."""
    from urllib3 import exceptions, request

    with suppress(exceptions.HTTPError):
        reply = request("GET", address, timeout=10.0, retries=False)
        return f"{reply.status} {reply.data!r}" if reply.status < 400 else ""
    return ""


def _ended(process: "subprocess.Popen[bytes] | None") -> bool:
    if process is not None:
        with suppress(subprocess.TimeoutExpired):
            process.wait(2 * child.SECONDS_TO_END)
    return process is None or process.poll() is not None


def _end(process: "subprocess.Popen[bytes] | None") -> None:
    """End a child process by closing its input, and wait until it has ended."""
    if process is not None and process.stdin is not None:
        process.stdin.close()
        _ended(process)
