"""Chunks and sentences by hand; each word here is one token."""

import re
import unicodedata
from dataclasses import replace

import pytest
from builds import QUIET
from by_hand import Planted
from hypothesis import given
from hypothesis import strategies as st
from small_worlds import dataset

from graphrag_bench.errors import UserError
from graphrag_bench.graphs.chunking import presplit, separator, token
from graphrag_bench.graphs.sentences import central_sentences, split_sentences
from graphrag_bench.text import count_tokens, encode

FOUR = [("a", "one two three"), ("b", "four five"), ("c", " "), ("d", "six seven eight nine")]
"""Nine words and, between documents that are not blank, two blank lines: 11 tokens."""


def test_windows_over_the_corpus_belong_to_several_documents_of_a_scope():
    for size, overlap, expected in (
        (4, 0, [("one two three", "a"), ("four five\n\nsix", "bd"), ("seven eight nine", "d")]),
        (5, 1, [("one two three\n\nfour", "ab"), ("four five\n\nsix seven", "bd"),
                ("seven eight nine", "d")]),
        (20, 0, [("one two three\n\nfour five\n\nsix seven eight nine", "abd")]),
    ):  # fmt: skip
        corpus = dataset(*((name, "", text) for name, text in FOUR))
        table = token(corpus=corpus, size=size, overlap=overlap, join="corpus")
        result = [(text, "".join(table.documents_of(row))) for row, text in enumerate(table.texts)]
        assert result == expected
        assert list(table.titles) == [""] * len(expected)
        assert table.chunks_of("d") == [row for row, (_, of) in enumerate(expected) if "d" in of]
    corpus = dataset(("a", "First", "one"), ("b", "Second", "two"), ("c", "", "three"))
    scoped = [replace(row, scope="s" if row.id == "c" else "r") for row in corpus.documents]
    scoped = replace(corpus, documents=tuple(scoped))
    table = token(corpus=scoped, size=100, overlap=0, join="corpus")
    assert [*table.texts] == ["First\none\n\nSecond\ntwo", "three"]


def test_a_document_is_cut_into_windows_of_tokens_or_merged_sentences():
    for chunking, text, size, overlap, expected in (
        (token, "one two three four five six seven", 3, 1,
         ["one two three", "three four five", "five six seven", "seven"]),
        (separator, "One two. Three four. Five.", 6, 0, ["One two. Three four.", "Five."]),
        (separator, "one two three four five six", 4, 1, ["one two three", "three four five six"]),
        (separator, "東京。大阪。", count_tokens("東京。"), 0, ["東京。", "大阪。"]),
    ):  # fmt: skip
        table = chunking(corpus=dataset(("d", "Count", text)), size=size, overlap=overlap)
        assert ([*table.texts], {*table.titles}) == (expected, {"Count"})


def test_blank_documents_have_no_chunk_and_a_blank_corpus_is_an_error():
    for chunking in (presplit, token, separator):
        table = chunking(corpus=dataset(("a", "A", " \n"), ("b", "B", "text")))
        assert [*table.texts] == ["text"]
        with pytest.raises(UserError, match="blank"):
            chunking(corpus=dataset(("a", "A", ""), ("b", "B", "  ")))
        if chunking is not presplit:
            with pytest.raises(UserError, match="overlap 3"):
                chunking(corpus=dataset(("d", "", "one two")), size=3, overlap=3)


def test_documents_are_chunks_and_equal_contents_share_a_chunk():
    long = "word " * 3000
    rows = [("a", "T", "same"), ("b", "T", long), ("c", "T", "same"), ("d", "S", "same")]
    table = presplit(corpus=dataset(*rows))
    assert [*table.texts] == ["same", long.strip(), "same"]
    assert table.passage(2) == "S\nsame"
    assert table.documents_of(0) == ["a", "c"]
    assert [table.chunks_of(name) for name in "acdx"] == [[0], [0], [2], []]
    assert list(table.ranked_documents([1, 0])) == ["b", "a", "c"]
    one = token(corpus=dataset(("d", "", "go go go go")), size=2, overlap=0)
    assert ([*one.texts], one.documents_of(0)) == (["go go"], ["d"])


