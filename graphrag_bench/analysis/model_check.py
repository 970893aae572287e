"""The models of a run checked before it costs anything: what passes, and what to fix.

Real calls are made, few and small, past cache, budget and ledger; nothing is written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel

from graphrag_bench.config.settings import RunSettings
from graphrag_bench.config.sources import ROLES
from graphrag_bench.errors import UnreadableReply, UserError, did_you_mean
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.long_texts import chunk_line
from graphrag_bench.llm.calls import CallFailed, RunStopped
from graphrag_bench.llm.chat import ChatModel, reply
from graphrag_bench.llm.local import Local, weights
from graphrag_bench.llm.meter import Metered
from graphrag_bench.llm.openai_compatible import OpenAICompatible
from graphrag_bench.llm.replay import Replay
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.llm.server import Malformed, Rejected, Server
from graphrag_bench.llm.structured import ask
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.models.from_config import make
from graphrag_bench.models.openai_embedder import OpenAIEmbedder
from graphrag_bench.prompts import Prompt
from graphrag_bench.text import count_tokens

CITY = Prompt("graphrag_bench.analysis:prompts/city.j2")
COPY = Prompt("graphrag_bench.analysis:prompts/copy.j2")
LONG_PROMPT = 2200
"""Tokens of an answer prompt with a full context."""
_TOO_SMALL = (
    f"Answer prompts have about {LONG_PROMPT} tokens: give the model a larger window, or the "
    "prompts a smaller budget (budget_context=1000)."
)
_PASSAGE = "Marie Curie was born in Warsaw in 1867 and taught at the University of Paris. "
_FORMS = {
    "json_schema": "held to the JSON schema by the server",
    "json_object": "the server knows JSON but no schema; replies are validated here",
    "words": "the server knows no JSON mode; replies are validated here",
}
_OF_REPLIES = ("JSON reply", "window", "speed")
_REFUSES_THE_KEY = (401, 403)
Result = Literal["pass", "fix", "not tried"]


class City(BaseModel):
    """What the city prompt returns."""

    city: str


@dataclass(frozen=True)
class Check:
    """One check: what was found, or, where the result is `fix`, what to do."""

    part: str
    name: str
    result: Result
    said: str


@dataclass
class _Looks:
    part: str
    checks: list[Check] = field(default_factory=list)

    def look(self, name: str, work: Callable[[], str]) -> bool:
        try:
            self.passes(name, work())
        except (UserError, CallFailed, UnreadableReply) as error:
            self.fix(name, str(error))
            return False
        return True

    def passes(self, name: str, said: str) -> None:
        self.checks.append(Check(self.part, name, "pass", said))

    def fix(self, name: str, said: str) -> None:
        self.checks.append(Check(self.part, name, "fix", said))

    def skip(self, *names: str, why: str = "") -> None:
        """Note what could not be tried, because something before it has to be fixed."""
        self.checks += [Check(self.part, name, "not tried", why) for name in names]


def examine(settings: RunSettings) -> list[Check]:
    """The checks of the models of a run, in the order in which to fix them.

    Raises UserError for settings that no model can be made of, before any model is asked.
    """
    configs = {"llm": settings.llm} | {role: getattr(settings, role) for role in ROLES}
    models = {part: make(part, config) for part, config in configs.items() if config is not None}
    embedder = make("embedder", settings.embedder)
    found = [check for part, model in models.items() for check in _language_model(part, model)]
    return found + _embedder(embedder)


def _language_model(part: str, model: ChatModel) -> list[Check]:
    looks = _Looks(part)
    if isinstance(model, Scripted):
        looks.passes("replies", f"{len(model.replies)} planned; this model is for tests")
    elif isinstance(model, Replay):
        looks.look("file", lambda: f"{model.path} holds the replies of {model.identity}")
    elif isinstance(model, OpenAICompatible):
        _served_model(looks, model)
    elif isinstance(model, Local):
        _local_model(looks, model)
    else:
        _replies(looks, model, None)
    return looks.checks


def _local_model(looks: _Looks, model: Local) -> None:
    if looks.look("weights", lambda: _weights(model)):
        _replies(looks, model, None)
        model.close()
    else:
        looks.skip(*_OF_REPLIES)


def _weights(model: Local) -> str:
    path = weights(model.model_path)
    return f"{path.name}, {path.stat().st_size / 1e6:.0f} MB"


def _served_model(looks: _Looks, model: OpenAICompatible) -> None:
    listed = _reached(looks, model.server)
    if listed is None:
        looks.skip("model", *_OF_REPLIES)
        return
    replies = _Looks(looks.part)
    answers = _replies(replies, model, listed.get(model.model))
    looks.look("model", lambda: _named(model.model, listed, answers))
    looks.checks += replies.checks


def _named(name: str, listed: Mapping[str, int | None], answers: bool) -> str:
    if name in listed:
        return f"'{name}' is one of {len(listed)} that the server lists"
    if answers:
        return f"'{name}' replies; it is not in the server's list of {len(listed)}"
    hint = did_you_mean(name, listed, sorted(listed)[:5])
    raise UserError(f"The server lists no '{name}' (llm.model). {hint}")


def _reached(looks: _Looks, server: Server) -> dict[str, int | None] | None:
    try:
        key = _key(server)
    except UserError as error:
        looks.skip("address")
        looks.fix("key", str(error))
        return None
    listed: dict[str, int | None] = {}
    refused: Rejected | None = None
    try:
        listed = server.listed()
    except RunStopped as stop:
        looks.fix("address", str(stop))
        looks.skip("key")
        return None
    except (Malformed, CallFailed) as fault:
        looks.fix(
            "address",
            f"No server answers at {server.address}: {fault}. Start the server, or correct its "
            "base_url.",
        )
        looks.skip("key")
        return None
    except Rejected as rejected:
        refused = rejected if rejected.status in _REFUSES_THE_KEY else None
    looks.passes("address", f"{server.address} answers")
    if refused is not None:
        looks.fix("key", str(server.meaning(refused)))
        return None
    looks.passes("key", key)
    return listed


def _key(server: Server) -> str:
    _ = server.key
    name = server.api_key_env
    return "none is sent (api_key_env=null)" if name is None else f"{name} is set"


def _replies(looks: _Looks, model: ChatModel, stated: int | None) -> bool:
    if not looks.look(_OF_REPLIES[0], lambda: _json_reply(model)):
        looks.skip(*_OF_REPLIES[1:])
        return False
    looks.look(_OF_REPLIES[1], lambda: _window(looks.part, model, stated))
    looks.look(_OF_REPLIES[2], lambda: _speed(model))
    return True


def _json_reply(model: ChatModel) -> str:
    meter = Metered(model)
    chat = CITY.render({"passage": _PASSAGE.strip()})
    try:
        found = ask(meter, chat, City, max_tokens=64, purpose="the JSON reply")
    except UnreadableReply as error:
        raise UserError(
            f"{error}. The model may be too small to write JSON, or its server knows no JSON mode."
        ) from None
    dialect = model.dialect if isinstance(model, OpenAICompatible) else None
    form = f"; {_FORMS[dialect.schema_form]}" if dialect else ""
    again = "; only after a correction" if meter.corrected else ""
    return f"{found.city!r}{form}{again}"


def _window(part: str, model: ChatModel, stated: int | None) -> str:
    """The window in tokens; unless it is our own server's, a long prompt shows that it is real."""
    known = Metered(model).window
    if known is not None and stated is not None and known > stated:
        raise UserError(f"{part}.window={known}, but the server states {stated}: set it to that.")
    if known is not None and known < LONG_PROMPT:
        raise UserError(f"{known} tokens. {_TOO_SMALL}")
    if not isinstance(model, Local):
        n_copies = LONG_PROMPT // count_tokens(_PASSAGE) + 1
        try:
            reply(model, COPY.render({"passage": _PASSAGE * n_copies}), max_tokens=16)
        except CallFailed as failure:
            if failure.reason != "context_overflow":
                raise
            raise UserError(f"{failure} {_TOO_SMALL}") from None
    if known is None and stated is not None:
        return (
            f"{stated} tokens, as the server states; {part}.window={stated} would hold it to that"
        )
    return (
        f"{known} tokens" if known else f"at least {LONG_PROMPT} tokens; {part}.window is not set"
    )


