"""Sizes from which the model calls and tokens of builders and operators are estimated."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from graphrag_bench.prompts import Prompt
from graphrag_bench.text import count_tokens

_MARKS = re.compile(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)


def template_tokens(prompt: Prompt) -> int:
    """Return the number of tokens (cl100k) of a template without its variables and comments."""
    return count_tokens(_MARKS.sub("", prompt.text).strip())


@dataclass(frozen=True)
class Sizes:
    """Size of a chunk table: the mean number of tokens of a chunk, and the number of chunks."""

    chunk: float
    n_chunks: int = 0


SHORT_ANSWER_TOKENS = {"short": 16, "choice": 24, "list": 64}
"""Usual number of tokens of an answer, by its form; other forms have `PROSE_TOKENS`."""
PROSE_TOKENS = 300
REPLY_TOKENS = 150
"""Usual number of tokens of a reply during retrieval: keywords, a choice, a thought, points."""
ROW_TOKENS = 1000
"""Usual number of tokens of the texts in a retrieval prompt that no budget limits."""
REPORT_TOKENS = 300
"""Usual number of tokens of a community report."""
ROUNDS_SHARE = 0.5
"""Usual share of the allowed rounds that a search with early stopping takes."""


TokensOf = Callable[[Mapping[str, Any], Sizes], tuple[float, float]]
"""Function from settings and sizes to the expected prompt and completion tokens of a call."""

CallsOf = Callable[[Mapping[str, Any], Sizes], int]
"""Function from settings and sizes to the expected number of calls that build an artifact."""
