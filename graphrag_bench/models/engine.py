"""A released engine at work: it builds an index of its own and is asked one question at a time.

The engine runs in an environment and a process of its own and has no model but the run's, which it
asks through the proxy. A call of it that takes too long, a process that dies and a reply that
cannot be read are failures of the question, with the log kept; the next question gets a new
process.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import PositiveFloat, PositiveInt

from graphrag_bench.fingerprint import digest
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.models.engine_faults import EngineDied, EngineFailed, EngineHung
from graphrag_bench.models.engine_index import EngineIndex, Told
from graphrag_bench.models.engine_replies import EngineReply, WrongReply, read_reply
from graphrag_bench.models.llm import LLM, Metered
from graphrag_bench.models.outcomes import BudgetSpent, Completion, RunStopped, ServerFailed, seen
from graphrag_bench.models.proxy import EMBEDDER, Proxy, Served

Mode = Literal["equal", "as_released"]
DEATHS_IN_A_ROW = 3
"""So many processes that died or hung one after the other stop the run."""
BUILDER, READER = "build", "reader"
"""The names under which an engine asks the model that builds, and the one that answers."""
_REMEMBERED = 256
_UNBOUND_WINDOW = 8192


class Process(Protocol):
    """An engine's process: calls by name, one at a time."""

    def call(self, name: str, arguments: Mapping[str, object], seconds: float) -> Mapping[str, Any]:
        """The result of a call; raises EngineFailed for an error that the engine told of.

        Raises EngineDied or EngineHung where the process is of no more use.
        """
        ...

    def close(self) -> None:
        """End the process."""
        ...


@dataclass(frozen=True)
class Release:
    """A released engine: what identifies it, and how its process is started.

    `version` is the engine's; `digest` is that of its lock and of the code that drives it. `start`
    is given the file of the log, and raises UserError, which names the command that installs it,
    where the engine is not installed. `differs` says where its lock leaves the release; "" where it
    does not. `missing` says why it cannot be started now; "" where it can.
    """

    name: str
    version: str
    digest: str
    start: Callable[[Path], Process] = field(compare=False)
    differs: str = ""
    missing: str = field(default="", compare=False)


@dataclass(frozen=True)
class Built:
    """What an engine said of the index it has built, and its graph as rows."""

    told: Told
    nodes: Sequence[Mapping[str, Any]]
    relationships: Sequence[Mapping[str, Any]]


@dataclass
class _Session:
    """A process with an index opened in it; `scratch` is its copy of the index, if it has one."""

    process: Process
    index: Path
    scratch: Path | None
    told: Mapping[str, Any]

    def close(self) -> None:
        self.process.close()
        if self.scratch is not None:
            shutil.rmtree(self.scratch, ignore_errors=True)


