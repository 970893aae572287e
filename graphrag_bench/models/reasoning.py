"""Reasoning removed from replies: what a model thinks never counts as its answer."""

from __future__ import annotations

import re

_WHOLE = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_OPENED = re.compile(r"^\s*<(think|thinking|reasoning)>.*\Z", re.DOTALL | re.IGNORECASE)
_CLOSED = re.compile(r"\A.*</(think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)


def without_thinking(text: str) -> str:
    """The answer alone; "" when the reply ended before the thinking did.

    Some chat templates open the block themselves, so that a reply holds only its end.
    """
    if "<" not in text:
        return text.strip()
    answer = _WHOLE.sub("", text)
    answer = _CLOSED.sub("", answer)
    return _OPENED.sub("", answer).strip()


def thinking_share(answer: str, whole: str, reasoning: str) -> float:
    """The part of a reply that was thinking, in 0-1, by characters; for servers that do not say."""
    n_all = len(whole) + len(reasoning)
    return 0.0 if n_all == 0 else max(0.0, 1 - len(answer) / n_all)
