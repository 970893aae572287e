"""Embeddings by any server that speaks the OpenAI protocol."""

from __future__ import annotations

import copy
import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.models.attempts import Clock
from graphrag_bench.models.budget import Budget, Reservation
from graphrag_bench.models.cached import Mode
from graphrag_bench.models.chat_protocol import TOKENS_A_MESSAGE, counted
from graphrag_bench.models.embedder import Kind, Vectors
from graphrag_bench.models.endpoint import Endpoint, Rejected
from graphrag_bench.models.faults import Again
from graphrag_bench.models.fit import Fit, LongTexts, said_reading
from graphrag_bench.models.kept_vectors import rows_of
from graphrag_bench.models.long_texts import Windowing
from graphrag_bench.models.openai_compatible import OPENAI
from graphrag_bench.models.outcomes import CallFailed, Completion, Outcome, RunStopped
from graphrag_bench.models.reply_store import KEY_DIGITS, ReplyStore, StoredVector, vector_key
from graphrag_bench.models.served_windows import served_window, served_windowing
from graphrag_bench.models.settings import Limits, Patience, Prices, group
from graphrag_bench.models.spending import Spending
from graphrag_bench.text import count_tokens

_RATIO = 1.2
_TOKENS_A_CALL = 300_000
"""What OpenAI takes in one call; 64 texts of usual length are far below it."""


