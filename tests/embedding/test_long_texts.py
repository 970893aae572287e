"""Texts longer than the window: windows, their mean, cutting, and lengths in files."""

import json
import re

import numpy as np
import pytest

from graphrag_bench.embedding.long_texts import TextLengths, WindowEncoder, token_windows
from graphrag_bench.embedding.model_files import tokenizer_file, window_in_files
from graphrag_bench.embedding.openai_embedder import OpenAIEmbedder
from graphrag_bench.errors import UserError


class Words:
    """Every word is a token, and two special ones stand around a text."""

    n_special = 2

    def counts(self, texts):
        return [len(text.split()) for text in texts]

    def spans(self, text):
        return [word.span() for word in re.finditer(r"\S+", text)]


class Seen:
    """Gives the n-th text that it sees the n-th unit vector, and keeps the texts."""

    def __init__(self):
        self.texts = []

    def __call__(self, texts):
        self.texts.append(list(texts))
        return np.eye(len(texts), 8, dtype=np.float32)


def windowing(size=10, mode="windows"):
    return WindowEncoder(size, mode, Words())


TEN = "a b c d e f g h i j"


def test_windows_overlap_by_an_eighth_and_end_between_words():
    assert list(token_windows([True] * 20, 8)) == [(0, 8), (7, 15), (14, 20)]
    assert list(token_windows([True] * 8, 8)) == [(0, 8)]
    begins = [True, False, False, False, False, False, True, False, False, True]
    assert list(token_windows(begins, 8)) == [(0, 6), (5, 10)]
    no_words = [True] + [False] * 11
    assert list(token_windows(no_words, 8)) == [(0, 8), (7, 12)]


def test_windows_cover_all_tokens_within_their_size():
    for room, every in ((1, 1), (3, 50), (8, 3), (100, 1)):
        begins = [token % every == 0 for token in range(230)]
        result = list(token_windows(begins, room))
        assert result[0][0] == 0 and result[-1][1] == 230
        assert all(0 < end - start <= room for start, end in result)
        assert all(
            before[0] < after[0] <= before[1]
            for before, after in zip(result, result[1:], strict=False)
        )


def test_a_long_text_has_the_weighted_normalised_mean_of_its_windows():
    seen = Seen()
    (row,) = windowing().encode([TEN], "", seen)
    assert seen.texts == [["a b c d e f g h", "h i j"]]
    want = np.array([8.0, 3.0]) / np.hypot(8.0, 3.0)
    np.testing.assert_allclose(row[:2], want, rtol=1e-6)
    assert not row[2:].any()


def test_each_window_includes_the_prefix():
    seen = Seen()
    windowing().encode(["a b c d e f g h"], "query: ", seen)
    assert seen.texts == [["query: a b c d e f g", "query: h"]]
    seen = Seen()
    windowing().encode(["a b c d e f g"], "query: ", seen)
    assert seen.texts == [["query: a b c d e f g"]]
    with pytest.raises(UserError, match="4 tokens"):
        windowing(4).encode(["a b"], "one two ", Seen())


def test_lengths_include_special_tokens_and_prefix():
    lengths = windowing().text_lengths(["a b", TEN, TEN + " k l"])
    assert lengths == TextLengths(10, "windows", 3, 2, 14)
    assert windowing().text_lengths([TEN], "query: ").longest == 13
    assert "2 of 3 chunks" in lengths.message("chunks")


BERT = {"max_position_embeddings": 512}
NO_BOUND = {"model_max_length": 1000000000000000019884624838656}
XLM = {"max_position_embeddings": 514, "model_type": "xlm-roberta", "pad_token_id": 1}
MODULES = [{"path": "0_Transformer"}, {"path": "1_Pooling"}]


@pytest.mark.parametrize(
    ("files", "window"),
    [
        ({"config": BERT, "sentence_bert_config": {"max_seq_length": 256}}, 256),
        ({"config": BERT, "tokenizer_config": {"model_max_length": 128}}, 128),
        ({"config": BERT, "tokenizer_config": NO_BOUND}, 512),
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
    def windowing(name, **settings):
        return OpenAIEmbedder(name, 8, **settings)._encoder

    own = windowing("text-embedding-3-small")
    assert (own.size, own.tokens.is_estimate) == (8192, False)
    local = {"base_url": "http://127.0.0.1:9/v1", "api_key_env": None, "window": 8192}
    other = windowing("bge-m3", **local)
    assert (other.size, other.tokens.is_estimate) == (6144, True)
    assert windowing("bge-m3", long_texts="cut", **local).size == 8192
    assert windowing("bge-m3", tokenizer="cl100k", **local).size == 8192
    assert windowing("mine", window=100).size == 75
    with pytest.raises(UserError, match="embedder.tokenizer=gpt"):
        windowing("bge-m3", tokenizer="gpt", **local)
