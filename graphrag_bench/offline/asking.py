"""A build model asked about many chunks, clusters or nodes; refused where nothing was of use."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TypeVar

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UnreadableReply
from graphrag_bench.llm.calls import CallFailed, Chat
from graphrag_bench.llm.chat import LLM
from graphrag_bench.llm.structured import Reading, ask_each
from graphrag_bench.offline.parts import Extractor, refuse_all_failed, window_of
from graphrag_bench.progress import Progress
from graphrag_bench.prompts import Prompt
from graphrag_bench.text import count_tokens

T = TypeVar("T")
_MOST_TOKENS = 32_768


def documents_of_chunks(chunk_table: ChunkTable) -> list[str]:
    """Return the first document of each chunk, by which messages name the chunk."""
    return [chunk_table.documents_of(row)[0] for row in range(len(chunk_table))]


def records_of(
    extractor: Extractor,
    chats: Sequence[Chat],
    reading: Reading[T],
    items: Sequence[str],
    progress: Progress,
    advice: str,
    was: str = "could be read",
) -> list[T | UnreadableReply | CallFailed]:
    """Return what was read of each reply, failures included; raises UserError for failures alone.

    The step is named by the purpose of the reading, `advice` says what to do.
    """
    with progress.task(reading.purpose, len(chats)) as advance:
        results = extractor.ask(chats, reading, items=items, advance=advance)
    refuse_all_failed(f"Step '{reading.purpose}'", failures(results), len(results), advice, was=was)
    return results


def written_texts(
    llm: LLM,
    chats: Sequence[Chat],
    items: Sequence[str],
    max_tokens: int,
    step: str,
    advice: str,
    progress: Progress,
) -> list[str | None]:
    """Return the text of each reply without spaces around it, None where none was of use.

    Raises UserError when none of all was.
    """
    reading = Reading(step, partial(_plain, step))
    with progress.task(step, len(chats)) as advance:
        results = ask_each(
            llm, chats, reading, max_tokens=max_tokens, items=items, retry=False, advance=advance
        )
    refuse_all_failed(f"Step '{step}'", failures(results), len(results), advice, was="was of use")
    return [one if isinstance(one, str) else None for one in results]


def failures(results: Sequence[object]) -> list[UnreadableReply | CallFailed]:
    """Return the results that are no value."""
    return [one for one in results if isinstance(one, UnreadableReply | CallFailed)]


def room_for(llm: LLM, prompt: Prompt, max_tokens: int) -> int:
    """Return the tokens of texts that fit the window with the prompt, the names and the reply."""
    if (window := window_of(llm)) is None:
        return _MOST_TOKENS
    reserve = count_tokens(prompt.text) + max_tokens + 200
    return max(1, min(_MOST_TOKENS, window - reserve))


def _plain(step: str, text: str, cut: bool) -> str:
    if not text.strip():
        raise UnreadableReply(step, text)
    return text.strip()
