"""Calls to the language model that builds a graph."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UnreadableReply, UserError
from graphrag_bench.llm.calls import Chat
from graphrag_bench.llm.chat import ChatModel, reply_tokens
from graphrag_bench.llm.structured import Failure, ListReply, ReplyFormat, ask_each
from graphrag_bench.progress import Progress
from graphrag_bench.prompts import Prompt
from graphrag_bench.text import count_tokens

MOST_TOKENS = 4096
"""Default token limit of a reply. Source: Zhou et al. 2025, code 4e87938 (LLMConfig)."""
REPLIES, CUT = "replies", "truncated_replies"  # names of statistics
_MOST_OF_TEXTS = 32_768
_BESIDE_TEXTS = 200
"""Tokens reserved for the names in a prompt and for differences between tokenizers."""
T = TypeVar("T")


@dataclass
class Extractor:
    """Client for the language model that builds a graph.

    It counts replies and, separately, truncated replies. If `max_tokens` is None, a reply has at
    most 4,096 tokens, or fewer if the window is too small.
    """

    llm: ChatModel
    max_tokens: int | None
    progress: Progress
    n_replies: int = 0
    n_cut: int = 0

    def limit(self, chat: Chat) -> int:
        """Return the maximum number of tokens of the reply to a prompt."""
        return self.max_tokens or reply_tokens(self.llm, chat, MOST_TOKENS)

    def fits(self, chat: Chat) -> bool:
        """Return whether prompt and reply fit the context window, or True for an unknown window."""
        n_tokens = sum(count_tokens(one.content) for one in chat)
        return (window := self.llm.window) is None or n_tokens + self.limit(chat) <= window

    def ask(
        self,
        chats: Sequence[Chat],
        reading: ReplyFormat[T],
        items: Sequence[str],
        advice: str = "",
        *,
        retry: bool = True,
    ) -> list[T | Failure]:
        """Send prompts about `items` to the model, and return the parsed reply or error of each.

        If `advice` is given and all replies failed, raises a UserError that ends with the advice.
        """

        def read(text: str, cut: bool) -> T:
            self.n_replies += 1
            self.n_cut += cut
            return reading.read(text, cut)

        rows_of = defaultdict[int, list[int]](list)
        for row, chat in enumerate(chats):
            rows_of[self.limit(chat)].append(row)
        results: dict[int, T | Failure] = {}
        with self.progress.task(reading.purpose, len(chats)) as advance:
            for limit, rows in sorted(rows_of.items(), reverse=True):
                of_rows = ask_each(
                    self.llm, [chats[row] for row in rows], replace(reading, read=read),
                    max_tokens=limit, items=[items[row] for row in rows], retry=retry,
                    advance=advance,
                )  # fmt: skip
                results.update(zip(rows, of_rows, strict=True))
        in_order = [results[row] for row in range(len(chats))]
        if advice:
            require_any_success(reading.purpose, failures(in_order), len(chats), advice)
        return in_order

    def texts(
        self,
        chats: Sequence[Chat],
        items: Sequence[str],
        step: str,
        advice: str,
        is_valid: Callable[[str], bool] = bool,
    ) -> list[str | None]:
        """Send prompts to the model, and return the text of each reply.

        The text is None, and a fallback is counted, if the call failed or `is_valid` rejects the
        text. Raises UserError if no reply is valid.
        """

        def read(text: str, cut: bool) -> str:
            if not is_valid(text.strip()):
                raise UnreadableReply(step, text)
            return text.strip()

        results = self.ask(chats, ReplyFormat(step, read), items, advice, retry=False)
        if n_failed := len(failures(results)):
            self.llm.meter.fallbacks += n_failed
            self.progress.say(f"{step}: {n_failed} of {len(results)} replies could not be used.")
        return [one if isinstance(one, str) else None for one in results]

    @property
    def statistics(self) -> dict[str, float]:
        """The number of replies, and the number of replies cut at the token limit."""
        return {REPLIES: self.n_replies, CUT: self.n_cut}


def list_faults(
    n_chunks: int, *readings: Mapping[int, ListReply[Any]], malformed: Set[int] = frozenset()
) -> dict[str, float]:
    """Count all chunks, the chunks with each kind of fault, and the chunks with any fault.

    Each of `readings` maps chunks to parsed replies. A chunk that is missing in a mapping has
    failed. A chunk in `malformed` or with a skipped item is malformed.
    """
    replies = [(row, reply) for reading in readings for row, reply in reading.items()]
    failed = {row for reading in readings for row in range(n_chunks) if row not in reading}
    malformed = {row for row, reply in replies if reply.skipped} | malformed
    cut = {row for row, reply in replies if reply.cut}
    counts = {"chunks": n_chunks, "failed_chunks": len(failed), "malformed_chunks": len(malformed)}
    return {**counts, "cut_chunks": len(cut), "faulty_chunks": len(failed | malformed | cut)}


def chunk_names(chunk_table: ChunkTable) -> list[str]:
    """Return the id of the first document of each chunk, to name the chunk in messages."""
    return [chunk_table.documents_of(row)[0] for row in range(len(chunk_table))]


def failures(results: Sequence[object]) -> list[Failure]:
    """Return the results that are unreadable replies or failed calls."""
    return [one for one in results if isinstance(one, Failure)]


def require_any_success(step: str, failures: Sequence[object], n_replies: int, advice: str) -> None:
    """Raise UserError with the last failure and some advice if all replies of a step failed."""
    if n_replies and len(failures) == n_replies:
        raise UserError(
            f"Step '{step}': none of the {n_replies} replies could be used. Last failure: "
            f"{str(failures[-1])[:300]}. {advice}"
        )


def text_budget(llm: ChatModel, prompt: Prompt, max_tokens: int) -> int:
    """Return how many tokens of the context window are left for texts, after prompt and reply."""
    if (window := llm.window) is None:
        return _MOST_OF_TEXTS
    reserve = count_tokens(prompt.text) + max_tokens + _BESIDE_TEXTS
    return max(1, min(_MOST_OF_TEXTS, window - reserve))