class OpenAIEmbedder:
    """Unit vectors from `/embeddings`, under the limits and with the patience of the chat client.

    A text is sent once, and not again when the cache holds its vector. Passages go in blocks that
    depend on the texts alone: sorted by length and then by text, `batch_size` at a time, fewer
    where they are long; questions one by one. A block is one call and one line of the ledger; what
    the cache gave is one more. There is no partial result: what failed is raised. A text longer
    than the model's window goes in overlapping windows, whole (`cut`: the server may cut or refuse
    it), or is refused, as `long_texts` says.
    """

    def __init__(
        self,
        model: str,
        dimension: int,
        base_url: str = OPENAI,
        api_key_env: str | None = "OPENAI_API_KEY",
        *,
        shorten: bool = False,
        question_prefix: str = "",
        passage_prefix: str = "",
        batch_size: int = 64,
        long_texts: LongTexts = "windows",
        window: PositiveInt | None = None,
        tokenizer: str | None = None,
        limits: Limits | Mapping[str, Any] | None = None,
        patience: Patience | Mapping[str, Any] | None = None,
        prices: Prices | Mapping[str, Any] | None = None,
        clock: Clock | None = None,
    ) -> None:
        """`dimension` is the length of a vector; with `shorten` the server is asked for it.

        The `window` is known by the names of common models; `tokenizer` (cl100k, o200k, or
        hf:NAME_OR_PATH) counts the tokens of a text where it has to fit.
        """
        self.model = model
        self.dimension = dimension
        self.shorten = shorten
        self.prefixes: Mapping[Kind, str] = {"question": question_prefix, "passage": passage_prefix}
        self.batch_size = batch_size
        self.long_texts: LongTexts = long_texts
        self.tokenizer = tokenizer
        self.given_window = window
        self.limits = group(Limits, limits)
        self.prices = group(Prices, prices)
        self.endpoint = Endpoint(
            model,
            base_url,
            api_key_env,
            limits=self.limits,
            patience=group(Patience, patience),
            clock=clock,
            group="embedder",
        )
        self._pool = ThreadPoolExecutor(self.limits.concurrency, "embedding-call")
        self._store: ReplyStore | None = None
        self._mode: Mode = "off"
        self._budget = Budget()
        self._log: Callable[[Outcome, str], None] | None = None
        self._writing = threading.Lock()

    @property
    def identity(self) -> str:
        """Model, dimension, normalisation, long texts and prefixes; no address, no key."""
        window = self.window or "not known"
        how = f"{window}, {self.tokenizer.rpartition('/')[2]}" if self.tokenizer else window
        return self._identity(f":long={self.long_texts}({how})")

    def _identity(self, long: str = "") -> str:
        prefixes = ",".join(self.prefixes.values())
        length = f"{self.dimension}{'(shortened)' if self.shorten else ''}"
        return f"openai:{self.model}:{length}:unit{long}:prefixes={prefixes}"

    @property
    def window(self) -> int | None:
        """The tokens that the model reads: as set, or by its name; None where that is unknown."""
        return self.given_window or served_window(self.model)

    @property
    def reading(self) -> str:
        """The window and what becomes of longer texts, in words."""
        return said_reading(self.window, self.long_texts, f"of '{self.model}'")

    def fit(self, texts: Sequence[str], *, load: bool = True) -> Fit:
        """How many of these passages are longer than the model's window; nothing is loaded."""
        return self._windowing.fit(texts, self.prefixes["passage"])

    @cached_property
    def _windowing(self) -> Windowing:
        return served_windowing(self.model, self.given_window, self.long_texts, self.tokenizer)

    def attached(
        self,
        *,
        store: ReplyStore | None = None,
        mode: Mode = "write",
        budget: Budget | None = None,
        log: Callable[[Outcome, str], None] | None = None,
    ) -> OpenAIEmbedder:
        """The same embedder, limits and connections included, with a cache, budget and ledger.

        What is not given stays unchanged. `log` is `ledger.at(stage, step, kind="embedding")`.
        """
        other = copy.copy(self)
        if store is not None:
            other._store, other._mode = store, mode
        other._budget = budget or self._budget
        other._log = log or self._log
        return other

    def encode(self, texts: Sequence[str], *, kind: Kind) -> Vectors:
        """Float32 (n, dimension), unit rows in the order of the texts.

        Raises CallFailed when a block got no vectors, RunStopped when none ever will, UserError for
        a text that is refused.
        """
        size = 1 if kind == "question" else self.batch_size
        return self._windowing.encode(
            texts, self.prefixes[kind], lambda prefixed: self._in_blocks(prefixed, size)
        )

    def _in_blocks(self, prefixed: list[str], size: int) -> Vectors:
        if not prefixed:
            return np.zeros((0, self.dimension), np.float32)
        distinct = sorted(set(prefixed), key=lambda text: (len(text), text))
        found = self._stored(distinct, size)
        if found:
            self._enter(_reply(found.values(), cached=True))
        blocks = list(_blocks([text for text in distinct if text not in found], size))
        each = map if len(blocks) < 2 else self._pool.map
        for block, rows in zip(blocks, each(self._vectors, blocks), strict=True):
            found |= zip(block, rows, strict=True)
        return rows_of([found[text].numbers for text in prefixed])

    def _vectors(self, block: list[str]) -> list[StoredVector]:
        try:
            rows, paid = self._paid(block)
        except CallFailed as failure:
            self._enter(failure)
            raise
        self._enter(paid)
        return rows

    def _stored(self, texts: list[str], size: int) -> dict[str, StoredVector]:
        if self._store is None or self._mode in ("off", "refresh"):
            return {}
        held = self._store.vectors([self._key(text) for text in texts])
        found = {text: held[key] for text in texts if (key := self._key(text)) in held}
        for block in _blocks(texts, size) if len(found) < len(texts) else ():
            old = self._store.block(_block_key(self._identity(), block))
            if old is not None:
                rows = np.frombuffer(old.rows, np.float32).reshape(len(block), -1)
                made = self._rows(block, rows, old.model, old.prompt_tokens)
                found |= zip(block, made, strict=True)
        return found

    def _paid(self, block: list[str]) -> tuple[list[StoredVector], Completion]:
        estimate = sum(count_tokens(text) + TOKENS_A_MESSAGE for text in block)
        most = round(estimate * _RATIO)
        with Reservation(self._budget, Spending(most, self.prices.usd(most, 0))) as held:
            try:
                reached = self.endpoint.run(
                    lambda: self._send(block), most, lambda got: _reply(got).prompt_tokens,
                    held.again,
                )  # fmt: skip
            except CallFailed as failure:
                if failure.paid is not None:
                    held.actual = Spending(failure.paid.prompt_tokens, failure.paid.usd)
                raise
            rows = reached.value
            paid = replace(_reply(rows), retries=reached.retries, seconds=reached.seconds)
            held.actual = Spending(paid.prompt_tokens, paid.usd)
        if self._store is not None and self._mode in ("write", "refresh"):
            rows = self._store.put_vectors(rows, replace=self._mode == "refresh")
        return rows, paid

    def _send(self, block: list[str]) -> list[StoredVector]:
        body: dict[str, Any] = {"model": self.model, "input": block}
        if self.shorten:
            body["dimensions"] = self.dimension
        try:
            answer = self.endpoint.post("/embeddings", body)
        except Rejected as rejected:
            raise self.endpoint.meaning(rejected) from None
        n_tokens = counted(answer.get("usage"), "prompt_tokens")
        if n_tokens is None:
            n_tokens = sum(count_tokens(text) for text in block)
        try:
            rows = self._unit(_rows(answer, len(block)))
        except CallFailed as failure:
            failure.paid = Completion("", n_tokens, 0, usd=self.prices.usd(n_tokens, 0))
            raise
        return self._rows(block, rows, _text(answer.get("model")), n_tokens)

    def _rows(
        self, block: list[str], rows: Vectors, model: str, n_tokens: int
    ) -> list[StoredVector]:
        counts = np.cumsum([0, *(count_tokens(text) + 1 for text in block)])
        parts = np.diff(np.rint(counts / counts[-1] * n_tokens).astype(int)).tolist()
        identity = self._identity()
        return [
            StoredVector(
                self._key(text), identity, row.tobytes(), model, part, self.prices.usd(part, 0)
            )
            for text, row, part in zip(block, rows, parts, strict=True)
        ]

    def _key(self, text: str) -> str:
        return vector_key(self._identity(), "", text)

    def _unit(self, rows: Vectors) -> Vectors:
        if rows.shape[1] != self.dimension:
            raise RunStopped(
                f"{self.model} returns vectors of {rows.shape[1]} numbers, not {self.dimension}: "
                f"set embedder.dimension={rows.shape[1]}."
            )
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        if not np.isfinite(norms).all() or not norms.all():
            raise CallFailed("unreadable", f"{self.model} returned a vector without a direction.")
        return np.asarray(rows / norms, np.float32)

    def _enter(self, outcome: Outcome) -> None:
        if self._log is not None:
            with self._writing:
                self._log(outcome, "")


