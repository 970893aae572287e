"""Context windows and prices of language models, and what a window leaves for a reply."""

from dataclasses import dataclass
from functools import cache

from graphrag_bench.llm.calls import Chat
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.settings import Prices
from graphrag_bench.terminal import is_local
from graphrag_bench.text import count_tokens

STAND_IN = 1.15
"""An unknown tokenizer's tokens per token of its stand-in, at most."""
SURE, LEAST, STEP = 16, 512, 256
"""A reply is sure of a sixteenth of the window, and of 512 tokens; limits are multiples of 256."""


@dataclass(frozen=True)
class Listed:
    """What a provider's public list says of a model; `window` and `prices` are None without it."""

    window: int | None = None
    prices: Prices | None = None


@cache
def listed(model: str, base_url: str) -> Listed:
    """Return the window and the prices of a model at the provider with this address.

    The list is that of genai-prices, offline: prices of today, without the tiers of long prompts.
    Nothing is known of a server that is no provider's: the same weights cost another sum there, and
    may have another window.
    """
    if is_local(base_url):
        return Listed()
    from genai_prices import Usage, calc_price

    tokens = 1000
    try:
        price = calc_price(
            Usage(input_tokens=tokens, output_tokens=tokens), model, provider_api_url=base_url
        )
    except LookupError:
        return Listed()
    per_million = 1_000_000 / tokens
    prices = Prices(
        prompt=float(price.input_price) * per_million,
        completion=float(price.output_price) * per_million,
    )
    return Listed(price.model.context_window, prices)


def sure_tokens(most: int, window: int | None) -> int:
    """Return the tokens kept in a window for a reply of at most `most`, whatever the prompt."""
    return most if window is None else min(most, max(LEAST, window // SURE))


def reply_tokens(llm: ChatModel, chat: Chat, most: int) -> int:
    """Return `most`, or what the model's window leaves beside the prompt where that is less.

    In whole multiples of 256, and never below `sure_tokens`.
    """
    if (window := llm.window) is None:
        return most
    prompt = STAND_IN * sum(count_tokens(message.content) for message in chat)
    rest = int(window - prompt) // STEP * STEP
    return min(most, max(rest, sure_tokens(most, window)))
