"""Building graphs without a language model: by our builders, and plainly, in one run and in turns.

`spacy` reads 1,000 passages of the world by the packaged model and makes the entity-passage graph
of them, nothing stored, against the model's own `nlp.pipe` over the same texts and titles. `kg`
builds from the facts planted in 10,000 passages of the world, against dicts and lists; other
results are an error. `ours` and `reference` are chunks a second, the median of `N_REPEATS`; p50 and
p95 are ours, p95 the slow end. `growth_10k` and `growth_100k` are the exponents of the processor
time from a tenth of so many chunks to so many: 1 is linear; `growth_files` is that of writing the
graph with its dictionary of names, up to the largest size.

`grown_1k`, `grown_10k` and `grown_50k` build all that `method=entitypassage` needs of a world of so
many documents after one was added, with the packaged models: `ours` and `reference` are documents a
second of that build and of the first one, so that `ratio` is how many times quicker it is. The
first build has empty stores and lacks `N_ADDED` documents and 1 %; these are then added, the 1 % at
once, at seeded places of the corpus. `seconds` is the median over those added alone, `first` those
of the first build, `share` and `share_1pct` the seconds of one document and of 1 % as shares of
them, `<artifact>_s` those of its steps, `mb` the megabytes of the artifacts written.
`growth_seconds` and `growth_mb` are exponents from a smaller world, measured in the same run, to
this one. Models are loaded before. That of 50,000 documents takes half an hour.
"""

import math
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from timing import Numbers, in_turns, rates, seconds

from graphrag_bench.algorithms.extraction import Extraction
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.config.compose import composed
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.embedding.nlp import Spacy
from graphrag_bench.graphs.entity_passage import entity_passage as build_entity_passage
from graphrag_bench.graphs.knowledge_graph import kg as build_kg
from graphrag_bench.progress import Progress
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.text import normalise_name
from graphrag_bench.world.facts import WorldSettings
from graphrag_bench.world.making import make_world
from graphrag_bench.world.planted import planted_extraction

N_PASSAGES, N_CHUNKS, N_REPEATS, SIZES = 1000, 10_000, 3, (1000, 10_000, 100_000)
N_ADDED, NOISE = 3, 0.1
QUIET = Progress(quiet=True)


class Corpus:
    """A corpus whose documents have no other names."""

    documents = ()


def exponents(times: Mapping[int, float]) -> dict[str, float]:
    """The exponent of growth from each size to the next."""
    pairs = zip(list(times)[:-1], list(times)[1:], strict=True)
    return {
        f"growth_{large // 1000}k": math.log(times[large] / times[small]) / math.log(large / small)
        for small, large in pairs
    }


def grown(prepare: Callable[[int], Callable[[], Graph]]) -> dict[str, float]:
    """How the time of building grows, and that of writing what was built last."""
    build, save = {}, {}
    for size in SIZES:
        call = prepare(size)
        graphs: list[Graph] = []
        build[size] = seconds(
            lambda call=call, graphs=graphs: graphs.append(call()), time.process_time
        )
        with TemporaryDirectory() as folder:
            save[size] = seconds(partial(graphs[0].save, Path(folder)), time.process_time)
    return {**exponents(build), "growth_files": list(exponents(save).values())[-1]}


def of_spacy() -> Numbers:
    """Text to entity-passage graph by the packaged model, against the model alone."""
    table = chunks(N_PASSAGES)
    texts, nlp = [*dict.fromkeys(table.titles), *table.texts], Spacy()
    raw = nlp._loaded

    def ours() -> Graph:
        return build_entity_passage(corpus=Corpus(), chunk_table=table, nlp=nlp, progress=QUIET)

    next(raw.pipe(texts[:1]))
    times = in_turns(ours, lambda: [len(one.ents) for one in raw.pipe(texts)], N_REPEATS)
    return rates(len(table), *times, "chunks/s")


def of_kg() -> Numbers:
    """Entities and triples to the knowledge graph, against dicts of tuples."""

    def prepare(size: int) -> Callable[[], Graph]:
        extraction, table = extracted(size)
        return lambda: build_kg(extraction=extraction, chunk_table=table)

    extraction, _ = extracted(N_CHUNKS)
    ours, plain = prepare(N_CHUNKS), lambda: plain_kg(extraction)
    graph, (nodes, facts, _, fact_chunks) = ours(), plain()
    ends = zip(graph.source.tolist(), graph.relations, graph.target.tolist(), strict=True)
    _refuse(list(graph.names) != list(nodes), "nodes")
    _refuse(dict(zip(ends, graph.weight.tolist(), strict=True)) != facts, "facts")
    _refuse(graph.relationship_chunk.nnz != sum(map(len, fact_chunks.values())), "chunks")
    times = in_turns(ours, plain, N_REPEATS)
    return rates(N_CHUNKS, *times, "chunks/s", **grown(prepare))


def extracted(size: int) -> tuple[Extraction, ChunkTable]:
    """What is planted in so many chunks, and these."""
    table = chunks(size)
    return planted_extraction(chunk_table=table), table


