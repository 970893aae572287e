"""Builders that divide the documents of a corpus into chunks."""

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Literal

from pydantic import NonNegativeInt, PositiveInt

from graphrag_bench.contract import artifact
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.dataset import Dataset, Document
from graphrag_bench.errors import UserError
from graphrag_bench.text import count_tokens, token_cuts

_SEPARATORS = re.compile(r"(?<=[\n。．！？.!?\u3000\u200b\t])|(?= )")
"""Places at which a text may be cut. A space belongs to the next word, as in the tokenizer."""

ChunkRow = tuple[str, str, str]
"""(document id, title, text) of a chunk. A chunk of several documents has a row per document."""


@artifact("chunk_table.presplit")
def presplit(*, corpus: Dataset) -> ChunkTable:
    """Make one chunk of each document. Blank documents are left out."""
    return _table((one.id, one.title, one.text.strip()) for one in corpus.documents)


@artifact("chunk_table.token")
def token(
    *,
    corpus: Dataset,
    size: PositiveInt = 1200,
    overlap: NonNegativeInt = 100,
    join: Literal["document", "corpus"] = "document",
) -> ChunkTable:
    """Split the corpus into windows of `size` tokens that overlap by `overlap` tokens.

    A window starts every `size - overlap` tokens, so the last window may lie inside the previous
    window. If `join` is "document", each document is split separately. If it is "corpus", the
    documents of each scope (e.g. a book) are first concatenated in corpus order, each as title,
    newline and text, with blank lines between them. The resulting chunks have no title, and belong
    to every document that they overlap. Raises UserError if `overlap` is not below `size`.
    Source: Zhou et al. 2025, section 7.1 and Exp.5, and the authors' code (overlap of 100 tokens).
    """
    _refuse(size, overlap)
    if join == "corpus":
        return _table(_over_the_corpus(corpus.documents, size, overlap))
    return _table(
        (document.id, document.title, text.strip())
        for document in corpus.documents
        for text in _cut(document.text, size, overlap)
    )


@artifact("chunk_table.separator")
def separator(
    *, corpus: Dataset, size: PositiveInt = 1200, overlap: NonNegativeInt = 100
) -> ChunkTable:
    """Split each document at separators into chunks of up to `size` tokens.

    Separators are spaces, newlines, and the punctuation marks that end sentences in Latin and CJK
    scripts. A chunk starts with the last `overlap` tokens of the previous chunk. A chunk may exceed
    `size` by a token or two, because parts between separators are counted separately. Raises
    UserError if `overlap` is not below `size`.
    """
    _refuse(size, overlap)

    def chunks() -> Iterator[ChunkRow]:
        for document in corpus.documents:
            before = ""
            for text in _merged(document.text, size - overlap):
                start = token_cuts(before)[-1 - overlap :][0] if overlap else len(before)
                yield document.id, document.title, (before[start:] + text).strip()
                before = text

    return _table(chunks())


def _windows(n: int, size: int, overlap: int) -> Iterator[tuple[int, int]]:
    """Yield the windows (start, stop) of n tokens."""
    return ((start, min(start + size, n)) for start in range(0, n, size - overlap))


def _cut(text: str, size: int, overlap: int) -> Iterator[str]:
    cuts = token_cuts(text)
    return (text[cuts[a] : cuts[b]] for a, b in _windows(len(cuts) - 1, size, overlap))


def _over_the_corpus(documents: Iterable[Document], size: int, overlap: int) -> Iterator[ChunkRow]:
    filled = (document for document in documents if document.text.strip())
    for _, group in groupby(filled, key=lambda document: document.scope):
        texts, names, first, end = list[str](), list[str](), list[int](), list[int]()
        cuts, n_characters = array("Q"), 0
        for document in group:
            for text in (["\n\n"] if names else []) + [document.passage.strip()]:
                first_token = len(cuts)
                cuts.extend(n_characters + place for place in token_cuts(text)[:-1])
                n_characters += len(text)
                texts.append(text)
            first.append(first_token)
            names.append(document.id)
            end.append(len(cuts))
        whole = "".join(texts)
        cuts.append(n_characters)
        for start, stop in _windows(len(cuts) - 1, size, overlap):
            inside = slice(bisect_right(end, start), bisect_left(first, stop))
            text = whole[cuts[start] : cuts[stop]].strip()
            yield from ((name, "", text) for name in names[inside])


def _refuse(size: int, overlap: int) -> None:
    if overlap >= size:
        raise UserError(f"chunking: overlap {overlap} must be below size {size}.")


def _merged(text: str, room: int) -> Iterator[str]:
    merged, n_merged = "", 0
    for piece in _SEPARATORS.split(text):
        n_tokens = count_tokens(piece)
        if merged and n_merged + n_tokens > room:
            yield merged
            merged, n_merged = "", 0
        if n_tokens > room:
            yield from _cut(piece, room, 0)
        else:
            merged, n_merged = merged + piece, n_merged + n_tokens
    if merged:
        yield merged


def _table(rows: Iterator[ChunkRow]) -> ChunkTable:
    filled = [row for row in rows if row[2]]
    if not filled:
        raise UserError("Chunking: every document of the corpus is blank.")
    return ChunkTable.of(filled)
