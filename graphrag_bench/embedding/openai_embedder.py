"""Embeddings from any OpenAI-compatible server (see configs/embedder/openai_compatible.yaml)."""

import copy
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.embedding.cached_models import vectors_of
from graphrag_bench.embedding.embedder import TextKind, Vectors, blocks
from graphrag_bench.embedding.long_texts import LongTexts, TextLengths, WindowEncoder
from graphrag_bench.embedding.tokenizer import tokenizer_of
from graphrag_bench.llm.cache import Cache, StoredVector, row_key
from graphrag_bench.llm.calls import CallFailed, CallOutcome, Completion, Log, RunStopped
from graphrag_bench.llm.chat import ESTIMATE_RATIO, TOKENS_PER_MESSAGE
from graphrag_bench.llm.ledger import Budget, Spending
from graphrag_bench.llm.openai_compatible import RETRIES, TIMEOUT
from graphrag_bench.llm.server import OPENAI, Body, Server, token_count
from graphrag_bench.llm.settings import Limits, Prices, parse_settings, prices_of
from graphrag_bench.terminal import check_stop
from graphrag_bench.text import count_tokens

_TOKENS_PER_CALL = 300_000
"""Maximum number of tokens per call of OpenAI's API."""
_SAFE_SHARE = 0.75
"""Fraction of the window that is used if the number of tokens is only an estimate."""


