import json
import re
from types import SimpleNamespace

import numpy as np
import pytest

from graphrag_bench.embedding.long_texts import TextLengths, WindowEncoder, token_windows
from graphrag_bench.embedding.model_files import tokenizer_file, window_in_files
from graphrag_bench.embedding.openai_embedder import OpenAIEmbedder
from graphrag_bench.embedding.tokenizer import HuggingFace, tokenizer_of
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
    for words, size, windows in (
        ([True] * 20, 8, [(0, 8), (7, 15), (14, 20)]),
        ([True] * 8, 8, [(0, 8)]),
        (begins, 8, [(0, 6), (5, 10)]),
        ([True] + [False] * 11, 8, [(0, 8), (7, 12)]),
        ([True] * 3, 1, [(0, 1), (1, 2), (2, 3)]),
    ):
        assert list(token_windows(words, size)) == windows


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


def test_the_default_tokenizer_follows_from_the_models_name() -> None:
    for model, identity in (
        ("gpt-4o-mini:0a1b", "o200k"),
        ("ft:gpt-4o-mini-2024:lab::x:0a1b", "o200k"),
        ("gpt-4-turbo:0a1b", "cl100k"),
        ("my-text-embedding-3-small", "cl100k"),
        ("qwen3:8b:0a1b", "cl100k (stand-in)"),
    ):
        assert tokenizer_of(None, model).identity == identity
    for setting in ("cl100", "hf:", 7):
        with pytest.raises(UserError, match=f"llm.tokenizer={setting}"):
            tokenizer_of(setting, "gpt-4o")


def test_a_tokenizer_file_counts_whole_texts_and_is_known_by_name_and_content(tmp_path):
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    words = Tokenizer(models.WordLevel({"[S]": 0, "a": 1, "b": 2, "?": 3}, unk_token="?"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing("[S] $A", special_tokens=[("[S]", 0)])
    words.enable_truncation(2)
    words.enable_padding(length=9)
    file = tmp_path / "mine" / "tokenizer.json"
    file.parent.mkdir()
    words.save(str(file))
    for path in (file.parent, file):
        assert tokenizer_of(f"hf:{path}", "").count("a b c a") == 4
    identity = HuggingFace(str(file.parent)).identity
    assert identity.startswith("hf:mine@") and str(tmp_path) not in identity
    file.write_text(file.read_text().replace('"b": 2', '"c": 2'))
    assert HuggingFace(str(file.parent)).identity != identity
