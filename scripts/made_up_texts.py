"""Seeded chunks with the names that a tagger would find in them, for benchmarks of building.

Names follow Zipf's law with a flat top (Mandelbrot), so that their number grows with the texts as
Heaps' law has it, about with the power of 0.7: 10 times the chunks have 5 times the names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.models.nlp import Relation, Sentence

N_SENTENCES, N_NAMES = 4, 2
TAIL, FLAT = 1.43, 30.0
_SYLLABLES = "baneritomukalesivodufahejiporunatelisogu"
_KINDS = ("PERSON", "ORG", "GPE", "ORG")


def _word(number: int) -> str:
    """A capitalised word, another for each number."""
    made = ""
    while number or len(made) < 4:
        number, place = divmod(number, len(_SYLLABLES) // 2)
        made += _SYLLABLES[2 * place : 2 * place + 2]
    return made.capitalize()


def _name(rank: int) -> tuple[str, str]:
    """The name of a rank and its label: persons, bodies with an acronym, towns, and companies."""
    kind = rank % len(_KINDS)
    word = _word(rank // 2)
    made = (f"{_word(rank % 331)} {word}", f"{word} Health Office", word, f"The {word} Works")
    return made[kind], _KINDS[kind]


class MadeUp:
    """Chunks and a tagger that knows the names in their sentences: an `Nlp` without a model."""

    identity = "made up"

    def __init__(self, n_chunks: int, *, chunks_of_a_document: int = 4) -> None:
        """Seeded: the first chunks of a larger number are those of a smaller one."""
        chance = np.random.default_rng(0)
        rows: list[tuple[str, str, str]] = []
        self._sentences: dict[str, list[Sentence]] = {}
        title = ""
        for number in range(n_chunks):
            drawn = FLAT * (chance.random(N_SENTENCES * N_NAMES) ** (-1 / (TAIL - 1)) - 1)
            ranks = np.minimum(drawn, 1e9).astype(np.int64).tolist()
            if number % chunks_of_a_document == 0:
                title = _name(ranks[0])[0]
            pairs = zip(ranks[::2], ranks[1::2], strict=True)
            sentences = [_sentence(number, *map(_name, pair)) for pair in pairs]
            text = " ".join(sentence.text for sentence in sentences)
            self._sentences[text] = sentences
            rows.append((f"d{number // chunks_of_a_document}", title, text))
        self.chunk_table = ChunkTable.of(rows)

    def sentences(self, texts: Sequence[str]) -> Iterator[list[Sentence]]:
        """The sentences of chunks; a title has one, with itself as its name."""
        for text in texts:
            yield self._sentences.get(text) or [Sentence(text, ((text, "PERSON"),), (), ())]

    def entities(self, text: str) -> list[str]:
        """The names of a text."""
        return [name for (one,) in self.sentences([text]) for name, _ in one.entities]


def _sentence(number: int, one: tuple[str, str], other: tuple[str, str]) -> Sentence:
    """A sentence that relates two names; some call a person by the last name or give an acronym."""
    (head, kind), (tail, other_kind) = one, other
    named = tail
    if other_kind == "PERSON" and number % 3 == 0:
        named = tail.split()[-1]
    extra = f" ({''.join(word[0] for word in head.split())})" if head.endswith("Office") else ""
    text = f"{head}{extra} met {named} in place {number}."
    entities = ((head, kind), (named, other_kind))
    return Sentence(text, entities, (), (Relation(head, "meet", named),), frozenset(), ("meet",))
