"""Tokenizers: defaults, counts and identities."""

from pathlib import Path

import pytest

from graphrag_bench.embedding.tokenizer import HuggingFace, tokenizer_of
from graphrag_bench.errors import UserError


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


def test_a_tokenizer_file_counts_whole_texts_and_is_known_by_name_and_content(
    tmp_path: Path,
) -> None:
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
