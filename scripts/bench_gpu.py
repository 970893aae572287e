"""Benchmarks of a GPU (`ours`) against the CPU (`reference`) with the same inputs."""

from collections.abc import Callable
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from bench import Measurement, in_turns, rates
from bench_models import N_TOKENS, passages

from graphrag_bench.embedding.cross_encoder import CrossEncoder
from graphrag_bench.embedding.nlp import Spacy
from graphrag_bench.embedding.sentence_embedder import SentenceEmbedder
from graphrag_bench.embedding.vector_index import DeviceRows, VectorIndex

DEVICE, N_TIMES, N_REPEATS, N_ROWS = "cuda", 8, 3, 200_000


def beside(run: Callable[[bool], object], n: int, unit: str = "tokens/s") -> Measurement:
    """Measure `run(True)` on the GPU and `run(False)` on the CPU, after a warm-up call of each."""
    run(True), run(False)
    return rates(n, *in_turns(lambda: run(True), lambda: run(False), N_REPEATS), unit)


def reading(make: Callable[..., Any], read: Callable[[Any, list[str]], object]) -> Measurement:
    """Measure how many tokens of passages a model processes per second."""
    texts, models = passages() * N_TIMES, [make(device=on) for on in ("cpu", DEVICE)]
    return beside(lambda gpu: read(models[gpu], texts), len(texts) * N_TOKENS)


def rerank() -> Measurement:
    """Measure tokens per second with random weights in the size of ms-marco-MiniLM-L6."""
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    sizes = {"hidden_size": 384, "num_hidden_layers": 6, "intermediate_size": 1536}
    asked, lists = ["Who?"] * N_TIMES, [passages()[:20]] * N_TIMES
    with TemporaryDirectory() as to:
        BertForSequenceClassification(BertConfig(**sizes, num_labels=1)).save_pretrained(to)
        AutoTokenizer.from_pretrained(SentenceEmbedder()._folder).save_pretrained(to)
        models = [CrossEncoder(to, window=256, device=on) for on in ("cpu", DEVICE)]
        return beside(lambda gpu: models[gpu].scores(asked, lists), 20 * N_TIMES * N_TOKENS)


def nearest() -> Measurement:
    """Measure questions per second in a vector search over `N_ROWS` rows."""
    vectors = np.random.default_rng(0).standard_normal((N_ROWS, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    here, there = indices = VectorIndex(vectors), VectorIndex(vectors)
    vars(here)["_on_gpu"], vars(there)["_on_gpu"] = None, DeviceRows(vectors, DEVICE)
    return beside(lambda gpu: indices[gpu].search(vectors[:256], 10), 256, "questions/s")


SUITES = {"gpu": {
    "embedding": lambda: reading(SentenceEmbedder, lambda one, t: one.encode(t, kind="passage")),
    "rerank": rerank, "nearest": nearest,
    "tagging": lambda: reading(Spacy, lambda one, texts: list(one.sentences(texts))),
}}  # fmt: skip
