"""Context windows of language models by name, and what they leave for a reply."""

import re

from graphrag_bench.llm.calls import Chat
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.text import count_tokens

STAND_IN = 1.15
"""An unknown tokenizer's tokens per token of its stand-in, at most."""
SURE, LEAST, STEP = 16, 512, 256
"""A reply is sure of a sixteenth of the window, and of 512 tokens; limits are multiples of 256."""
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
    """Return the tokens that prompt and reply of a model share; None for a name that is not known.

    Behind `provider/` and in the longer names of files (`Qwen2.5-7B-Instruct-Q4_K_M.gguf`) too.
    """
    for pattern, n_tokens in WINDOWS:
        if re.search(_START + f"(?:meta-)?(?:{pattern})", name.lower()):
            return n_tokens
    return None


def sure_tokens(most: int, window: int | None) -> int:
    """Return the tokens kept in a window for a reply of at most `most`, whatever the prompt."""
    return most if window is None else min(most, max(LEAST, window // SURE))


def reply_tokens(llm: ChatModel, chat: Chat, most: int) -> int:
    """Return `most`, or what the model's window leaves beside the prompt where that is less.

    In whole multiples of 256, and never below `sure_tokens`. The window is as the model states it,
    or known by its name.
    """
    window = llm.window or window_of(llm.identity)
    if window is None:
        return most
    prompt = STAND_IN * sum(count_tokens(message.content) for message in chat)
    rest = int(window - prompt) // STEP * STEP
    return min(most, max(rest, sure_tokens(most, window)))
