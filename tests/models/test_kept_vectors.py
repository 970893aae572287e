"""Vectors stored by content: one text, one embedding, under kills, two processes and damage."""

from __future__ import annotations

import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from graphrag_bench.models.embedder import Hashing, Kind, Vectors, encode_in_blocks
from graphrag_bench.models.kept_vectors import KeptVectors
from graphrag_bench.models.reply_store import ReplyStore, StoredVector

TEXTS = ["Ada", "Norvik", "the old queen", "Ada"]
ROOT = Path(__file__).resolve().parents[2]


class Counting(Hashing):
    """Counts the texts that it is given."""

    def __init__(self, dimension: int = 8) -> None:
        super().__init__(dimension)
        self.asked: list[tuple[str, str]] = []

    def encode(self, texts: Sequence[str], *, kind: Kind) -> Vectors:
        self.asked += [(text, kind) for text in texts]
        return super().encode(texts, kind=kind)


@pytest.fixture
def store(tmp_path: Path) -> ReplyStore:
    return ReplyStore(tmp_path / "vectors.sqlite")


def test_a_text_is_embedded_once_for_its_kind_and_model(store: ReplyStore) -> None:
    counting = Counting()
    kept = KeptVectors(counting, store)
    rows = kept.encode(TEXTS, kind="passage")
    assert rows.dtype == np.float32
    assert np.array_equal(rows, Hashing(8).encode(TEXTS, kind="passage"))
    more = kept.encode(["a new one", *TEXTS], kind="passage")
    assert np.array_equal(more[1:], rows)
    assert [text for text, _ in counting.asked] == ["Ada", "Norvik", "the old queen", "a new one"]
    kept.encode(["Ada"], kind="question")
    assert counting.asked[-1] == ("Ada", "question")
    other = Counting(16)
    assert KeptVectors(other, store).encode(["Ada"], kind="passage").shape == (1, 16)
    assert len(other.asked) == 1


def test_another_process_finds_what_is_stored(store: ReplyStore) -> None:
    KeptVectors(Hashing(8), store).encode(TEXTS, kind="passage")
    store.close()
    counting = Counting()
    again = KeptVectors(counting, ReplyStore(store.path)).encode(TEXTS, kind="passage")
    assert np.array_equal(again, Hashing(8).encode(TEXTS, kind="passage"))
    assert counting.asked == []


def test_no_texts_are_no_rows(store: ReplyStore) -> None:
    assert KeptVectors(Hashing(8), store).encode([], kind="passage").shape == (0, 8)


def test_reading_stores_nothing_and_refresh_embeds_again(store: ReplyStore) -> None:
    KeptVectors(Hashing(8), store).encode(["Ada"], kind="passage")
    counting = Counting()
    for _ in range(2):
        KeptVectors(counting, store, "read").encode(["Ada", "Norvik"], kind="passage")
    assert [text for text, _ in counting.asked] == ["Norvik", "Norvik"]
    KeptVectors(counting, store, "refresh").encode(["Ada"], kind="passage")
    assert counting.asked[-1] == ("Ada", "passage")


def test_a_changed_vector_is_named_left_out_and_embedded_again(
    store: ReplyStore, capfd: pytest.CaptureFixture[str]
) -> None:
    rows = KeptVectors(Hashing(8), store).encode(TEXTS, kind="passage")
    store.close()
    with closing(sqlite3.connect(store.path)) as other:
        other.execute("UPDATE vectors SET numbers = zeroblob(32) WHERE rowid = 2")
        other.commit()
    counting = Counting()
    kept = KeptVectors(counting, ReplyStore(store.path))
    for _ in range(2):
        assert np.array_equal(kept.encode(TEXTS, kind="passage"), rows)
    assert counting.asked == [("Norvik", "passage")]
    told = re.findall(r"^! The cache .*vectors\.sqlite is damaged: the row", capfd.readouterr().err)
    assert len(told) == 1


def test_what_another_process_stored_first_is_handed_out(store: ReplyStore) -> None:
    """So that two processes that embed the same text at once work on with the same numbers."""
    mine, other = (StoredVector("k", "e", numbers) for numbers in (b"mine", b"them"))
    assert store.put_vectors([other]) == [other]
    assert store.put_vectors([mine]) == [other]
    assert store.put_vectors([mine], replace=True) == [mine]


def test_ten_thousand_vectors_are_read_many_times_faster_than_they_could_be_embedded(
    store: ReplyStore,
) -> None:
    rows = np.random.default_rng(0).standard_normal((10_000, 384)).astype(np.float32)
    keys = [f"{number:032x}" for number in range(len(rows))]
    store.put_vectors(
        StoredVector(key, "e", row.tobytes()) for key, row in zip(keys, rows, strict=True)
    )
    began = time.process_time()
    found = store.vectors(keys)
    assert time.process_time() - began < 2.0
    assert found[keys[-1]].numbers == rows[-1].tobytes()


WRITING = """
import sys
from graphrag_bench.models.embedder import Hashing
from graphrag_bench.models.kept_vectors import KeptVectors
from graphrag_bench.models.reply_store import ReplyStore
kept = KeptVectors(Hashing(64), ReplyStore(sys.argv[1]))
for number in range(int(sys.argv[2])):
    kept.encode([f"text {number} {part}" for part in range(50)], kind="passage")
    print(number, flush=True)
"""


@pytest.mark.slow
def test_what_was_handed_out_outlives_kill_9_and_a_second_process(tmp_path: Path) -> None:
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
    counting = Counting(64)
    texts = [f"text {number} {part}" for number in range(13) for part in range(50)]
    rows = encode_in_blocks(texts, KeptVectors(counting, ReplyStore(path)))
    assert counting.asked == []
    assert np.array_equal(rows, Hashing(64).encode(texts, kind="passage"))