def _reply(rows: Iterable[StoredVector], *, cached: bool = False) -> Completion:
    held = list(rows)
    n_tokens = sum(row.prompt_tokens for row in held)
    usd = sum(row.usd for row in held)
    return Completion("", n_tokens, 0, model=held[0].model, cached=cached, usd=usd)


def _rows(answer: Mapping[str, Any], n_texts: int) -> Vectors:
    """The vectors in the order of the texts; raises Again unless there is one for each."""
    found = answer.get("data")
    if not isinstance(found, list) or len(found) != n_texts:
        raise Again(f"The answer does not hold {n_texts} vectors.", worked=True)
    try:
        ordered = sorted(found, key=lambda row: int(row["index"]))
        places = [int(row["index"]) for row in ordered]
        with np.errstate(over="ignore"):  # what is too large has no direction, as `_unit` finds
            rows = np.asarray([row["embedding"] for row in ordered], np.float32)
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
        raise Again("The answer holds no vectors that can be read.", worked=True) from None
    if places != list(range(n_texts)):
        raise Again("The answer does not number its vectors from 0, each once.", worked=True)
    if rows.ndim != 2:
        raise Again("The answer holds vectors of different lengths.", worked=True)
    return rows


def _blocks(texts: Sequence[str], size: int) -> Iterator[list[str]]:
    block: list[str] = []
    n_held = 0
    for text in texts:
        n_tokens = count_tokens(text)
        if block and (len(block) == size or n_held + n_tokens > _TOKENS_A_CALL):
            yield block
            block, n_held = [], 0
        block.append(text)
        n_held += n_tokens
    if block:
        yield block


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _block_key(identity: str, block: list[str]) -> str:
    written = json.dumps([identity, block]).encode()
    return hashlib.sha256(written).hexdigest()[:KEY_DIGITS]