def _speed(model: ChatModel) -> str:
    began = time.perf_counter()
    got = reply(model, COPY.render({"passage": _PASSAGE * 4}), max_tokens=64)
    seconds = time.perf_counter() - began
    rate = got.completion_tokens / max(seconds, 1e-9)
    return f"{rate:.0f} tokens/s ({got.completion_tokens} in {seconds:.2f} s, one call at a time)"


def _embedder(model: Embedder) -> list[Check]:
    looks = _Looks("embedder")
    if isinstance(model, OpenAIEmbedder) and _reached(looks, model.server) is None:
        looks.skip("vector")
    else:
        looks.look("vector", lambda: _vector(model))
    looks.passes("window", model.reading)
    return looks.checks


def examine_texts(values: Mapping[str, Any]) -> list[Check]:
    """How many chunks of the data set are longer than the embedder reads; none where none can be.

    `values` are the resolved settings of a run. Without its data set this is not tried.
    """
    looks = _Looks("embedder")
    try:
        experiment = Experiment.prepare(values)
    except UserError as error:
        looks.skip("long texts", why=str(error).splitlines()[0])
        return looks.checks
    try:
        if said := chunk_line(experiment):
            looks.passes("long texts", f"{experiment.dataset.name}: {said}")
    except UserError as error:
        looks.fix("long texts", f"{experiment.dataset.name}: {error}")
    return looks.checks


def _vector(model: Embedder) -> str:
    (row,) = model.encode([_PASSAGE.strip()], kind="passage")
    norm = float(np.linalg.norm(row))
    if len(row) != model.dimension:
        raise UserError(f"A vector has {len(row)} numbers; embedder.dimension={model.dimension}.")
    if abs(norm - 1.0) > 1e-3:
        raise UserError(f"A vector has the length {norm:.4f}; indices are made for length 1.")
    return f"{len(row)} numbers, length {norm:.3f}: {model.identity}"
