"""Routes among passages: sentences of one that name the title of another."""

from collections.abc import Iterable, Iterator, Sequence

from graphrag_bench.algorithms.name_dictionary import key_of, title_key
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.graphs.sentences import split_sentences


def title_routes(
    rows: Sequence[int], table: ChunkTable, n_parents: int | None = None
) -> Iterator[tuple[int, int, str]]:
    """Yield (place of the parent, place of the child, sentence) among the chunks `rows`.

    The sentence is one of the parent, of the first `n_parents` chunks (None: all), and has the
    child's title as words: without what is in brackets, in any case and with any accents. Chunks of
    one title are no routes to each other. By parent, then sentence, then child.
    """
    titles = [title_key(table.titles[row]) for row in rows]
    children: dict[str, list[int]] = {}
    for place, title in enumerate(titles):
        if title:
            children.setdefault(title, []).append(place)
    for parent, row in enumerate(rows[:n_parents]):
        for sentence in split_sentences(table.texts[row]):
            for title in names_in(sentence, children):
                if title != titles[parent]:
                    yield from ((parent, child, sentence) for child in children[title])


def names_in(text: str, names: Iterable[str]) -> Iterator[str]:
    """Yield the keys of names that stand in a text as words, in their order; "" is none."""
    words = f" {key_of(text)} "
    return (name for name in names if name and f" {name} " in words)
