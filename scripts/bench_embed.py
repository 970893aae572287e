"""The packaged embedder against plain sentence-transformers in the same run, on seeded texts.

`ours` and `reference` are texts embedded a second (for `question` milliseconds), the median over
repeats that take turns; p50 and p95 are ours over the repeats, p95 the slow end. The reference is
`SentenceTransformer.encode` in float32 with batches of 32 and all threads. `stored` reads vectors
from the store, against embedding them. Vectors that differ from the reference are an error.
"""

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from timing import Numbers, in_turns, rates, seconds

from graphrag_bench.embedding.cached_models import CachedEmbedder
from graphrag_bench.embedding.embedder import Kind, Vectors
from graphrag_bench.embedding.sentence_embedder import SentenceEmbedder
from graphrag_bench.llm.cache import Cache

N_NAMES, N_PASSAGES, N_REPEATS = 1000, 60, 5
N_TOKENS = 120
LEAST_COSINE = 0.998
FIRST = "Ada Alan Grace Emmy Niels Marie Otto Lise Rosalind Subrahmanyan Srinivasa Hypatia"
LAST = "Lovelace Turing Hopper Noether Bohr Curie Hahn Meitner Franklin Chandrasekhar Euler"
KINDS = "University River Council Bridge Museum Observatory Orchestra Railway Treaty Prize"
PLACES = "Norvik London Zanzibar Kyoto Bogota Timbuktu Reykjavik Samarkand Lisbon Quebec"
PLAIN = (
    "the of and in to a was is for on as with by he at from his an were are which this be had also "
    "first one their after who two her she new other when time during there into school all its "
    "may years more most only over city world would where later up such used many can state about "
    "national out known university united then made under team year season war people being"
)


def names(n_names: int) -> list[str]:
    """Distinct made-up names of one to four words."""
    chance = np.random.default_rng(0)
    parts = itertools.product(*(words.split() for words in (FIRST, LAST, PLACES, KINDS)))
    chosen = [row for row in parts if chance.random() < 0.5]
    order = chance.permutation(len(chosen))
    names = (" ".join(chosen[place][: 1 + number % 4]) for number, place in enumerate(order))
    return list(dict.fromkeys(names))[:n_names]


def passages(n_passages: int) -> list[str]:
    """Passages of common words, each one token: with the two special ones `N_TOKENS` tokens."""
    chance = np.random.default_rng(1)
    return [" ".join(chance.choice(PLAIN.split(), N_TOKENS - 2)) for _ in range(n_passages)]


def compared(texts: Sequence[str], kind: Kind, ours: Callable[[], Vectors]) -> Numbers:
    """Texts a second of both, the two in turns; raises AssertionError where the vectors differ."""
    raw = SentenceEmbedder(precision="float32")._loaded

    def reference() -> Vectors:
        vectors = raw.encode(
            list(texts), batch_size=32, normalize_embeddings=True, show_progress_bar=False
        )
        return np.asarray(vectors, np.float32)

    worst = float(np.min(np.sum(ours() * reference(), axis=1)))
    if worst < LEAST_COSINE:
        raise AssertionError(f"a vector has cosine {worst:.4f} to the reference")
    return rates(len(texts), *in_turns(ours, reference, N_REPEATS), "texts/s", cosine=worst)


def of_names() -> Numbers:
    """Node names of one to four words."""
    model, texts = SentenceEmbedder(), names(N_NAMES)
    return compared(texts, "passage", lambda: model.encode(texts, kind="passage"))


def of_passages() -> Numbers:
    """Passages of 120 tokens."""
    model, texts = SentenceEmbedder(), passages(N_PASSAGES)
    if model.fit(texts).longest != N_TOKENS:
        raise AssertionError(f"the passages do not have {N_TOKENS} tokens")
    return compared(texts, "passage", lambda: model.encode(texts, kind="passage"))


def of_a_question() -> Numbers:
    """One question alone, in milliseconds: here the smaller number is the better one."""
    model, texts = SentenceEmbedder(), ["Who founded the observatory of the city on the river?"]
    mine, other, _, more = compared(texts, "question", lambda: model.encode(texts, kind="question"))
    times = {name: 1000 / more[name] for name in ("p50", "p95")}
    return 1000 / mine, 1000 / other, "ms", {**more, **times}


def of_the_store() -> Numbers:
    """Names whose vectors are stored already, against embedding them."""
    model, texts = SentenceEmbedder(), names(N_NAMES)
    with TemporaryDirectory() as folder:
        cached = CachedEmbedder(model, Cache(Path(folder) / "vectors.sqlite"))
        cached.encode(texts, kind="passage")
        times = [seconds(lambda: cached.encode(texts, kind="passage")) for _ in range(N_REPEATS)]
        embedding = seconds(lambda: model.encode(texts, kind="passage"))
        cached.cache.close()
    return rates(len(texts), times, [embedding], "texts/s")


CASES = {
    "names": of_names,
    "passages": of_passages,
    "question": of_a_question,
    "stored": of_the_store,
}
