"""Context windows and prices of language models, and what a window leaves for a reply."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from graphrag_bench.llm.calls import Chat
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.settings import Prices, group
from graphrag_bench.terminal import is_local
from graphrag_bench.text import count_tokens

STAND_IN = 1.15
"""An unknown tokenizer's tokens per token of its stand-in, at most."""
SURE, LEAST, STEP = 16, 512, 256
"""A reply is sure of a sixteenth of the window, and of 512 tokens; limits are multiples of 256."""


_TOKENS = 1000
"""Of the call that is priced: below the tiers of long prompts."""


@cache
def listed(model: str, base_url: str) -> tuple[int | None, Prices | None]:
    """Return the window and the prices of a model at the provider with this address, or None.

    The list is that of genai-prices, offline: prices of today, without the tiers of long prompts.
    Nothing is known of a server that is no provider's: the same weights cost another sum there, and
    may have another window.
    """
    if is_local(base_url):
        return None, None
    from genai_prices import Usage, calc_price

    usage = Usage(input_tokens=_TOKENS, output_tokens=_TOKENS)
    try:
        price = calc_price(usage, model, provider_api_url=base_url)
    except LookupError:
        return None, None
    prompt, completion = (
        float(one) * 1_000_000 / _TOKENS for one in (price.input_price, price.output_price)
    )
    return price.model.context_window, Prices(prompt=prompt, completion=completion)


def prices_at(model: str, base_url: str, settings: Prices | Mapping[str, Any] | None) -> Prices:
    """Return the prices that were set, else those of the provider's list; 0 where it has none."""
    if settings is not None:
        return group(Prices, settings)
    return listed(model, base_url)[1] or Prices()


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
