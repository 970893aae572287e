"""The models of a run checked before it costs anything: what passes, and what to fix.

Real calls are made, few and small, past cache, budget and ledger; nothing is written.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel

from graphrag_bench.config.settings import RunSettings
from graphrag_bench.config.sources import ROLES
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.embedding.model_files import make
from graphrag_bench.embedding.openai_embedder import OpenAIEmbedder
from graphrag_bench.errors import UnreadableReply, UserError, did_you_mean
from graphrag_bench.llm.calls import CallFailed, RunStopped
from graphrag_bench.llm.chat import ChatModel, reply
from graphrag_bench.llm.local import Local, weights
from graphrag_bench.llm.openai_compatible import OpenAICompatible
from graphrag_bench.llm.replay import Replay
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.llm.server import Malformed, Rejected, Server
from graphrag_bench.llm.structured import ask
from graphrag_bench.prompts import Prompt
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.plan import chunk_line
from graphrag_bench.text import count_tokens

CITY = Prompt("graphrag_bench.run:prompts/city.j2")
COPY = Prompt("graphrag_bench.run:prompts/copy.j2")
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
    """One check: its result, and in `text` what was seen, or, with `fix`, what to do."""

    part: str
    name: str
    result: Result
    text: str


class _Part:
    def __init__(self, part: str) -> None:
        self.part = part
        self.checks: list[Check] = []

    def note(self, result: Result, text: str, *names: str) -> None:
        self.checks += [Check(self.part, name, result, text) for name in names]

    def look(self, name: str, work: Callable[[], str]) -> bool:
        try:
            self.note("pass", work(), name)
        except (UserError, CallFailed, UnreadableReply) as error:
            self.note("fix", str(error), name)
            return False
        return True

    def skip(self, *names: str, why: str = "") -> None:
        """Note what could not be tried, because something before it has to be fixed."""
        self.note("not tried", why, *names)


def examine(settings: RunSettings) -> list[Check]:
    """Return the checks of the models of a run, in the order in which to fix them.

    Raises UserError for settings that no model can be made of, before any model is asked.
    """
    configs = {"llm": settings.llm} | {role: getattr(settings, role) for role in ROLES}
    models = {part: make(part, config) for part, config in configs.items() if config is not None}
    embedder = make("embedder", settings.embedder)
    checks = [check for part, model in models.items() for check in _language_model(part, model)]
    return checks + _embedder(embedder)


def _language_model(name: str, model: ChatModel) -> list[Check]:
    part = _Part(name)
    if isinstance(model, Scripted):
        part.note("pass", f"{len(model.replies)} planned; this model is for tests", "replies")
    elif isinstance(model, Replay):
        part.look("file", lambda: f"{model.path} holds the replies of {model.identity}")
    elif isinstance(model, OpenAICompatible):
        if (listed := _reached(part, model.server)) is None:
            part.skip("model", *_OF_REPLIES)
        else:
            replies = _Part(name)
            answers = _replies(replies, model, listed.get(model.model))
            part.look("model", lambda: _named(model.model, listed, answers))
            part.checks += replies.checks
    elif isinstance(model, Local) and not part.look("weights", lambda: _weights(model)):
        part.skip(*_OF_REPLIES)
    else:
        _replies(part, model, None)
        if isinstance(model, Local):
            model.close()
    return part.checks


def _weights(model: Local) -> str:
    path = weights(model.model_path)
    return f"{path.name}, {path.stat().st_size / 1e6:.0f} MB"


def _named(name: str, listed: Mapping[str, int | None], answers: bool) -> str:
    if name in listed:
        return f"'{name}' is one of {len(listed)} that the server lists"
    if answers:
        return f"'{name}' replies; it is not in the server's list of {len(listed)}"
    hint = did_you_mean(name, listed, sorted(listed)[:5])
    raise UserError(f"The server lists no '{name}' (llm.model). {hint}")


def _reached(part: _Part, server: Server) -> dict[str, int | None] | None:
    """The models that a server lists with their windows; None where something is to fix first."""
    listed: dict[str, int | None] = {}
    wrong_address = wrong_key = ""
    try:
        _ = server.key  # raises UserError where its variable is not set
        listed = server.listed()
    except RunStopped as stop:
        wrong_address = str(stop)
    except UserError as error:
        part.skip("address")
        part.note("fix", str(error), "key")
        return None
    except (Malformed, CallFailed) as error:
        wrong_address = (
            f"No server answers at {server.address}: {error}. Start the server, or correct its "
            "base_url."
        )
    except Rejected as rejected:
        if rejected.status in _REFUSES_THE_KEY:
            wrong_key = str(server.meaning(rejected))
    if wrong_address:
        part.note("fix", wrong_address, "address")
        part.skip("key")
        return None
    name = server.api_key_env
    key = "none is sent (api_key_env=null)" if name is None else f"{name} is set"
    part.note("pass", f"{server.address} answers", "address")
    part.note("fix" if wrong_key else "pass", wrong_key or key, "key")
    return None if wrong_key else listed


def _replies(part: _Part, model: ChatModel, stated: int | None) -> bool:
    if not part.look(_OF_REPLIES[0], lambda: _json_reply(model)):
        part.skip(*_OF_REPLIES[1:])
        return False
    part.look(_OF_REPLIES[1], lambda: _window(part.part, model, stated))
    part.look(_OF_REPLIES[2], lambda: _speed(model))
    return True


def _json_reply(model: ChatModel) -> str:
    model = model.attached()
    chat = CITY.render({"passage": _PASSAGE.strip()})
    try:
        found = ask(model, chat, City, max_tokens=64, purpose="the JSON reply")
    except UnreadableReply as error:
        raise UserError(
            f"{error}. The model may be too small to write JSON, or its server knows no JSON mode."
        ) from None
    dialect = model.dialect if isinstance(model, OpenAICompatible) else None
    form = f"; {_FORMS[dialect.schema_form]}" if dialect else ""
    again = "; only after a correction" if model.meter.corrected else ""
    return f"{found.city!r}{form}{again}"


def _window(part: str, model: ChatModel, stated: int | None) -> str:
    """The window in tokens; unless it is our own server's, a long prompt shows that it is real."""
    known = model.window
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
    if known:
        return f"{known} tokens"
    if stated is None:
        return f"at least {LONG_PROMPT} tokens; {part}.window is not set"
    return f"{stated} tokens, as the server states; {part}.window={stated} would hold it to that"


