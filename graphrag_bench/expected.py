"""What builders are told to estimate what their calls of a model will cost."""

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
    """The mean tokens of a chunk, and how many chunks there are."""

    chunk: float
    n_chunks: int = 0


ANSWER = {"short": 16, "choice": 24, "list": 64}
"""Tokens that an answer in a form usually has; `PROSE` in every other form."""
PROSE = 300
REPLY = 150
"""Tokens that a reply inside a search usually has: keywords, a choice, a thought, points."""
SHOWN = 1000
"""Tokens of rows that a step of a search usually shows a model, where no budget bounds them."""
REPORT = 300
"""Tokens that a community report usually has."""
ROUNDS = 0.5
"""The share of its rounds after which a search that may stop early usually has."""


TokensOf = Callable[[Mapping[str, Any], Sizes], tuple[float, float]]
"""Settings and sizes to the expected prompt and completion tokens of one call."""

CallsOf = Callable[[Mapping[str, Any], Sizes], int]
"""Settings and sizes to the expected calls of building one artifact."""
