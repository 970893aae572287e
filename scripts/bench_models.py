"""Benchmarks of models: the embedder (`embed`), calls of a language model (`llm`) and GPUs (`gpu`).

`embed` compares our embedder with `SentenceTransformer.encode` in float32 (batches of 32, all
threads) on random texts. The case `question` is in milliseconds. The case `stored` compares reading
stored vectors with embedding the texts again.

`llm` calls a local OpenAI-compatible server over HTTP, with cache, ledger, budget, failure gate and
validation. The reference is the ideal rate for this number of parallel calls and this latency.
`cpu_ms` is the CPU time of a call without the server. `served_ms` is the time in which the server
answered, which is longer than the latency. `tenth_mb` and `after_mb` are the peak memory after a
tenth of the calls and after all calls.

`gpu` compares a GPU (`ours`) with the CPU (`reference`) on the same inputs.
"""

import itertools
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from bench import Measurement, in_turns, rates, seconds
from fake_openai import running
from pydantic import create_model

from graphrag_bench.embedding.cached_models import CachedEmbedder
from graphrag_bench.embedding.cross_encoder import CrossEncoder
from graphrag_bench.embedding.embedder import TextKind
from graphrag_bench.embedding.nlp import Spacy
from graphrag_bench.embedding.sentence_embedder import SentenceEmbedder
from graphrag_bench.embedding.vector_index import DeviceRows, VectorIndex
from graphrag_bench.llm.cache import Cache
from graphrag_bench.llm.calls import FailureGate
from graphrag_bench.llm.ledger import Budget, Ledger, read_ledger
from graphrag_bench.llm.openai_compatible import OpenAICompatible
from graphrag_bench.llm.structured import ask_each, json_format
from graphrag_bench.prompts import Message

N_NAMES, N_PASSAGES, N_TOKENS, N_REPEATS = 1000, 60, 120, 5
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
SECONDS, N_CALLS = 20, 12_800
DEVICES, N_TIMES = ("cpu", "cuda"), 8
Answer = create_model("Answer", answer=str)


def names() -> list[str]:
    """Return distinct invented names of one to four words."""
    chance = np.random.default_rng(0)
    parts = [*itertools.product(*(words.split() for words in (FIRST, LAST, PLACES, KINDS)))]
    every = (" ".join(parts[at][: 1 + at % 4]) for at in chance.permutation(len(parts)))
    return list(dict.fromkeys(every))[:N_NAMES]


def passages() -> list[str]:
    """Return passages of `N_TOKENS` tokens, made of common words that are single tokens."""
    chance = np.random.default_rng(1)
    return [" ".join(chance.choice(PLAIN.split(), N_TOKENS - 2)) for _ in range(N_PASSAGES)]


def embed(texts: list[str], kind: TextKind = "passage") -> Measurement:
    """Measure embedding; raises AssertionError if the vectors differ."""
    model, raw = SentenceEmbedder(), SentenceEmbedder(precision="float32")._loaded
    options = {"batch_size": 32, "normalize_embeddings": True, "show_progress_bar": False}
    ours, reference = partial(model.encode, texts, kind=kind), partial(raw.encode, texts, **options)
    worst = float(np.min(np.sum(ours() * reference(), axis=1)))
    if worst < 0.998:
        raise AssertionError(f"a vector has cosine {worst:.4f} to the reference")
    return rates(len(texts), *in_turns(ours, reference, N_REPEATS), "texts/s", cosine=worst)


def question() -> Measurement:
    """Measure the embedding of one question in milliseconds (lower is better)."""
    text = "Who founded the observatory of the city on the river?"
    mine, other, _, more = embed([text], "question")
    times = {"p50": 1000 / more["p50"], "p95": 1000 / more["p95"]}
    return 1000 / mine, 1000 / other, "ms", {**more, **times}


def read_stored() -> Measurement:
    """Measure reading stored vectors of names against embedding the names."""
    model, texts = SentenceEmbedder(), names()
    with TemporaryDirectory() as folder:
        cached = CachedEmbedder(model, Cache(Path(folder) / "vectors.sqlite"))
        read, embedded = (partial(one.encode, texts, kind="passage") for one in (cached, model))
        read()
        times, embedding = [seconds(read) for _ in range(N_REPEATS)], seconds(embedded)
        cached.cache.close()
    return rates(len(texts), times, [embedding], "texts/s")


