"""Average sizes, from which the model calls and tokens of builders and operators are estimated."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from graphrag_bench.prompts import Prompt
from graphrag_bench.text import count_tokens

_MARKS = re.compile(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)
SHORT_ANSWER_TOKENS = {"short": 16, "choice": 24, "list": 64}
"""Usual number of tokens of an answer, by its form. Other forms have `PROSE_TOKENS` tokens."""
PROSE_TOKENS = 300
REPLY_TOKENS = 150
"""Usual number of tokens of a reply during retrieval, such as keywords, a choice or a thought."""
ROW_TOKENS = 1000
"""Usual number of tokens of the texts in a retrieval prompt that has no context budget."""
REPORT_TOKENS = 300
"""Usual number of tokens of a community report."""
ROUNDS_SHARE = 0.5
"""Usual fraction of the allowed rounds that are needed by a search that can stop early."""


def template_tokens(prompt: Prompt) -> int:
    """Return the number of tokens (cl100k) of a template without its variables and comments."""
    return count_tokens(_MARKS.sub("", prompt.text).strip())


@dataclass(frozen=True)
class Sizes:
    """Size of a chunk table: the mean number of tokens of a chunk, and the number of chunks."""

    chunk: float
    n_chunks: int = 0


TokensOf = Callable[[Mapping[str, Any], Sizes], tuple[float, float]]
"""Function that takes settings and sizes and returns the prompt and completion tokens of a call."""

CallsOf = Callable[[Mapping[str, Any], Sizes], int]
"""Function that takes settings and sizes and returns the number of calls to build an artifact."""
