"""Work and models that kill the process of a worker once, as a full memory would."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

from toy_runs import Capitals

from graphrag_bench.errors import UserError
from graphrag_bench.models.embedder import Hashing, Kind, Vectors
from graphrag_bench.models.fan_out import Request
from graphrag_bench.models.local import Local
from graphrag_bench.models.nlp import Sentence
from graphrag_bench.models.outcomes import CallFailed, Completion
from graphrag_bench.models.world_reader import WorldReader

PARENT, MARK = "TEST_PARENT_PROCESS", "TEST_DYING_MARK"
"""Environment variables: the process that is spared, and a folder of the deaths that were died."""


def die_once(name: str) -> None:
    """Kill this process, unless it is the parent's or this death was died before."""
    if os.environ.get(PARENT, str(os.getpid())) == str(os.getpid()):
        return
    try:
        (Path(os.environ[MARK]) / name).touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def squared_but_dying_at_seven(number: int) -> int:
    if number == 7:
        die_once("seven")
    return number * number


def always_dying(number: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return number


def refusing_seven(number: int) -> int:
    if number == 7:
        raise UserError("seven is refused")
    return number


class DyingTagger(Capitals):
    """A tagger whose process is killed while it reads many texts, and at one question."""

    def sentences(self, texts: Sequence[str]) -> Iterator[list[Sentence]]:
        yield from super().sentences(texts[:5])
        die_once("sentences")
        yield from super().sentences(texts[5:])

    def entities(self, text: str) -> list[str]:
        die_once("entities")
        return super().entities(text)


class DyingEmbedder(Hashing):
    """An embedder whose process is killed while it embeds passages."""

    def encode(self, texts: Sequence[str], *, kind: Kind) -> Vectors:
        if kind == "passage":
            die_once("passages")
        return super().encode(texts, kind=kind)


class WorldModel(Local):
    """The reader of the synthetic world in the place of a local model's server.

    It refuses what holds `refused:`, and loses every try of what holds `lost:`.
    """

    identity = "world model"

    def call(self, request: Request) -> Completion:
        text = request.prompt[-1].content
        if "refused:" in text:
            raise CallFailed("refused", "refused here", 2, 1.5, Completion("no", 3, 1))
        if "lost:" in text and request.lost is not None:
            request.lost()
        if "where:" in text:
            return Completion(f"{os.getpid()} {self.threads}", 1, 1)
        return WorldReader().call(request)


class DyingModel(WorldModel):
    """A world model whose process is killed at one extraction and at one answer."""

    def call(self, request: Request) -> Completion:
        if "deadly:" in request.prompt[-1].content:
            os.kill(os.getpid(), signal.SIGKILL)
        die_once("answer" if request.schema is None else "extraction")
        return super().call(request)
