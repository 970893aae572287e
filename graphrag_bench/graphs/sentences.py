"""Split texts into sentences, tag sentences with spaCy, and select central sentences."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations

import numpy as np

from graphrag_bench.algorithms.extraction import Triple
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.embedder import Embedder, Vectors, encode_in_blocks
from graphrag_bench.embedding.nlp import NUMERIC, Nlp, Sentence
from graphrag_bench.progress import Progress
from graphrag_bench.text import count_tokens, decode, encode
from graphrag_bench.values import Ranked

_ABBREVIATED = r"(?<!\b[A-Z]\.)(?<!\b(?:St|Mr|Dr|Jr|Sr|No|vs)\.)(?<!\b(?:Mrs|Rev|Gen|Col|Vol)\.)"
_END = re.compile(rf"(?<=[.!?]){_ABBREVIATED}[\"')\]]*\s+|(?<=[。！？])|\n\s*\n")


def read_chunks(
    chunk_table: ChunkTable, nlp: Nlp, progress: Progress
) -> Iterator[tuple[str, list[Sentence]]]:
    """Yield the title of each chunk, and the sentences of the chunk as spaCy tags them."""
    texts = list(chunk_table.texts)
    with progress.task("reading sentences", len(texts)) as advance:
        for title, sentences in zip(chunk_table.titles, nlp.sentences(texts), strict=True):
            yield title, sentences
            advance(1)


def named_entities(sentence: Sentence) -> list[str]:
    """Return the named entities of a sentence in order, except numbers, amounts and dates."""
    return [name for name, label in sentence.entities if label not in NUMERIC]


def co_occurring(names: Collection[str], title: str) -> list[tuple[str, str]]:
    """Return all pairs of the distinct `names` in a sentence, or none for more than 8 names.

    A `title` that is not one of the names is always paired with each name.
    """
    pairs = list(combinations(names, 2)) if len(names) <= 8 else []
    apart = title and title not in names
    return [*pairs, *((title, other) for other in names if apart)]


def relations_between(sentence: Sentence, subject: str, names: set[str]) -> Iterator[Triple]:
    """Yield the triples between `names` in a sentence. Pronouns are first replaced by `subject`."""
    for one in sentence.relations:
        head, tail = (subject if end in sentence.pronouns else end for end in (one.head, one.tail))
        if head in names and tail in names and head != tail:
            yield Triple(head, one.relation, tail)


def split_sentences(text: str) -> list[str]:
    """Split a text into sentences, and remove line breaks within sentences.

    >>> split_sentences("Dr. Holt left. He came back.")
    ['Dr. Holt left.', 'He came back.']
    """
    parts = (" ".join(part.split()) for part in _END.split(text))
    return [part for part in parts if part]


def vectors_of(texts: Sequence[str], embedder: Embedder, progress: Progress, label: str) -> Vectors:
    """Return the embeddings of texts, float32 (n, dimension). `label` names the progress bar."""
    with progress.task(label, len(set(texts))) as advance:
        return encode_in_blocks(texts, embedder, advance)


def central_sentences(
    groups: Sequence[tuple[Sequence[str], int]], embedder: Embedder, progress: Progress
) -> list[list[str]]:
    """Return the most central sentences of each group. A group is a pair (sentences, max_tokens).

    The order of sentences is kept. If all sentences fit `max_tokens`, all are returned. Otherwise,
    at least one is returned. The centrality of a sentence is its mean cosine to all sentences of
    the group. Ties are broken by order. Sentences of fewer than four words are skipped, unless all
    are that short. Near copies of a more central selected sentence are also skipped.
    Source: Erkan and Radev 2004 (LexRank), section 3.
    """
    central = [list(dict.fromkeys(texts)) for texts, _ in groups]
    n_tokens = {text: count_tokens(text) for text in dict.fromkeys(chain(*central))}
    sizes = [sum(n_tokens[text] for text in texts) for texts in central]
    long = [row for row, (_, most) in enumerate(groups) if sizes[row] > most]
    texts = dict.fromkeys(chain(*(central[row] for row in long)))
    row_of = {text: row for row, text in enumerate(texts)}
    heads = [" ".join(text.split()[:48]) for text in texts]
    vectors = vectors_of(heads, embedder, progress, "embedding sentences")
    for row in long:
        pool = [one for one in central[row] if len(one.split()) >= 4] or central[row]
        own = np.asarray(vectors[[row_of[text] for text in pool]], np.float64)
        chosen: list[int] = []
        room = groups[row][1]
        for place in Ranked.top(own @ own.mean(axis=0), None).ids.tolist():
            same = len(chosen) and np.max(own[chosen] @ own[place]) >= 0.9
            if not same and (n_tokens[pool[place]] <= room or not chosen):
                chosen.append(place)
                room -= n_tokens[pool[place]]
        central[row] = [pool[place] for place in sorted(chosen)]
    return central


def central_texts(
    groups: Sequence[tuple[Sequence[str], int]], embedder: Embedder, progress: Progress
) -> list[str]:
    """Return the most central sentences of each group (sentences, max_tokens) as one text."""
    central = central_sentences(groups, embedder, progress)
    return [joined(texts, most) for texts, (_, most) in zip(central, groups, strict=True)]


def joined(texts: Sequence[str], max_tokens: int) -> str:
    """Return sentences as one text, cut after `max_tokens` tokens."""
    text, n_tokens = " ".join(texts), sum(map(count_tokens, texts))
    return text if n_tokens <= max_tokens else first_tokens(text, max_tokens)


def sentence_chunks(read: Iterable[tuple[str, int]]) -> dict[str, set[int]]:
    """Map each sentence to the chunks that it comes from, given pairs (text, chunk)."""
    chunks: dict[str, set[int]] = {}
    for text, chunk in read:
        for sentence in split_sentences(text):
            chunks.setdefault(sentence, set()).add(chunk)
    return chunks


def chunks_of(text: str, known: Mapping[str, Collection[int]]) -> list[int]:
    """Return the chunks of the sentences of a text, ascending. `known` maps sentences to chunks."""
    return sorted({chunk for one in split_sentences(text) for chunk in known.get(one, ())})


def first_tokens(text: str, max_tokens: int) -> str:
    """Return the first `max_tokens` tokens of a text."""
    return decode(encode(text)[:max_tokens]).strip()