class Engine:
    """A release with the settings of a run; it answers one call at a time, whoever asks.

    `seconds` bounds a question, `build_seconds` the building of an index; a reply of a language
    model has at most `max_tokens` where the engine states none. `settings` are the engine's own.
    `logs` is the folder of its logs.
    """

    def __init__(
        self,
        release: Release,
        *,
        seconds: PositiveFloat = 600.0,
        build_seconds: PositiveFloat = 86_400.0,
        max_tokens: PositiveInt = 4096,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Nothing is started before the first call."""
        self.release = release
        self.seconds, self.build_seconds = float(seconds), float(build_seconds)
        self.max_tokens = max_tokens
        self.settings = dict(settings or {})
        self.logs = Path("engines")
        self._lock = threading.Lock()
        self._session: _Session | None = None
        self._deaths = 0
        self._earlier: OrderedDict[str, dict[str, Completion]] = OrderedDict()

    @property
    def identity(self) -> str:
        """Name, version, and a digest of lock, driver and settings; no limit, no path."""
        held = self.release
        said = digest(held.digest, self.settings, self.max_tokens)
        return f"{held.name} {held.version}:{said}"

    @cached_property
    def proxy(self) -> Proxy:
        """The server that the engine asks for models."""
        made = Proxy()
        weakref.finalize(self, made.close)
        return made

    @property
    def log(self) -> Path:
        """The file in which everything is that the engine has written beside its replies."""
        return self.logs / f"{self.release.name}.log"

    def build(
        self,
        folder: Path,
        mode: Mode,
        documents: Sequence[Mapping[str, str]],
        chunks: Sequence[Mapping[str, str]] | None,
        *,
        llm: LLM,
        embedder: Embedder,
    ) -> Built:
        """What the engine says of the index that it has built in an empty folder.

        Raises RunStopped when the engine fails, dies or hangs, or when the models do.
        """
        served = Served({BUILDER: llm}, embedder, "passage", max_tokens=self.max_tokens)
        with self._lock:
            self._end()
            try:
                session = self._open(folder, None, mode, BUILDER, served)
                given = {
                    "documents": list(documents),
                    "chunks": None if chunks is None else list(chunks),
                }
                counts = self._call(session, "build", given, self.build_seconds, served)
                graph = self._call(session, "graph", {}, self.build_seconds, served)
                self._call(session, "close", {}, self.seconds, served)
            except EngineFailed as error:
                raise RunStopped(f"{self.release.name} has built no index: {error}") from error
            finally:
                self._end()
        _refuse_lost(llm)
        _without_key(folder, self.proxy.key)
        told = Told.of(
            self.release.name, self.release.version, mode, session.told, counts,
            differs=self.release.differs,
        )  # fmt: skip
        return Built(told, _rows(graph, "nodes"), _rows(graph, "relationships"))

    def ask(
        self,
        index: EngineIndex,
        question: str,
        *,
        top_k: int | None,
        budget: int | None,
        answer: bool,
        llm: LLM,
        embedder: Embedder,
        max_calls: int,
        name: str = "",
    ) -> EngineReply:
        """The passages, the context and, where it is asked for, the answer of the engine.

        What an earlier call asked the models about the question of that `name` is not asked, or
        counted, again. Raises EngineFailed for a question that failed, RunStopped when nothing
        further can succeed, as after `DEATHS_IN_A_ROW`.
        """
        with self._lock:
            earlier = self._earlier.pop(name, {})
            served = Served(
                {READER: llm}, embedder, "question", max_calls, self.max_tokens, earlier
            )
            given = {
                "question": question,
                "top_k": top_k,
                "budget_tokens": budget,
                "answer": answer,
            }
            try:
                session = self._session_of(index, served)
                result = self._call(session, "ask", given, self.seconds, served)
                found = read_reply(result, answer=answer)
            except WrongReply as error:
                said = str(error).rstrip(".")
                raise EngineFailed(f"{self.release.name}: {said}. {self._where}") from None
            finally:
                _in_order(llm)
            if name and not answer:
                self._earlier[name] = served.earlier
                while len(self._earlier) > _REMEMBERED:
                    self._earlier.popitem(last=False)
            return found

    def close(self) -> None:
        """End the engine's process; the next call starts another."""
        with self._lock:
            self._end()

    @property
    def _where(self) -> str:
        return f"Its log: {self.log}"

    def _session_of(self, index: EngineIndex, served: Served) -> _Session:
        """The process that has this index open, started where there is none."""
        held = self._session
        if held is not None and held.index == index.folder:
            return held
        self._end()
        scratch = Path(tempfile.mkdtemp(prefix="engine-"))
        copied = scratch / "index"
        shutil.copytree(index.folder, copied)
        return self._open(copied, scratch, index.told.mode, READER, served, index.folder)

    def _open(
        self,
        folder: Path,
        scratch: Path | None,
        mode: str,
        model: str,
        served: Served,
        index: Path | None = None,
    ) -> _Session:
        """A new process with a folder opened in it."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        process = self.release.start(self.log)
        self._session = session = _Session(process, index or folder, scratch, {})
        weakref.finalize(self, session.close)
        self._call(session, "hello", {}, self.seconds, served)
        embedder = served.embedder
        session.told = self._call(
            session,
            "open",
            {
                "folder": str(folder.resolve()),
                "mode": mode,
                "base_url": self.proxy.base_url,
                "key": self.proxy.key,
                "llm_model": model,
                "embedding_model": EMBEDDER,
                "embedding_dimension": embedder.dimension,
                "embedding_max_tokens": embedder.window or _UNBOUND_WINDOW,
                "settings": self.settings,
            },
            self.seconds,
            served,
        )
        return session

    def _call(
        self,
        session: _Session,
        name: str,
        arguments: Mapping[str, object],
        seconds: float,
        served: Served,
    ) -> Mapping[str, Any]:
        """The result of one call, with the run's models served meanwhile."""
        try:
            with self.proxy.serving(served):
                result = session.process.call(name, arguments, seconds)
        except (EngineDied, EngineHung) as error:
            self._end()
            self._stop_where_due(served)
            self._deaths += 1
            said = f"{self.release.name}: {str(error).rstrip('.')}. {self._where}"
            if self._deaths >= DEATHS_IN_A_ROW:
                self._deaths = 0
                raise RunStopped(
                    f"The engine's process ended {DEATHS_IN_A_ROW} times in a row. The last: {said}"
                ) from error
            raise type(error)(said) from error
        except EngineFailed as error:
            self._stop_where_due(served)
            why = f" A model did not answer: {served.failed[-1]}" if served.failed else ""
            said = str(error).rstrip(".")
            raise EngineFailed(f"{self.release.name}: {said}.{why} {self._where}") from error
        if name in ("ask", "build"):
            self._deaths = 0
        self._stop_where_due(served)
        return result

    def _stop_where_due(self, served: Served) -> None:
        """Raise what the engine may have made nothing of: a stop of the run, or a spent budget."""
        building = BUILDER in served.models
        if isinstance(served.stopped, BudgetSpent) and not building:
            raise EngineFailed(f"{self.release.name} was given no reply: {served.stopped}")
        if served.stopped is not None:
            raise served.stopped
        if served.too_many:
            raise EngineFailed(
                f"{self.release.name} asked for more than {served.max_calls} calls for one "
                "question (method.max_calls)."
            )

    def _end(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None


def _rows(graph: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
    rows = graph.get(name)
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise RunStopped(f"The engine's graph has no list of {name}.")
    return rows


def _refuse_lost(llm: LLM) -> None:
    """Raise ServerFailed where the server failed calls of a build that has to be whole."""
    if isinstance(llm, Metered) and llm.whole and llm.lost:
        last = next(one for one in reversed(llm.replies) if not isinstance(one, Completion))
        raise ServerFailed(f"The server failed. The last of its failures: {last}")


def _in_order(llm: LLM) -> None:
    """Order the replies in a meter by their text: an engine asks in an order of chance."""
    if isinstance(llm, Metered):
        llm.replies.sort(key=seen)


def _without_key(folder: Path, key: str) -> None:
    """Take the key of the proxy out of every file that the engine has written it to."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and key.encode() in (held := path.read_bytes()):
            path.write_bytes(held.replace(key.encode(), b"-" * len(key)))