@dataclass(eq=False)
class OpenAIEmbedder:
    """Embedder on a server with the endpoint `/embeddings`. Its calls count toward the budget."""

    model: str
    dimension: int
    base_url: str = OPENAI
    api_key_env: str | None = "OPENAI_API_KEY"
    _: KW_ONLY
    shorten: bool = False
    question_prefix: str = ""
    passage_prefix: str = ""
    batch_size: int = 64
    long_texts: LongTexts = "windows"
    window: PositiveInt | None = None
    tokenizer: str | None = None
    timeout: float = TIMEOUT
    retries: int = RETRIES
    limits: Limits | Mapping[str, Any] | None = None
    prices: Prices | Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        limits = parse_settings(Limits, self.limits)
        self.server = Server(
            self.model, self.base_url, self.api_key_env,
            limits=limits, timeout=self.timeout, retries=self.retries, group="embedder",
        )  # fmt: skip
        self._pool = ThreadPoolExecutor(limits.concurrency, "embedding-call")
        self._store: Cache | None = None
        self._log: Log = _no_log
        self._budget = Budget()

    @property
    def identity(self) -> str:
        """Identifier that covers everything that affects a vector, except the server."""
        window = self._window or "not known"
        how = f"{window}, {self.tokenizer.rpartition('/')[2]}" if self.tokenizer else window
        return self._identity(f":long={self.long_texts}({how})")

    def _identity(self, long: str = "") -> str:
        length = f"{self.dimension}{'(shortened)' if self.shorten else ''}"
        prefixes = f"{self.question_prefix},{self.passage_prefix}"
        return f"openai:{self.model}:{length}:unit{long}:prefixes={prefixes}"

    @property
    def _window(self) -> int | None:
        return self.window or self.server.window

    @cached_property
    def _prices(self) -> Prices:
        return prices_of(self.model, self.base_url, self.prices)

    def text_lengths(self, texts: Sequence[str]) -> TextLengths:
        """Count the passages that are longer than the window."""
        return self._encoder.text_lengths(texts, self.passage_prefix)

    @cached_property
    def _encoder(self) -> WindowEncoder:
        tokens = tokenizer_of(self.tokenizer, self.model, "embedder")
        size = self._window
        if size is not None and tokens.is_estimate and self.long_texts != "cut":
            size = int(size * _SAFE_SHARE)
        return WindowEncoder(size, self.long_texts, tokens)

    def attached(
        self, *, store: Cache | None = None, budget: Budget | None = None, log: Log | None = None
    ) -> "OpenAIEmbedder":
        """Return a copy with another cache, budget and log, but the same connections and limits."""
        other = copy.copy(self)
        other._store, other._budget, other._log = store, budget or Budget(), log or _no_log
        return other

    def encode(self, texts: Sequence[str], *, kind: TextKind) -> Vectors:
        """Return one unit vector per text, float32 (n, dimension). Raises CallFailed on failure."""
        if kind == "question":
            return self._encoder.encode(texts, self.question_prefix, partial(self._in_blocks, 1))
        embed = partial(self._in_blocks, self.batch_size)
        return self._encoder.encode(texts, self.passage_prefix, embed)

    def _in_blocks(self, size: int, prefixed: list[str]) -> Vectors:
        if not prefixed:
            return np.zeros((0, self.dimension), np.float32)
        distinct = sorted(set(prefixed), key=lambda text: (len(text), text))
        keys = {text: row_key(self._identity(), "", text) for text in distinct}
        stored = self._store.get_many(StoredVector, [*keys.values()]) if self._store else {}
        if stored:
            self._log(_call(list(stored.values()), cached=True), "")
        missing = [text for text in distinct if keys[text] not in stored]
        calls = list(blocks(missing, _TOKENS_PER_CALL, count_tokens, size))
        each = map if len(calls) < 2 else self._pool.map
        for rows in each(self._embedded, calls):
            stored |= {row.key: row for row in rows}
        return vectors_of([stored[keys[text]] for text in prefixed])

    def _embedded(self, block: list[str]) -> list[StoredVector]:
        check_stop()
        n_tokens = sum(map(count_tokens, block)) + TOKENS_PER_MESSAGE * len(block)
        most = round(n_tokens * ESTIMATE_RATIO)
        shortened = {"dimensions": self.dimension} if self.shorten else {}
        body: Body = {"model": self.model, "input": block, **shortened}
        try:
            with self._budget.reserve(Spending(most, self._prices.usd(most, 0))) as spend:
                answer, retries, seconds = self.server.post("/embeddings", body, n_tokens=most)
                rows = self._read(answer, block)
                call = replace(_call(rows), retries=retries, seconds=seconds)
                spend(call)
        except CallFailed as failure:
            self._log(failure, "")
            raise
        if self._store is not None:
            self._store.put(*rows)
        self._log(call, "")
        return rows

    def _read(self, answer: Body, block: list[str]) -> list[StoredVector]:
        counts = [count_tokens(text) for text in block]
        stated = token_count(answer.get("usage"), "prompt_tokens")
        n_tokens = sum(counts) if stated is None else stated
        try:
            found = {int(row["index"]): row["embedding"] for row in answer["data"]}
            with np.errstate(over="ignore"):  # infinite vectors are refused below
                vectors = np.asarray([found[place] for place in range(len(block))], np.float32)
            if vectors.ndim != 2 or len(answer["data"]) != len(block):
                raise ValueError("there are too many vectors, or their lengths differ")
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
            problem = f"The response does not have a vector for each of {len(block)} texts"
            shown = f"{problem} ({error!r})"[:200] + f": {str(dict(answer))[:200]}"
            raise CallFailed("malformed", shown) from None
        if vectors.shape[1] != self.dimension:
            n = vectors.shape[1]
            why = f"returns vectors of dimension {n}, not {self.dimension}"
            raise RunStopped(f"{self.model} {why}. Set embedder.dimension={n}.")
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(norms).all() or not norms.all():
            paid = Completion("", prompt_tokens=n_tokens, usd=self._prices.usd(n_tokens, 0))
            problem = f"{self.model} returned a vector that is zero or not finite."
            raise CallFailed("unreadable", problem, paid=paid)
        ends = np.cumsum([0, *(count + 1 for count in counts)])
        shares = np.diff(np.rint(ends / ends[-1] * n_tokens).astype(int)).tolist()
        rows = np.asarray(vectors / norms, np.float32)
        own, model, usd = self._identity(), str(answer.get("model") or ""), self._prices.usd
        return [
            StoredVector(row_key(own, "", text), own, row.tobytes(), model, n, usd(n, 0))
            for text, row, n in zip(block, rows, shares, strict=True)
        ]


def _no_log(outcome: CallOutcome, item: str) -> None: ...


def _call(rows: Sequence[StoredVector], *, cached: bool = False) -> Completion:
    n, usd = sum(row.prompt_tokens for row in rows), sum(row.usd for row in rows)
    return Completion("", prompt_tokens=n, model=rows[0].model, cached=cached, usd=usd)
