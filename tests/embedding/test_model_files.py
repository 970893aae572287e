import shutil
from pathlib import Path

import pytest

from graphrag_bench import fingerprint
from graphrag_bench.embedding.sentence_embedder import SentenceEmbedder

FILES = {
    "modules.json": ("[]", "{}"),
    "config.json": ('{"hidden_size": 3}', '{"hidden_size": 4}'),
    "model.safetensors": ("weights", "weightx"),
    "tokenizer.json": ("words", "wordx"),
    "vocab.txt": ("one\ntwo", "one\ntwx"),
    "1_Pooling/config.json": ('{"word_embedding_dimension": 3}', '{"word_embedding_dimension": 4}'),
    "2_Normalize/config.json": ("{}", "[]"),
}
"""For each file of a model, its text and another text of the same length."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    fingerprint._cached_digest.cache_clear()
    path = tmp_path / "models" / "mine"
    for name, (text, _) in FILES.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    return path


def identity(folder: Path) -> str:
    return SentenceEmbedder(str(folder)).identity


def test_each_file_of_a_model_changes_its_identity_but_not_its_path(folder, tmp_path, monkeypatch):
    before = identity(folder)
    for name, (text, other) in FILES.items():
        (folder / name).write_text(other)
        assert identity(folder) != before
        (folder / name).write_text(text)
        assert identity(folder) == before
    assert identity(shutil.copytree(folder, tmp_path / "elsewhere" / "mine")) == before
    monkeypatch.chdir(folder.parent)
    assert SentenceEmbedder("mine").identity == before and str(tmp_path) not in before
    hub = SentenceEmbedder("lab/model", "abc").identity
    assert hub.startswith("sentence-transformers:lab/model@abc:hub")
