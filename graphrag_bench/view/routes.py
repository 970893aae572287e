"""Routes among retrieved chunks: a sentence of one that names the title of another."""

from collections.abc import Iterator, Sequence

from graphrag_bench.algorithms.name_dictionary import key_of, title_key
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.graphs.sentences import split_sentences


def routes(chunks: Sequence[int], table: ChunkTable) -> Iterator[tuple[int, int, str]]:
    """Yield a route to each chunk that another one names: (parent, child, sentence).

    The parent is the first chunk of another title with a sentence that has the child's title as
    words, and the sentence is its first such one. Case, accents and brackets make no difference.
    """
    titles = {row: title_key(table.titles[row]) for row in chunks}
    sentences = {
        row: [(f" {key_of(text)} ", text) for text in split_sentences(table.texts[row])]
        for row in chunks
    }
    for child in chunks:
        naming = (
            (parent, child, text)
            for parent in chunks
            if titles[child] and titles[parent] != titles[child]
            for words, text in sentences[parent]
            if f" {titles[child]} " in words
        )
        if route := next(naming, None):
            yield route
