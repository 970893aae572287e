"""Texts longer than the window: windows, their mean, cutting, and lengths in files."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest

from graphrag_bench.embedding.long_texts import TextLengths, WindowEncoder, token_windows
from graphrag_bench.embedding.model_files import tokenizer_file, window_in_files
from graphrag_bench.embedding.openai_embedder import OpenAIEmbedder
from graphrag_bench.errors import UserError

WORDS = SimpleNamespace(
    n_special=2,  # around a text
    counts=lambda texts: [len(text.split()) for text in texts],
    spans=lambda text: [word.span() for word in re.finditer(r"\S+", text)],
)
"""A tokenizer whose tokens are words."""
TEN = "a b c d e f g h i j"


def encoded(text, prefix="", size=10):
    """Return the vector and the windows of a text. The n-th window has the n-th unit vector."""
    seen = []

    def embed(texts):
        seen.extend(texts)
        return np.eye(len(texts), 8, dtype=np.float32)

    (row,) = WindowEncoder(size, "windows", WORDS).encode([text], prefix, embed)
    return row, seen


def test_windows_overlap_by_an_eighth_and_end_between_words():
    begins = [True, False, False, False, False, False, True, False, False, True]
    for words, windows in (
        ([True] * 20, [(0, 8), (7, 15), (14, 20)]),
        ([True] * 8, [(0, 8)]),
        (begins, [(0, 6), (5, 10)]),
        ([True] + [False] * 11, [(0, 8), (7, 12)]),
    ):
        assert list(token_windows(words, 8)) == windows
    for room, every in ((1, 1), (3, 50), (8, 3), (100, 1)):
        windows = list(token_windows([token % every == 0 for token in range(230)], room))
        assert windows[0][0] == 0 and windows[-1][1] == 230
        assert all(0 < end - start <= room for start, end in windows)
        pairs = zip(windows, windows[1:], strict=False)
        assert all(before[0] < after[0] <= before[1] for before, after in pairs)


def test_a_long_text_has_the_weighted_normalised_mean_of_its_windows_with_the_prefix():
    row, windows = encoded(TEN)
    assert windows == ["a b c d e f g h", "h i j"]
    np.testing.assert_allclose(row, [*np.array([8, 3]) / np.hypot(8, 3), *[0] * 6], rtol=1e-6)
    for text, windows in (
        ("a b c d e f g h", ["query: a b c d e f g", "query: h"]),
        ("a b c d e f g", ["query: a b c d e f g"]),
    ):
        assert encoded(text, "query: ")[1] == windows
    with pytest.raises(UserError, match="4 tokens"):
        encoded("a b", "one two ", size=4)


def test_lengths_include_special_tokens_and_prefix():
    encoder = WindowEncoder(10, "windows", WORDS)
    lengths = encoder.text_lengths(["a b", TEN, TEN + " k l"])
    assert lengths == TextLengths(10, "windows", 3, 2, 14)
    assert encoder.text_lengths([TEN], "query: ").longest == 13
    assert "2 of 3 chunks" in lengths.message("chunks")


BERT = {"max_position_embeddings": 512}
XLM = {"max_position_embeddings": 514, "model_type": "xlm-roberta", "pad_token_id": 1}
MODULES = [{"path": "0_Transformer"}, {"path": "1_Pooling"}]


@pytest.mark.parametrize(
    ("files", "window"),
    [
        ({"config": BERT, "sentence_bert_config": {"max_seq_length": 256}}, 256),
        ({"config": BERT, "tokenizer_config": {"model_max_length": 128}}, 128),
        ({"config": BERT, "tokenizer_config": {"model_max_length": 10**30}}, 512),
        ({"config": XLM}, 512),
        ({"modules": MODULES, "0_Transformer/sentence_bert_config": {"max_seq_length": 77}}, 77),
        ({}, None),
    ],
)
def test_the_window_is_the_smallest_number_in_the_files(tmp_path, files, window):
    (tmp_path / "0_Transformer").mkdir()
    (tmp_path / "0_Transformer" / "tokenizer.json").touch()
    for name, stored in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(stored))
    assert window_in_files(tmp_path) == window
    assert (tokenizer_file(tmp_path) is not None) == ("modules" in files)


def test_windows_are_three_quarters_with_an_estimating_tokenizer():
    local = {"base_url": "http://127.0.0.1:9/v1", "api_key_env": None, "window": 8192}
    for name, settings, size in (
        ("text-embedding-3-small", {}, 8192),
        ("bge-m3", local, 6144),
        ("bge-m3", {"long_texts": "cut", **local}, 8192),
        ("bge-m3", {"tokenizer": "cl100k", **local}, 8192),
        ("mine", {"window": 100}, 75),
    ):
        assert OpenAIEmbedder(name, 8, **settings)._encoder.size == size
    with pytest.raises(UserError, match="embedder.tokenizer=gpt"):
        OpenAIEmbedder("bge-m3", 8, tokenizer="gpt", **local).text_lengths(["a"])