def chunks(size: int) -> ChunkTable:
    """So many passages of the world, each a chunk."""
    passages = make_world(WorldSettings(size=size)).passages[:size]
    return ChunkTable.of([(one.id, one.title, one.text) for one in passages])


def plain_kg(extraction: Extraction) -> tuple[Any, ...]:
    """Nodes, facts with weights, and the chunks of both, by dicts."""
    nodes: dict[str, int] = {}
    facts: dict[tuple[int, str, int], float] = {}
    chunks: dict[int, set[int]] = {}
    fact_chunks: dict[tuple[int, str, int], set[int]] = {}
    for number, row in enumerate(extraction.rows):
        for name in map(normalise_name, row.entities):
            if name:
                chunks.setdefault(nodes.setdefault(name, len(nodes)), set()).add(number)
        for triple in row.triples:
            head, relation, tail = map(normalise_name, (triple.head, triple.relation, triple.tail))
            if head and relation and tail and head != tail:
                ends = [nodes.setdefault(name, len(nodes)) for name in (head, tail)]
                fact = (ends[0], relation, ends[1])
                facts[fact] = facts.get(fact, 0.0) + triple.weight
                fact_chunks.setdefault(fact, set()).add(number)
                for end in ends:
                    chunks.setdefault(end, set()).add(number)
    return nodes, facts, chunks, fact_chunks


def _refuse(differs: bool, what: str) -> None:
    if differs:
        raise AssertionError(f"the {what} differ from the plain ones")


@dataclass(frozen=True)
class Step:
    """The building of one version: seconds of each artifact by name, and the bytes of all."""

    seconds: Mapping[str, float]
    n_bytes: int

    @property
    def total(self) -> float:
        """The seconds of all artifacts."""
        return sum(self.seconds.values())


def of_world(size: int, home: str, *more: str) -> Experiment:
    """The default method on a world of so many documents."""
    words = (
        "dataset=world", f"dataset.size={round(size * (1 - NOISE))}", f"dataset.noise={NOISE}",
        "method=entitypassage", "answer=off", "reference_rows=off",
        f"paths.home={home}", *more,
    )  # fmt: skip
    return Experiment.prepare(composed(words))


def versions(size: int) -> list[Step]:
    """The first build, `N_ADDED` of one document more each, and one of the 1 % that is left."""
    with TemporaryDirectory() as home:
        experiment = of_world(size, home)
        documents = experiment.dataset.documents
        _refuse(len(documents) != size, f"{size} documents")
        late = np.random.default_rng(0).permutation(size)[: N_ADDED + size // 100].tolist()
        experiment.models["embedder"].encode(["Norvik"], kind="passage")
        list(experiment.models["nlp"].sentences(["Norvik is a city."]))

        def built(missing: list[int]) -> Step:
            absent = frozenset(missing)
            rest = tuple(row for place, row in enumerate(documents) if place not in absent)
            return built_anew(experiment, replace(experiment.dataset, documents=rest))

        return [built(late), *(built(late[n:]) for n in range(1, N_ADDED + 1)), built([])]


def built_anew(experiment: Experiment, corpus: Dataset) -> Step:
    """Build every artifact of a corpus, none of which may be there."""
    models = experiment.models.over(corpus)
    plan, store = experiment.plan_for(models), experiment.store(QUIET)
    _refuse(any(store.holds(item) for item in plan), "artifacts")
    times, n_bytes = {}, 0
    for item in plan:
        call = partial(store.resources, plan, {item.resource}, models)
        times[item.resource] = seconds(call)
        files = (path for path in store.folder(item).rglob("*") if path.is_file())
        n_bytes += sum(path.stat().st_size for path in files)
    return Step(times, n_bytes)


def of_growth(size: int, smaller: int) -> Numbers:
    """One document added to a world, against its first build."""
    _, *before, _ = versions(smaller)
    first, *added, percent = versions(size)
    totals, totals_before = ([step.total for step in of] for of in (added, before))
    took, took_before = statistics.median(totals), statistics.median(totals_before)
    middle = min(added, key=lambda step: abs(step.total - took))
    growth = math.log(size / smaller)
    more = {
        "seconds": took,
        "first": first.total,
        "share": took / first.total,
        "share_1pct": percent.total / first.total,
        "growth_seconds": math.log(took / took_before) / growth,
        "growth_mb": math.log(middle.n_bytes / before[0].n_bytes) / growth,
        "mb": middle.n_bytes / 1e6,
        **{f"{name}_s": value for name, value in middle.seconds.items()},
    }
    return rates(size, totals, [first.total], "documents/s", **more)


CASES = {
    "spacy": of_spacy,
    "kg": of_kg,
    "grown_1k": lambda: of_growth(1000, smaller=250),
    "grown_10k": lambda: of_growth(10_000, smaller=1000),
    "grown_50k": lambda: of_growth(50_000, smaller=10_000),
}