SCRIPTS = st.lists(
    st.sampled_from([
        "one", "two.", "龘靐齉爨", "二氧化碳；。", "ที่นี่", "हिन्दी", "\n", "👩🏽\u200d🚒",
        "e\u0301", "﷽", "\u00ad\u200b\t",
    ]),
    max_size=30,
).map(" ".join)  # fmt: skip


@given(
    st.one_of(SCRIPTS, st.text(st.characters(exclude_categories=["Cs"]))),
    st.integers(2, 12),
    st.integers(0, 3),
    st.sampled_from(["token", "separator", "corpus"]),
)
def test_chunks_are_parts_of_their_source_and_cover_it(text, size, overlap, chunking):
    corpus, overlap = dataset(("d", "", text), ("e", "", "end")), min(overlap, size - 1)
    source = text if chunking != "corpus" else f"{text.strip()}\n\nend".strip()
    joined = {"join": "corpus"} if chunking == "corpus" else {}
    build = separator if chunking == "separator" else token
    table = build(corpus=corpus, size=size, overlap=overlap, **joined)
    held = set()
    chunks = table.texts if chunking == "corpus" else table.texts.take(table.chunks_of("d"))
    for chunk in chunks:
        assert chunk in source
        for match in re.finditer(f"(?={re.escape(chunk)})", source):
            held.update(range(match.start(), match.start() + len(chunk)))
    assert all(at in held or char.isspace() for at, char in enumerate(source))


def test_marks_and_joined_emoji_are_not_split():
    for chunking in (token, separator):
        corpus = dataset(("d", "", "हिन्दी 👩🏽\u200d🚒 ที่นี่ " * 9))
        for chunk in chunking(corpus=corpus, size=3, overlap=1).texts:
            assert unicodedata.category(chunk[0])[0] != "M"
            assert not chunk.endswith("\u200d") and chunk[0] not in "\u200d🏽"


def test_long_texts_are_encoded_in_parts_without_a_difference(monkeypatch):
    text = "Berta Holm's mill, 1911; 茅以升主持修建了钱塘江大桥，后来 don't हिन्दी।\n" * 40
    whole = encode(text)
    monkeypatch.setattr("graphrag_bench.text._AT_ONCE", 97)
    assert encode(text) == whole


def test_texts_are_split_after_sentences_and_at_blank_lines():
    for text, sentences in (
        ("One is. Two was!  Is three?", ["One is.", "Two was!", "Is three?"]),
        ("A line\nof verse\n\nA heading", ["A line of verse", "A heading"]),
        ("J. J. Thomson met Dr. Holt in St. Isk. He left.",
         ["J. J. Thomson met Dr. Holt in St. Isk.", "He left."]),
        ("一。二！", ["一。", "二！"]),
        ("It cost 3.5 marks.", ["It cost 3.5 marks."]),
        ("  ", []),
    ):  # fmt: skip
        assert split_sentences(text) == sentences


EAST, NORTH, BETWEEN = [1.0, 0.0], [0.0, 1.0], [0.6, 0.8]


def test_central_sentences_fit_the_limit_without_near_duplicates():
    """Each sentence has six tokens. Only sentences of groups above their limit are embedded."""
    for vectors, rows, budget, central in (
        # the mean (0.533, 0.6) has the cosines 0.533, 0.6 and 0.8
        ([EAST, NORTH, BETWEEN], [0, 1, 2], 6, [2]),
        ([EAST, NORTH, BETWEEN], [2, 0, 1], 12, [2, 1]),
        ([], [2, 0, 1], 18, [2, 0, 1]),
        ([BETWEEN, BETWEEN, EAST], [0, 1, 2], 12, [0, 2]),  # the second says the same
        ([EAST, NORTH], [0, 1], 2, [0]),
        ([], [], 10, []),
    ):
        embedder = Planted(lambda text, vectors=vectors: vectors[int(text[-1])])
        groups = [([f"the sentence of number {row}" for row in rows], budget)]
        (chosen,) = central_sentences(groups, embedder, QUIET)
        assert chosen == [f"the sentence of number {row}" for row in central]
