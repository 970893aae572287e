"""Reading sentences with spaCy in several processes, against its own `pipe` in one.

`ours` and `reference` are passages a second, one after the other in the same run; p50 and p95 are
the seconds of ours over the repeats. `started` counts the start of the processes, `running` does
not. The reference is the same pipeline's `pipe` with its default batches, which gives documents
and no sentences of ours. Sentences that differ from those of one process are an error.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from joblib.externals.loky import get_reusable_executor

from graphrag_bench.models.nlp import Spacy, _pipeline
from graphrag_bench.models.workers import ParallelTagger, Recipe, Workers

N_PASSAGES, N_REPEATS = 2000, 3
TITLES = [
    "Ada Marsh",
    "Norvik Observatory",
    "the Treaty of Zanzibar",
    "Lise Hahn",
    "Kyoto University",
]
VERBS = ["founded", "led", "left", "praised", "restored", "visited"]
Numbers = tuple[float, float, str, dict[str, float]]


def passages(n_passages: int) -> list[str]:
    """Distinct passages of eight sentences, seeded."""
    chance = np.random.default_rng(0)

    def sentence() -> str:
        one, other = chance.choice(TITLES, 2)
        year = chance.integers(1700, 2000)
        return f"In {year} {one} {chance.choice(VERBS)} {other}, which few people remember."

    return [" ".join(sentence() for _ in range(8)) for _ in range(n_passages)]


def seconds(call: Callable[[], object]) -> float:
    """How long a call takes."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def read(*, running: bool) -> Numbers:
    """Passages a second of both; raises AssertionError where the sentences differ."""
    texts, inner = passages(N_PASSAGES), Spacy()
    recipe = Recipe.of("nlp", {"_target_": "graphrag_bench.models.nlp.Spacy"}, inner)
    ours = ParallelTagger(inner, Workers(), recipe, 1)
    pipe = _pipeline(inner.model).pipe
    assert list(ours.sentences(texts[:200])) == list(inner.sentences(texts[:200]))
    took, reference = [], []
    for _ in range(N_REPEATS):
        if not running:
            get_reusable_executor().shutdown(wait=True)
        took.append(seconds(lambda: list(ours.sentences(texts))))
        reference.append(seconds(lambda: sum(1 for _ in pipe(texts))))
    get_reusable_executor().shutdown(wait=True)
    spread = {"p50": float(np.quantile(took, 0.5)), "p95": float(np.quantile(took, 0.95))}
    rates = [N_PASSAGES / float(np.median(found)) for found in (took, reference)]
    return rates[0], rates[1], "passages/s", spread


CASES: dict[str, Callable[[], Numbers]] = {
    "started": lambda: read(running=False),
    "running": lambda: read(running=True),
}
