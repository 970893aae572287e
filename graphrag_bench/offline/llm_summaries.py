"""Summaries of clusters of texts by the build model, and which replies are unusable."""

from __future__ import annotations

import re
from collections.abc import Sequence

from graphrag_bench.errors import UnreadableReply
from graphrag_bench.models.llm import LLM, Metered
from graphrag_bench.models.outcomes import CallFailed, Completion
from graphrag_bench.models.structured import Reading, ask_each, settled
from graphrag_bench.offline.parts import refuse_all_failed, window_of
from graphrag_bench.offline.sentences import cut
from graphrag_bench.progress import Progress
from graphrag_bench.prompts import Prompt
from graphrag_bench.text import count_tokens

STEP = "summarise clusters"
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\d_]{4,}")
_STEM = 6
_LEAST_SHARED = 1 / 3
_RESERVE = 64


class Summariser:
    """Asks for one summary of each cluster, and keeps its texts and summaries by row."""

    def __init__(
        self, llm: LLM, prompt: Prompt, max_tokens: int, progress: Progress, texts: list[str]
    ) -> None:
        self.llm, self.prompt, self.max_tokens = llm, prompt, max_tokens
        self.progress, self.texts = progress, texts
        self.words = frozenset(word for text in texts for word in content_words(text))
        self.n_leaves = len(texts)

    def summaries(self, families: Sequence[Sequence[int]]) -> list[str]:
        """One summary for each family of rows; raises UserError when no reply was of use."""
        chats = []
        for family in families:
            told = "\n\n".join(self._fitted([self.texts[row] for row in family]))
            chats.append(self.prompt.render({"texts": told}))
        with self.progress.task(STEP, len(chats)) as advance:
            results = ask_each(
                self.llm,
                chats,
                Reading(STEP, self._read),
                max_tokens=self.max_tokens,
                items=[f"cluster of {family[0]}" for family in families],
                advance=advance,
            )
        failures = [one for one in results if isinstance(one, UnreadableReply | CallFailed)]
        refuse_all_failed(
            f"Step '{STEP}'", failures, len(results),
            "The model may be too small, or its window may cut the prompt; build.graph=tree takes "
            "central sentences instead.", was="was a summary of the texts",
        )  # fmt: skip
        made = []
        for family, result in zip(families, results, strict=True):
            stand_in = self._beginnings([self.texts[row] for row in family])
            made.append(settled(self.llm, result, stand_in))
        if failures:
            self.progress.say(
                f"{STEP}: {len(failures)} of {len(results)} replies were unusable; the first words "
                "of the texts replace them."
            )
        self.texts += made
        return made

    def say_what_was_stored(self) -> None:
        """Say that the tree is clustered anew, and how many of its summaries were not asked for."""
        outcomes = self.llm.replies if isinstance(self.llm, Metered) else []
        n_stored = sum(isinstance(one, Completion) and one.cached for one in outcomes)
        self.progress.say(
            f"{STEP}: the tree over {self.n_leaves:,} chunks is clustered anew; {n_stored:,} of "
            f"{len(outcomes):,} replies were stored"
        )

    def _fitted(self, texts: Sequence[str]) -> list[str]:
        flat = [" ".join(text.split()) for text in texts]
        if (window := window_of(self.llm)) is None:
            return flat
        room = window - self.max_tokens - count_tokens(self.prompt.text) - _RESERVE
        if sum(count_tokens(text) + 1 for text in flat) <= room:
            return flat
        return [cut(text, max(room // len(flat) - 1, 1)) for text in flat]

    def _read(self, text: str, was_cut: bool) -> str:
        found = content_words(text)
        n_known = sum(word in self.words for word in found)
        if not found or n_known < _LEAST_SHARED * len(found):
            raise UnreadableReply(STEP, text)
        return text.strip()

    def _beginnings(self, texts: Sequence[str]) -> str:
        share = max(self.max_tokens // len(texts), 1)
        return " ".join(cut(" ".join(text.split()), share) for text in texts)


def content_words(text: str) -> list[str]:
    """The words of a text that carry its subject, by their first six letters.

    Words of four letters or more but for English stop words; of Chinese, Japanese and Korean,
    single characters.
    """
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    words = (word.casefold() for word in _WORD.findall(text))
    return [word[:_STEM] for word in words if word not in ENGLISH_STOP_WORDS]
