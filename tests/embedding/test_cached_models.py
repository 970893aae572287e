"""Vectors and readings stored by content: a text is embedded and read once, under kills too."""

import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from toy_runs import Capitals

from graphrag_bench.embedding.cached_models import CachedEmbedder, CachedTagger
from graphrag_bench.embedding.embedder import Hashing, TextKind, Vectors, encode_in_blocks
from graphrag_bench.embedding.nlp import Sentence
from graphrag_bench.llm.cache import Cache

TEXTS = ["Ada", "Norvik", "the old queen", "Ada"]
ROOT = Path(__file__).resolve().parents[2]


class Counting(Hashing):
    def __init__(self, dimension: int = 8) -> None:
        super().__init__(dimension)
        self.texts: list[tuple[str, str]] = []

    def encode(self, texts: Sequence[str], *, kind: TextKind) -> Vectors:
        self.texts += [(text, kind) for text in texts]
        return super().encode(texts, kind=kind)


@pytest.fixture
def store(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "vectors.sqlite")


def test_a_text_is_embedded_once_for_its_kind_and_model(store: Cache) -> None:
    counting = Counting()
    rest = CachedEmbedder(counting, store)
    rows = rest.encode(TEXTS, kind="passage")
    assert rows.dtype == np.float32
    assert np.array_equal(rows, Hashing(8).encode(TEXTS, kind="passage"))
    more = rest.encode(["a new one", *TEXTS], kind="passage")
    assert np.array_equal(more[1:], rows)
    assert [text for text, _ in counting.texts] == ["Ada", "Norvik", "the old queen", "a new one"]
    rest.encode(["Ada"], kind="question")
    assert counting.texts[-1] == ("Ada", "question")
    other = Counting(16)
    assert CachedEmbedder(other, store).encode(["Ada"], kind="passage").shape == (1, 16)
    assert len(other.texts) == 1


SENTENCES = ["Ada met Grace in Norvik.", "Nobody came.", "Ada met Grace in Norvik.", ""]


class CountingTagger(Capitals):
    def __init__(self, identity: str = "counting") -> None:
        super().__init__()
        self.identity = identity
        self.texts: list[str] = []

    def sentences(self, texts: Sequence[str]) -> Iterator[list[Sentence]]:
        for text in texts:
            self.texts.append(text)
            yield from super().sentences([text])

    def entities(self, text: str) -> list[str]:
        self.texts.append(text)
        return super().entities(text)


def test_a_text_is_read_once_for_its_tagger(store: Cache) -> None:
    counting = CountingTagger()
    rows = CachedTagger(counting, store)
    expected = list(Capitals().sentences(SENTENCES))
    assert list(rows.sentences(SENTENCES)) == expected
    assert list(rows.sentences(["Max came.", *SENTENCES]))[1:] == expected
    assert counting.texts == [*SENTENCES[:2], "", "Max came."]
    for _ in range(2):
        assert rows.entities(SENTENCES[0]) == Capitals().entities(SENTENCES[0])
    assert counting.texts[4:] == [SENTENCES[0]]
    other = CountingTagger("other")
    list(CachedTagger(other, store).sentences(SENTENCES))
    assert len(other.texts) == 3


WRITING = """
import sys
from graphrag_bench.embedding.cached_models import CachedEmbedder
from graphrag_bench.embedding.embedder import Hashing
from graphrag_bench.llm.cache import Cache
kept = CachedEmbedder(Hashing(64), Cache(sys.argv[1]))
for number in range(int(sys.argv[2])):
    kept.encode([f"text {number} {part}" for part in range(50)], kind="passage")
    print(number, flush=True)
"""


@pytest.mark.slow
def test_what_was_handed_out_outlives_kill_9_and_a_second_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "vectors.sqlite"
    command = [sys.executable, "-c", WRITING, str(path)]
    with subprocess.Popen([*command, "20"], cwd=ROOT) as whole:
        with subprocess.Popen([*command, "9999"], cwd=ROOT, stdout=subprocess.PIPE) as killed:
            assert killed.stdout is not None
            for line in killed.stdout:
                if line.strip() == b"12":
                    break
            killed.send_signal(signal.SIGKILL)
        assert whole.wait() == 0
    texts = [f"text {number} {part}" for number in range(13) for part in range(50)]
    expected = Hashing(64).encode(texts, kind="passage")
    monkeypatch.delattr(Hashing, "encode")
    rows = encode_in_blocks(texts, CachedEmbedder(Hashing(64), Cache(path)))
    assert np.array_equal(rows, expected)


def test_an_embedder_of_ones_own_finds_no_vectors_of_other_code(store: Cache) -> None:
    CachedEmbedder(Hashing(8), store).encode(TEXTS, kind="passage")
    counting = Counting()
    assert counting.identity == Hashing(8).identity
    CachedEmbedder(counting, store).encode(TEXTS, kind="passage")
    assert len(counting.texts) == 3
