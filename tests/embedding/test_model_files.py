"""The identity of a local model: the content of its files."""

import shutil
from pathlib import Path

import pytest

from graphrag_bench import fingerprint
from graphrag_bench.embedding.sentence_embedder import SentenceEmbedder

FILES = {
    "modules.json": "[]",
    "config.json": '{"hidden_size": 3}',
    "model.safetensors": "weights",
    "tokenizer.json": "words",
    "vocab.txt": "one\ntwo",
    "1_Pooling/config.json": '{"word_embedding_dimension": 3, "pooling_mode_mean_tokens": true}',
    "2_Normalize/config.json": "{}",
}
CHANGED = {
    "modules.json": "{}",
    "config.json": '{"hidden_size": 4}',
    "1_Pooling/config.json": '{"word_embedding_dimension": 3, "pooling_mode_mean_tokens": null}',
    "2_Normalize/config.json": "[]",
}
"""Other contents for files that must stay JSON."""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    fingerprint._cached_digest.cache_clear()
    return tmp_path / "cache" / "graphrag-bench" / "weights.json"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "models" / "mine"
    for name, text in FILES.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    return path


def identity(folder: Path) -> str:
    return SentenceEmbedder(str(folder)).identity


def test_each_file_of_a_model_changes_its_identity(folder: Path) -> None:
    for name in FILES:
        before = identity(folder)
        stored = (folder / name).read_text()
        other = CHANGED.get(name) or stored[:-1] + "x"  # as long as before
        (folder / name).write_text(other)
        assert identity(folder) != before
        (folder / name).write_text(stored)
        assert identity(folder) == before


def test_the_identity_does_not_depend_on_the_path(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "elsewhere" / "mine"
    shutil.copytree(folder, other)
    assert identity(other) == identity(folder)
    assert str(tmp_path) not in identity(folder)
    monkeypatch.chdir(folder.parent)
    assert SentenceEmbedder("mine").identity == identity(folder)


def test_a_hub_model_is_known_by_its_name_and_revision() -> None:
    identity = SentenceEmbedder("lab/model", "abc").identity
    assert identity.startswith("sentence-transformers:lab/model@abc:hub")


def test_digests_of_files_are_shared_by_processes(
    folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = []
    digest = fingerprint.file_digest
    monkeypatch.setattr(fingerprint, "file_digest", lambda p: read.append(p.name) or digest(p))
    result = identity(folder)
    assert sorted(read) == sorted(Path(name).name for name in FILES)
    for _ in range(2):
        fingerprint._cached_digest.cache_clear()  # as in a new process
        assert identity(folder) == result
    assert len(read) == len(FILES)
    (folder / "vocab.txt").write_text("one\ntwo\nthree")
    assert identity(folder) != result and read[len(FILES) :] == ["vocab.txt"]
