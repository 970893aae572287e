"""What operators and builders are told to estimate what their calls of a model will cost."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from graphrag_bench.prompts import Prompt
from graphrag_bench.text import count_tokens

_MARKS = re.compile(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)


def template_tokens(prompt: Prompt) -> int:
    """The tokens (cl100k) of what a template says itself, without marks, comments and values."""
    return count_tokens(_MARKS.sub("", prompt.text).strip())


@dataclass(frozen=True)
class Sizes:
    """What an estimate can know before a run.

    Mean tokens per question and per chunk, and how many chunks there are. Then, where a step
    begins: the expected tokens of the `context` and its rows (`pieces`), the chunks listed so far
    (`passages`), the rows of all lists that the step reads (`listed`), and the tokens of the
    points that were made of a context. `answer` is the mean of the most tokens of an answer,
    `form` that of the words that ask for its form, and `licence` that of the clause among them on
    what the context does not hold.
    """

    question: float
    chunk: float
    n_chunks: int = 0
    context: float = 0.0
    pieces: float = 0.0
    passages: float = 0.0
    listed: float = 0.0
    points: float = 0.0
    answer: float = 0.0
    form: float = 0.0
    licence: float = 0.0


TokensOf = Callable[[Mapping[str, Any], Sizes], tuple[float, float]]
"""Settings and sizes to the expected prompt and completion tokens of one call."""

ExpectedOf = Callable[[Mapping[str, Any], Sizes], float]
"""Settings and sizes to the expected calls of one question, corrective retries aside."""

CallsOf = Callable[[Mapping[str, Any], Sizes], int]
"""Settings and sizes to the expected calls of building one artifact."""