def calls(latency: float, concurrency: int) -> Measurement:
    """Measure calls; raises AssertionError for a lost, repeated or mixed-up reply."""
    n_rounds = min(N_CALLS // concurrency, round(SECONDS / latency))
    n_calls = n_rounds * concurrency  # an incomplete last round would lower the rate
    words, items = " ".join(["word"] * 300), [str(n) for n in range(n_calls)]
    prompts = [(Message("user", f"Question #{n}. {words}"),) for n in items]
    with running() as server, TemporaryDirectory() as folder:
        url = server.scenario(latency=latency)
        client = OpenAICompatible("fake", url, None, limits={"concurrency": concurrency})
        cache, ledger = Cache(Path(folder) / "cache.sqlite"), Ledger(Path(folder) / "ledger.jsonl")
        log, gate = ledger.logger("answer", "bench"), FailureGate("bench")
        model = client.attached(store=cache, budget=Budget(), log=log, gate=gate)
        warm = [(Message("user", f"Warm #{n}. {words}"),) for n in range(2 * concurrency)]
        client.complete(warm, max_tokens=50)
        peaks: list[int] = []
        cpu, began = time.process_time(), time.perf_counter()
        replies = ask_each(
            model, prompts, json_format(Answer, "bench"), max_tokens=50, items=items,
            advance=lambda _: peaks.append(getrusage(RUSAGE_SELF).ru_maxrss),
        )  # fmt: skip
        took, cpu = time.perf_counter() - began, time.process_time() - cpu
        cache.close()
        logged = Counter(line.item for line in read_ledger(ledger.path))
        stats = server.stats(url)
        paid, served = stats.answered, stats.seconds / (n_calls + 2 * concurrency)
        paid -= Counter(str(n) for n in range(2 * concurrency))
    if [getattr(reply, "answer", None) for reply in replies] != items:
        raise AssertionError("a reply is missing or belongs to another prompt")
    if not logged == paid == Counter(items):
        raise AssertionError("a call is missing in the ledger, or was made twice")
    more = {"cpu_ms": 1000 * cpu / n_calls, "served_ms": 1000 * served,
            "tenth_mb": peaks[n_calls // 10] / 1024, "after_mb": peaks[-1] / 1024}  # fmt: skip
    return n_calls / took, concurrency / latency, "calls/s", more


def on_both(run: Callable[[int], object], n: int, unit: str = "tokens/s") -> Measurement:
    """Measure `run(1)` on the GPU and `run(0)` on the CPU, after a warm-up call of each."""
    ours, reference = partial(run, 1), partial(run, 0)
    ours(), reference()
    return rates(n, *in_turns(ours, reference, N_REPEATS), unit)


def reading(make: Callable[..., Any], read: Callable[[Any, list[str]], object]) -> Measurement:
    """Measure how many tokens of passages a model processes per second."""
    texts, models = passages() * N_TIMES, [make(device=one) for one in DEVICES]
    return on_both(lambda gpu: read(models[gpu], texts), len(texts) * N_TOKENS)


def rerank() -> Measurement:
    """Measure tokens per second with random weights in the size of ms-marco-MiniLM-L6."""
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    sizes = {"hidden_size": 384, "num_hidden_layers": 6, "intermediate_size": 1536}
    asked, lists = ["Who?"] * N_TIMES, [passages()[:20]] * N_TIMES
    with TemporaryDirectory() as to:
        BertForSequenceClassification(BertConfig(**sizes, num_labels=1)).save_pretrained(to)
        AutoTokenizer.from_pretrained(SentenceEmbedder()._folder).save_pretrained(to)
        models = [CrossEncoder(to, window=256, device=one) for one in DEVICES]
        return on_both(lambda gpu: models[gpu].scores(asked, lists), 20 * N_TIMES * N_TOKENS)


def nearest() -> Measurement:
    """Measure questions per second in a vector search over 200,000 rows."""
    vectors = np.random.default_rng(0).standard_normal((200_000, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    indices = VectorIndex(vectors), VectorIndex(vectors)
    for index, rows in zip(indices, (None, DeviceRows(vectors)), strict=True):
        vars(index)["_on_gpu"] = rows
    return on_both(lambda gpu: indices[gpu].search(vectors[:256], 10), 256, "questions/s")


SUITES = {
    "embed": {
        "names": lambda: embed(names()), "passages": lambda: embed(passages()),
        "question": question, "stored": read_stored,
    },
    "llm": {
        f"{n}_{ms}ms": partial(calls, ms / 1000, n)
        for n, ms in ((16, 50), (16, 500), (64, 50), (256, 500), (256, 50))
    },
    "gpu": {
        "embedding": lambda: reading(SentenceEmbedder, lambda m, t: m.encode(t, kind="passage")),
        "rerank": rerank, "nearest": nearest,
        "tagging": lambda: reading(Spacy, lambda m, texts: list(m.sentences(texts))),
    },
}  # fmt: skip
