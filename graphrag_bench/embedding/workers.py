"""Tag and embed texts in worker processes, on this machine or on a Ray cluster."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain
from typing import Any, Literal, TypeVar

import numpy as np

from graphrag_bench.embedding.embedder import Embedder, EmbedderWrapper, TextKind, Vectors, blocks
from graphrag_bench.embedding.model_files import make_model
from graphrag_bench.embedding.nlp import Nlp, Sentence, Spacy
from graphrag_bench.errors import UserError, extra_needed

T = TypeVar("T")
R = TypeVar("R")
Backend = Literal["local", "ray"]
TEXTS_PER_BLOCK = 32
BLOCKS_PER_WORKER = 16
"""Number of blocks per worker in a batch. With fewer blocks, workers are idle for longer."""
MIN_CHARACTERS = 20_000
"""Passages with fewer characters in total are embedded without worker processes."""
_MIN_BLOCK, _MAX_BLOCK = 10_000, 50_000
"""Number of characters in the smallest and the largest block of passages."""


@dataclass(frozen=True)
class Workers:
    """Pool of `count` worker processes, by default one per CPU of the machine or Ray cluster."""

    count: int | None = None
    backend: Backend = "local"

    @property
    def size(self) -> int:
        """Number of workers. To count the CPUs of a Ray cluster, this connects to the cluster."""
        if self.count is not None or self.backend == "local":
            return self.count or os.cpu_count() or 1
        from joblib import effective_n_jobs

        with self._config():
            return int(effective_n_jobs(-1))

    def _config(self) -> Any:
        from joblib import parallel_config

        if self.backend == "local":
            settings = {"inner_max_num_threads": 1, "idle_worker_timeout": 60}
            return parallel_config("loky", n_jobs=self.size, **settings)
        with extra_needed("ray"):
            from ray.util.joblib import register_ray
        register_ray()
        return parallel_config("ray", n_jobs=self.count or -1)

    def map(self, work: Callable[[T], R], blocks: Iterable[T]) -> Iterator[R]:
        """Yield `work(block)` for each block, in order. Raises UserError if a worker is killed."""
        from joblib import Parallel, delayed
        from joblib.externals.loky.process_executor import BrokenProcessPool

        form = "generator" if self.backend == "local" else "list"
        try:
            with self._config():
                yield from Parallel(return_as=form)(delayed(work)(block) for block in blocks)
        except BrokenProcessPool:
            why = "A worker was killed, perhaps because the memory was full."
            how = "Results are cached. Repeat the command with fewer workers (nlp_workers=N)."
            raise UserError(f"{why} {how}") from None


@dataclass(frozen=True)
class WorkerModel:
    """Settings from which a worker process creates a model, and the identity of this model."""

    group: str
    settings: str
    identity: str

    @classmethod
    def of(cls, group: str, settings: Mapping[str, Any], model: Any) -> "WorkerModel":
        """Return the settings of `model`, together with its identity."""
        return cls(group, json.dumps(dict(settings), sort_keys=True), model.identity)


@lru_cache(maxsize=4)
def model_of(how: WorkerModel) -> Any:
    """Create a worker's model. Raises UserError if its identity differs from `how.identity`."""
    model = make_model(how.group, json.loads(how.settings))
    if model.identity != how.identity:
        why = f"has the {how.group} '{model.identity}', but the run has '{how.identity}'"
        needed = "All machines need the same packages, files, device and precision."
        raise UserError(f"A worker {why}. {needed}")
    return model


@dataclass(eq=False)
class ParallelTagger:
    """Tagger that uses worker processes for lists of at least `min_texts` texts."""

    inner: Nlp
    workers: Workers
    how: WorkerModel
    min_texts: int

    @property
    def identity(self) -> str:
        """Identity of the tagger that runs in the worker processes."""
        return self.inner.identity

    @property
    def batch_size(self) -> int:
        """Number of texts per call that keeps all worker processes busy."""
        return TEXTS_PER_BLOCK * BLOCKS_PER_WORKER * self.workers.size

    def sentences(self, texts: Sequence[str]) -> Iterator[list[Sentence]]:
        """Yield the list of sentences of each text, in the order of the texts."""
        if len(texts) < self.min_texts:
            yield from self.inner.sentences(texts)
            return
        self.min_texts = min(self.min_texts, TEXTS_PER_BLOCK)
        starts = range(0, len(texts), TEXTS_PER_BLOCK)
        parts = (list(texts[start : start + TEXTS_PER_BLOCK]) for start in starts)
        yield from chain.from_iterable(self.workers.map(partial(_read, self.how), parts))

    def entities(self, text: str) -> list[str]:
        """Return the named entities of a text, which is tagged without worker processes."""
        return self.inner.entities(text)


def _read(how: WorkerModel, texts: Sequence[str]) -> list[list[Sentence]]:
    tagger: Nlp = model_of(how)
    with tagger.memory_zone() if isinstance(tagger, Spacy) else nullcontext():
        return list(tagger.sentences(texts))


@dataclass(eq=False)
class ParallelEmbedder(EmbedderWrapper):
    """Embedder that uses workers for passages with at least `MIN_CHARACTERS` in total."""

    workers: Workers
    how: WorkerModel

    def encode(self, texts: Sequence[str], *, kind: TextKind) -> Vectors:
        """Return one unit vector per text as a float32 array (n, dimension)."""
        n_characters = sum(map(len, texts))
        if kind == "question" or n_characters < MIN_CHARACTERS:
            return self.inner.encode(texts, kind=kind)
        share = n_characters // (BLOCKS_PER_WORKER * self.workers.size)
        parts = blocks(texts, min(max(share, _MIN_BLOCK), _MAX_BLOCK))
        return np.concatenate(list(self.workers.map(partial(_encode, self.how, kind), parts)))


def _encode(how: WorkerModel, kind: TextKind, texts: Sequence[str]) -> Vectors:
    embedder: Embedder = model_of(how)
    return embedder.encode(texts, kind=kind)
