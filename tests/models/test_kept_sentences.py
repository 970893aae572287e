"""Readings of a tagger stored by content: a text is read once, whatever it is read for."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from toy_runs import Capitals

from graphrag_bench.models.kept_sentences import KeptSentences, ReadingStore
from graphrag_bench.models.nlp import Relation, Sentence, Spacy

TEXTS = ["Ada met Grace in Norvik.", "Nobody came.", "Ada met Grace in Norvik.", ""]
PASSAGES = [
    "World Health Organization (WHO) was founded in 1948. She leads it. Ada's brother taught Max.",
    "It is in Geneva.",
    "«Zürich» und Ελλάδα; naïve café, 東京.",
    "",
]


class Counting(Capitals):
    """Counts the texts that it is given."""

    def __init__(self, identity: str = "counting") -> None:
        super().__init__()
        self.identity = identity
        self.asked: list[str] = []

    def sentences(self, texts: Sequence[str]) -> Iterator[list[Sentence]]:
        for text in texts:
            self.asked.append(text)
            yield from super().sentences([text])

    def entities(self, text: str) -> list[str]:
        self.asked.append(text)
        return super().entities(text)


@pytest.fixture
def store(tmp_path: Path) -> ReadingStore:
    return ReadingStore(tmp_path / "sentences.sqlite")


def test_a_text_is_read_once_for_its_tagger(store: ReadingStore) -> None:
    counting = Counting()
    kept = KeptSentences(counting, store)
    expected = list(Capitals().sentences(TEXTS))
    assert list(kept.sentences(TEXTS)) == expected
    assert list(kept.sentences(["Max came.", *TEXTS]))[1:] == expected
    assert counting.asked == [*TEXTS[:2], "", "Max came."]
    assert kept.entities(TEXTS[0]) == kept.entities(TEXTS[0]) == Capitals().entities(TEXTS[0])
    assert counting.asked[4:] == [TEXTS[0]]
    other = Counting("other")
    list(KeptSentences(other, store).sentences(TEXTS))
    assert len(other.asked) == 3


def test_more_texts_than_a_block_keep_their_order(store: ReadingStore) -> None:
    texts = [f"Town{number % 201} lies near Norvik." for number in range(500)]
    list(KeptSentences(Counting(), store).sentences(texts[100:150]))
    counting = Counting()
    found = list(KeptSentences(counting, store).sentences(texts))
    assert [one[0].text for one in found] == texts
    assert len(counting.asked) == 201 - 50


def test_reading_stores_nothing_and_refresh_reads_again(store: ReadingStore) -> None:
    list(KeptSentences(Counting(), store).sentences(TEXTS[:1]))
    counting = Counting()
    for _ in range(2):
        list(KeptSentences(counting, store, "read").sentences(TEXTS[:2]))
    assert counting.asked == [TEXTS[1], TEXTS[1]]
    list(KeptSentences(counting, store, "refresh").sentences(TEXTS[:1]))
    assert counting.asked[-1] == TEXTS[0]


def test_a_reading_that_was_changed_is_named_left_out_and_read_again(
    store: ReadingStore, capfd: pytest.CaptureFixture[str]
) -> None:
    expected = list(KeptSentences(Counting(), store).sentences(TEXTS))
    store.close()
    with closing(sqlite3.connect(store.path)) as other:
        other.execute("UPDATE readings SET found = x'00' WHERE rowid = 1")
        other.commit()
    counting = Counting()
    assert list(KeptSentences(counting, ReadingStore(store.path)).sentences(TEXTS)) == expected
    assert counting.asked == TEXTS[:1]
    assert "sentences.sqlite is damaged" in capfd.readouterr().err


@pytest.mark.real
def test_what_spacy_reads_is_handed_out_as_it_was(store: ReadingStore) -> None:
    first = list(KeptSentences(Spacy(), store).sentences(PASSAGES))
    assert first == list(KeptSentences(Spacy(), store).sentences(PASSAGES))
    assert first == [found for text in PASSAGES for found in Spacy().sentences([text])]
    assert first[0][0].entities and any(one.relations for one in first[0])
    assert isinstance(first[0][0], Sentence) and "She" in first[0][1].pronouns
    assert all(isinstance(r, Relation) for s in first[0] for r in s.relations)
