"""Test the models of a run with a few small calls, which are not cached or charged to a budget."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from pydantic import BaseModel

from graphrag_bench.config.settings import RunSettings
from graphrag_bench.config.sources import ROLES
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.embedding.model_files import make_model
from graphrag_bench.errors import UnreadableReply, UserError
from graphrag_bench.llm.calls import CallFailed
from graphrag_bench.llm.chat import ChatModel, reply
from graphrag_bench.llm.local import Local
from graphrag_bench.llm.openai_compatible import OpenAICompatible
from graphrag_bench.llm.replay import Replay
from graphrag_bench.llm.scripted import Scripted
from graphrag_bench.llm.structured import ask
from graphrag_bench.llm.vllm import Vllm
from graphrag_bench.prompts import Prompt
from graphrag_bench.text import count_tokens

CITY = Prompt("graphrag_bench.run:prompts/city.j2")
COPY = Prompt("graphrag_bench.run:prompts/copy.j2")
LONG_PROMPT = 2200
"""Number of tokens of an answer prompt with a full context."""
_TOO_SMALL = (
    f"Answer prompts have about {LONG_PROMPT} tokens. Use a larger context window, or a smaller "
    "context budget (budget_context=1000)."
)
_PASSAGE = "Marie Curie was born in Warsaw in 1867 and taught at the University of Paris. "


class City(BaseModel):
    """Reply to the prompt `city.j2`."""

    city: str


@dataclass(frozen=True)
class Check:
    """Check of the model with the role `part`. `text` is an observation or an error."""

    part: str
    name: str
    passed: bool
    text: str


def check_models(settings: RunSettings) -> list[Check]:
    """Check the models of a run. After a failed check, other checks of the model are skipped."""
    parts = [part for part in ("llm", *ROLES, "embedder", "nlp") if getattr(settings, part)]
    models = {part: make_model(part, getattr(settings, part)) for part in parts}
    embedder, nlp = models.pop("embedder"), models.pop("nlp")
    checks = [check for part, model in models.items() for check in _language_model(part, model)]
    return [
        *checks,
        _check("embedder", "vector", lambda: _vector(embedder)),
        _check("nlp", "sentence", lambda: f"entities {nlp.entities(_PASSAGE)}: {nlp.identity}"),
    ]


def _check(part: str, name: str, work: Callable[[], str]) -> Check:
    try:
        return Check(part, name, True, work())
    except (UserError, CallFailed, UnreadableReply) as error:
        return Check(part, name, False, str(error))


def _language_model(part: str, model: ChatModel) -> list[Check]:
    if isinstance(model, Scripted | Replay):  # these models only reply to the prompts of a run
        return [_check(part, "replies", lambda: f"stored: {model.identity}")]
    checks = [_check(part, "chat", lambda: _chat(model))]
    if checks[0].passed:
        checks.append(_check(part, "JSON", lambda: _json_reply(model)))
    if isinstance(model, Local | Vllm):
        model.close()
    return checks


def _chat(model: ChatModel) -> str:
    window = model.window
    if window is not None and window < LONG_PROMPT:
        raise UserError(f"The context window has {window} tokens. {_TOO_SMALL}")
    n_copies = LONG_PROMPT // count_tokens(_PASSAGE) + 1
    began = time.perf_counter()
    try:
        answer = reply(model, COPY.render({"passage": _PASSAGE * n_copies}), max_tokens=64)
    except CallFailed as failure:
        hint = f" {_TOO_SMALL}" if failure.reason == "context_overflow" else ""
        raise UserError(f"{failure}{hint}") from None
    seconds = time.perf_counter() - began
    read = f"a window of {window} tokens" if window else f"at least {LONG_PROMPT} tokens are read"
    return f"{read}; {answer.completion_tokens} tokens written in {seconds:.2f} s, prompt included"


def _json_reply(model: ChatModel) -> str:
    model, chat = model.attached(), CITY.render({"passage": _PASSAGE.strip()})
    try:
        city = ask(model, chat, City, max_tokens=64, purpose="the JSON reply").city
    except UnreadableReply as error:
        hint = "The model may be too small to write JSON, or its server has no JSON mode."
        raise UserError(f"{error}. {hint}") from None
    form = model.dialect.schema_as if isinstance(model, OpenAICompatible) else "json_schema"
    again = ", only after a correction" if model.meter.corrected else ""
    return f"{city!r} (by {form}{again})"


def _vector(model: Embedder) -> str:
    (row,) = model.encode([_PASSAGE.strip()], kind="passage")
    n, norm = len(row), float(np.linalg.norm(row))
    if n != model.dimension:
        raise UserError(f"A vector has {n} numbers, but embedder.dimension={model.dimension}.")
    if abs(norm - 1.0) > 1e-3:
        raise UserError(f"A vector has norm {norm:.4f}, but indices need vectors of norm 1.")
    return f"{n} numbers, length {norm:.3f}: {model.identity}; {model.text_lengths(()).description}"
