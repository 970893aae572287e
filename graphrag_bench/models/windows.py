"""Context windows of language models by name, for servers that do not state them."""

from __future__ import annotations

import re

_START = r"(?:^|[/:_-])"
WINDOWS: tuple[tuple[str, int], ...] = (
    (r"gpt-4\.1", 1_047_576),
    (r"gpt-5", 272_000),
    (r"gpt-4o|gpt-4-turbo|gpt-4\.5|chatgpt-4o|gpt-oss", 128_000),
    (r"gpt-4-32k", 32_768),
    (r"gpt-4(?![\w.])", 8_192),
    (r"gpt-3\.5", 16_385),
    (r"o[134](?![a-z0-9])", 200_000),
    (r"llama-?3\.[123]|llama-?4", 131_072),
    (r"llama-?3", 8_192),
    (r"llama-?2", 4_096),
    (r"qwen-?2\.5|qwen-?3", 32_768),
    (r"deepseek", 65_536),
    (r"mistral|mixtral|ministral", 32_768),
    (r"gemma-?3", 131_072),
    (r"gemma", 8_192),
    (r"phi-?3(?!.*128k)", 4_096),
    (r"phi-?4", 16_384),
    (r"smollm2", 8_192),
)
"""Patterns of model names with the tokens that prompt and reply share; the first that fits counts.

Source: the publishers' model cards. A server may hold less: `llm.window` says what it holds.
"""


def window_of(name: str) -> int | None:
    """The tokens that prompt and reply of a model share; None for a name that is not known.

    Behind `provider/` and in the longer names of files (`Qwen2.5-7B-Instruct-Q4_K_M.gguf`) too.
    """
    for pattern, n_tokens in WINDOWS:
        if re.search(_START + f"(?:meta-)?(?:{pattern})", name.lower()):
            return n_tokens
    return None
