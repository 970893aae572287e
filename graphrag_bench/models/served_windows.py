"""The windows of embedding models that servers name: what cannot be read from their files here."""

from __future__ import annotations

import re

from graphrag_bench.errors import UserError
from graphrag_bench.models.fit import LongTexts
from graphrag_bench.models.long_texts import Tokens, Windowing
from graphrag_bench.models.tokenizer import BytePairs, HuggingFace, tokenizer_of
from graphrag_bench.models.window_tokens import OwnTokens, PairTokens

_OF_OPENAI = r"text-embedding-(?:3-|ada-002)"
_WINDOWS = (
    (_OF_OPENAI, 8191),
    (r"bge-m3", 8192),
    (r"bge-(?:small|base|large)", 512),
    (r"nomic-embed-text", 8192),
    (r"mxbai-embed-large", 512),
    (r"e5-mistral", 4096),
    (r"e5-(?:small|base|large)", 512),
    (r"gte-(?:base|large)-en-v1\.5", 8192),
    (r"gte-(?:small|base|large)", 512),
    (r"jina-embeddings-v[23]", 8192),
    (r"snowflake-arctic-embed-(?:l|m)-v2|snowflake-arctic-embed2", 8192),
    (r"snowflake-arctic-embed-m-long", 2048),
    (r"snowflake-arctic-embed", 512),
    (r"qwen3-embedding", 32768),
    (r"embeddinggemma", 2048),
    (r"all-minilm-l12", 128),
    (r"all-minilm", 256),
    (r"all-mpnet-base", 384),
)
"""Parts of names, the first that fits, and tokens as the models' cards state them."""
_FILLED = 0.75
"""The share of a window that is filled where another tokenizer is used: it may count fewer."""


def served_window(model: str) -> int | None:
    """The tokens that a model of that name reads of a text; None for a name that is not known."""
    name = model.lower()
    return next((size for part, size in _WINDOWS if re.search(part, name)), None)


def served_tokens(model: str, setting: str | None) -> Tokens:
    """The tokens of a served model: by the tokenizer that is set, else by cl100k.

    cl100k is OpenAI's own; for another model it is a substitute. Raises UserError for a setting
    that names no tokenizer.
    """
    if setting is None:
        return PairTokens(stands_in=not re.search(_OF_OPENAI, model.lower()))
    try:
        named = tokenizer_of(setting, model)
        if isinstance(named, HuggingFace):
            return OwnTokens.of_file(named.file)
    except UserError as error:
        raise UserError(str(error).replace("llm.tokenizer", "embedder.tokenizer")) from None
    assert isinstance(named, BytePairs)
    return PairTokens(named.encoding)


def served_windowing(
    model: str, window: int | None, long_texts: LongTexts, tokenizer: str | None
) -> Windowing:
    """What is done with long texts: those that do not fit into `window`, or into the known one.

    Where another tokenizer is used, windows fill three quarters of it.
    """
    tokens = served_tokens(model, tokenizer)
    size = window or served_window(model)
    if size is not None and tokens.counted_in and long_texts != "cut":
        size = int(size * _FILLED)
    return Windowing(size, long_texts, tokens)
