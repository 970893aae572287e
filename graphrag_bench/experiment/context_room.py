"""How many tokens of context a run's prompts may hold: from the corpus' chunks and the reader."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphrag_bench.answer_forms import answer_form
from graphrag_bench.config.settings import RunSettings
from graphrag_bench.contract import builders
from graphrag_bench.data.dataset import Dataset, Document
from graphrag_bench.experiment.models import Models
from graphrag_bench.llm.windows import STAND_IN, sure_tokens, window_of
from graphrag_bench.text import count_tokens

LEAST = 2400
"""Tokens of `budget_context=auto` where the chunks are short: 4 passages of 200 tokens in a third
of the context."""
CHUNKS, SHARE = 4, 0.33
"""`auto` has room for so many whole chunks (k of Zhou et al. 2025, section 7.1) in the share of a
context that methods with tables leave to chunks."""
ASSUMED_WINDOW = 8192
"""Tokens of the window where neither the model's name nor a setting tells it."""
RESERVED = 600
"""Tokens of the window that are kept for instructions and question."""
ROW = 1.05
"""What a row of a prompt adds to its chunk: its number, and the quotes of a table."""
_SAMPLE = 200
_CHARACTERS_A_TOKEN = 8


@dataclass(frozen=True)
class ChunkSize:
    """Tokens (cl100k) of the chunks of a corpus as rows of a prompt, with their titles.

    `typical` is the median, `long` what nine of ten do not pass; 0 for a corpus without a chunk.
    """

    typical: int
    long: int


@dataclass(frozen=True)
class Room:
    """What decides how many tokens of context a prompt may hold.

    `window` is the reader's, None where nothing tells it; `reserved` what the answer, the
    instructions and the question take of it; `margin` how many of its tokens a counted one is.
    """

    chunk: ChunkSize
    window: int | None
    reserved: int
    margin: float = 1.0

    def within(self, window: int) -> int:
        """Tokens of context that a window leaves, in whole hundreds; at least 1."""
        left = (window - self.reserved) / self.margin
        return max(1, int(left) // 100 * 100 if left >= 100 else int(left))

    @property
    def known(self) -> int | None:
        """Tokens of context that the reader's window leaves; None where the window is not known."""
        return None if self.window is None else self.within(self.window)

    @property
    def wanted(self) -> int:
        """Tokens in which every method finds room for its chunks, in whole hundreds."""
        return max(LEAST, in_hundreds(CHUNKS * self.chunk.long / SHARE))

    @property
    def auto(self) -> int:
        """Tokens of `budget_context=auto`: what is wanted, within the reader's window."""
        return min(self.wanted, self.within(self.window or ASSUMED_WINDOW))


def room_of(settings: RunSettings, dataset: Dataset, models: Models) -> Room:
    """The room of a run's prompts. No model is asked or loaded."""
    margin = STAND_IN if "(stand-in)" in models.identity("tokenizer") else 1.0
    window = reader_window(settings, models)
    asked = {(question.form, question.open_tokens) for question in dataset.questions}
    most = max((answer_form(*one).max_tokens for one in asked), default=0)
    reserved = RESERVED + sure_tokens(most, window or ASSUMED_WINDOW)
    return Room(chunk_size(settings, dataset), window, reserved, margin)


def reader_window(settings: RunSettings, models: Models) -> int | None:
    """The window of the model that answers, in tokens: as it states it, or by its name."""
    stated = getattr(models.bare("llm"), "window", None)
    if isinstance(stated, int):
        return stated
    return window_of(str(settings.llm.get("model", ""))) or window_of(models.identity("llm"))


def chunk_size(settings: RunSettings, dataset: Dataset) -> ChunkSize:
    """The tokens of a corpus' chunks as the run will cut them, from at most 200 documents.

    The documents are spread evenly over the corpus. Of a long document only the beginning is
    counted: it tells that its windows are full. So are the windows over a joined corpus.
    """
    documents = dataset.documents
    last = max(len(documents) - 1, 0)
    rows = sorted({round(place) for place in np.linspace(0, last, _SAMPLE).tolist()})
    size = _window_size(settings, dataset)
    most = None if size is None else size * _CHARACTERS_A_TOKEN
    counts = []
    if size is not None and settings.chunking.get("join") == "corpus":
        rows, counts = [], [_joined(documents, size)] if documents else []
    for document in (documents[row] for row in rows if documents):
        n_text = count_tokens(document.text[:most])
        counts.append(min(n_text, size or n_text) + count_tokens(document.title))
    if not counts:
        return ChunkSize(0, 0)
    typical, long = np.percentile(counts, (50, 90), method="higher")
    return ChunkSize(math.ceil(typical * ROW), math.ceil(long * ROW))


def _joined(documents: Sequence[Document], size: int) -> int:
    total = 0
    for document in documents:
        total += count_tokens(document.passage[: size * _CHARACTERS_A_TOKEN])
        if total >= size:
            return size
    return total


def _window_size(settings: RunSettings, dataset: Dataset) -> int | None:
    given = settings.chunking
    variant = given.get("variant", "auto")
    variant = dataset.card.chunking if variant == "auto" else variant
    name = f"chunk_table.{variant}"
    setting = builders.get(name).settings.get("size") if name in builders else None
    if setting is None:
        return None
    size: Any = given.get("size", setting.default)
    return size if isinstance(size, int) and size > 0 else None


def in_hundreds(n_tokens: float) -> int:
    """The next whole hundred."""
    return math.ceil(n_tokens / 100) * 100