def _speed(model: ChatModel) -> str:
    began = time.perf_counter()
    got = reply(model, COPY.render({"passage": _PASSAGE * 4}), max_tokens=64)
    seconds = time.perf_counter() - began
    rate = got.completion_tokens / max(seconds, 1e-9)
    return f"{rate:.0f} tokens/s ({got.completion_tokens} in {seconds:.2f} s, one call at a time)"


def _embedder(model: Embedder) -> list[Check]:
    part = _Part("embedder")
    if isinstance(model, OpenAIEmbedder) and _reached(part, model.server) is None:
        part.skip("vector")
    else:
        part.look("vector", lambda: _vector(model))
    part.note("pass", model.fit((), load=False).reading, "window")
    return part.checks


def _vector(model: Embedder) -> str:
    (row,) = model.encode([_PASSAGE.strip()], kind="passage")
    norm = float(np.linalg.norm(row))
    if len(row) != model.dimension:
        raise UserError(f"A vector has {len(row)} numbers; embedder.dimension={model.dimension}.")
    if abs(norm - 1.0) > 1e-3:
        raise UserError(f"A vector has the length {norm:.4f}; indices are made for length 1.")
    return f"{len(row)} numbers, length {norm:.3f}: {model.identity}"


def examine_texts(values: Mapping[str, Any]) -> list[Check]:
    """Return how many chunks of the data set are longer than the embedder reads, if any can be.

    `values` are the resolved settings of a run. Without its data set this is not tried.
    """
    part = _Part("embedder")
    try:
        experiment = Experiment.prepare(values)
    except UserError as error:
        part.skip("long texts", why=str(error).splitlines()[0])
        return part.checks
    try:
        if line := chunk_line(experiment):
            part.note("pass", f"{experiment.dataset.name}: {line}", "long texts")
    except UserError as error:
        part.note("fix", f"{experiment.dataset.name}: {error}", "long texts")
    return part.checks
