"""The context window of the reader (the model that answers), and the room for the context."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphrag_bench.config.settings import WINDOWS, RunSettings
from graphrag_bench.contract import builders
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.errors import UserError
from graphrag_bench.files import read_cache, user_cache, write_cache
from graphrag_bench.fingerprint import code, digest, file_digest
from graphrag_bench.llm.chat import TOKENIZER_RATIO, ChatModel, reserved_tokens
from graphrag_bench.run.models import Models
from graphrag_bench.text import count_tokens

LEAST = 2400
"""Minimum of `budget_context=auto`, so that 4 passages of 200 tokens fit a third of the context."""
CHUNKS, SHARE = 4, 0.33
"""With `budget_context=auto`, 4 chunks fit into a third of the context, which is the part that
methods with tables leave for chunks. Source: Zhou et al. (2025), Section 7.1 (4 chunks)."""
ASSUMED_WINDOW = 8192
"""Window in tokens if it is not known from a setting, a server or a price list."""
RESERVED = 600
"""Tokens of the window that are reserved for the instructions and the question."""
ROW = 1.05
"""Ratio of a chunk's tokens in a prompt, with row number and quotes, to its tokens alone."""
_SAMPLE = 200
CHARACTERS_A_TOKEN = 8


@dataclass(frozen=True)
class ContextWindow:
    """Context window of the reader, with the median and 90th percentile of a chunk's tokens.

    `tokens` is the size of the window, or None if it is unknown. `reserved` is the number of tokens
    for instructions, question and answer. If prompts are counted with the tokenizer of another
    model, the reader needs at most `margin` tokens for each counted token.

    >>> ContextWindow(median_chunk=1200, long_chunk=1260, tokens=8192, reserved=1112).tokens_left
    7000
    """

    median_chunk: int
    long_chunk: int
    tokens: int | None
    reserved: int
    margin: float = 1.0

    def _within(self, window: int) -> int:
        rest = (window - self.reserved) / self.margin
        return max(1, int(rest) // 100 * 100 if rest >= 100 else int(rest))

    @property
    def tokens_left(self) -> int | None:
        """Tokens left for the context, rounded down to hundreds, or None for an unknown window."""
        return None if self.tokens is None else self._within(self.tokens)

    @property
    def wanted(self) -> int:
        """Context tokens that `CHUNKS` chunks need in every method. The minimum is `LEAST`."""
        return max(LEAST, round_up_to_hundred(CHUNKS * self.long_chunk / SHARE))

    @property
    def auto(self) -> int:
        """Context tokens of `budget_context=auto`: `wanted`, or fewer in a small window."""
        return min(self.wanted, self._within(self.tokens or ASSUMED_WINDOW))

    def require(self, n_tokens: int) -> None:
        """Raise UserError if the window leaves fewer than `n_tokens` tokens for the context."""
        if self.tokens_left is not None and n_tokens > self.tokens_left:
            raise UserError(
                f"budget_context={n_tokens} is too large. The model's window of {self.tokens:,} "
                f"tokens has room for {self.tokens_left} tokens of context. Set llm.window (or "
                "llm.context with llm=local)."
            )


def context_window(settings: RunSettings, dataset: Dataset, models: Models) -> ContextWindow:
    """Return the context window of a run's reader, without loading the model."""
    margin = TOKENIZER_RATIO if "(stand-in)" in models.identity("tokenizer") else 1.0
    llm = models.unwrapped("llm")
    window = llm.window if isinstance(llm, ChatModel) else None
    if settings.regime == "published" and (whole := WINDOWS.get(settings.profile)):
        window = min(window or whole, whole)
    most = max((question.answer_form.max_tokens for question in dataset.questions), default=0)
    reserved = RESERVED + reserved_tokens(most, window or ASSUMED_WINDOW)
    variant, join = settings.chunking.get("variant", "auto"), settings.chunking.get("join")
    builder = f"chunk_table.{dataset.card.chunking if variant == 'auto' else variant}"
    setting = builders.get(builder).settings.get("size") if builder in builders else None
    size: Any = settings.chunking.get("size", setting.default) if setting else None
    size = size if isinstance(size, int) and size > 0 else None
    file, counting = user_cache("token_counts.json"), file_digest(Path(__file__))
    key = digest(dataset.corpus_digest, size, str(join), counting, code(count_tokens))
    if (sizes := read_cache(file).get(key)) is None:  # cached, as the tokenizer loads slowly
        write_cache(file, key, sizes := _chunk_sizes(dataset, size, whole=join == "corpus"))
    median, long = sizes
    return ContextWindow(median, long, window, reserved, margin)


def _chunk_sizes(dataset: Dataset, size: int | None, whole: bool) -> list[int]:
    """Return the median and the 90th percentile of the tokens of a chunk in a prompt.

    At most 200 evenly spaced documents are read. With `whole`, a chunk spans documents.
    """
    if not (documents := dataset.documents):
        return [0, 0]
    most = None if size is None else size * CHARACTERS_A_TOKEN
    counts = []
    places = np.linspace(0, len(documents) - 1, _SAMPLE).tolist()
    for document in (documents[row] for row in sorted({round(place) for place in places})):
        n_text = count_tokens(document.text[:most])
        counts.append(min(n_text, size or n_text) + count_tokens(document.title))
    if size is not None and whole:
        counts = [min(sum(counts), size)]
    return [math.ceil(n * ROW) for n in np.percentile(counts, (50, 90), method="higher")]


def round_up_to_hundred(n_tokens: float) -> int:
    """Round a number of tokens up to a multiple of 100."""
    return math.ceil(n_tokens / 100) * 100
