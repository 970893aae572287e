"""Building graphs without a language model: by our builders, and plainly, in one run and in turns.

`spacy` reads 1,000 passages of the world by the packaged model and makes the entity-passage graph
of them, nothing stored, against the model's own `nlp.pipe` over the same texts and titles. The
other cases build from what was read already (`made_up_texts.py`) of 10,000 chunks; the reference
does the same by dicts and lists, and other results are an error. `entity_passage` has a reference
that does less: it merges no names. `ours` and `reference` are chunks a second, the median of
`N_REPEATS`; p50 and p95 are ours, p95 the slow end. `growth_10k` and `growth_100k` are the
exponents of the processor time from a tenth of so many chunks to so many: 1 is linear. That of the
passage graph is measured with `max_df=20`, which bites at all sizes: below its bound a name of m
passages makes m (m - 1) / 2 edges. `growth_files` is that of writing the graph with its dictionary
of names, up to the largest size; `one_document` that of 1,000 and 10,000 chunks of one document.

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

from __future__ import annotations

import gc
import math
import statistics
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from made_up_texts import MadeUp

from graphrag_bench.config.compose import composed
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.incomplete import building_store
from graphrag_bench.graph.extraction import Extraction, TextExtraction
from graphrag_bench.graph.graph import Graph
from graphrag_bench.models.nlp import NUMERIC, Spacy
from graphrag_bench.offline.entity_passage import RULES, read_names
from graphrag_bench.offline.entity_passage import entity_passage as build_entity_passage
from graphrag_bench.offline.extraction import nlp_extraction
from graphrag_bench.offline.knowledge_graph import kg as build_kg
from graphrag_bench.offline.passage_graph import MAX_DF
from graphrag_bench.offline.passage_graph import passage as build_passage_graph
from graphrag_bench.offline.resolution import resolution
from graphrag_bench.offline.text_extraction import nlp_text_extraction
from graphrag_bench.offline.text_graph import text_graph
from graphrag_bench.progress import Progress
from graphrag_bench.text import normalise_name
from graphrag_bench.world.facts import WorldSettings
from graphrag_bench.world.making import make_world

N_PASSAGES, N_CHUNKS, N_REPEATS, SIZES = 1000, 10_000, 3, (1000, 10_000, 100_000)
RARE = 20
N_ADDED, NOISE, N_WORDS = 3, 0.1, 66
Numbers = tuple[float, float, str, dict[str, float]]
QUIET = Progress(quiet=True)


class Corpus:
    """A corpus whose documents have no other names."""

    documents = ()


def in_turns(n_chunks: int, ours: Callable[[], Any], plain: Callable[[], Any]) -> Numbers:
    """Chunks a second of both."""
    mine, other = [], []
    for _ in range(N_REPEATS):
        mine.append(seconds(ours, time.perf_counter))
        other.append(seconds(plain, time.perf_counter))
    p50, p95 = (n_chunks / float(np.percentile(mine, part)) for part in (50, 95))
    return p50, n_chunks / statistics.median(other), "chunks/s", {"p50": p50, "p95": p95}


def seconds(call: Callable[[], Any], clock: Callable[[], float]) -> float:
    """How long a call takes, with what others left behind collected before."""
    gc.collect()
    began = clock()
    call()
    return clock() - began


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
        made: list[Graph] = []
        build[size] = seconds(lambda call=call, made=made: made.append(call()), time.process_time)
        with TemporaryDirectory() as folder:
            save[size] = seconds(partial(made[0].save, Path(folder)), time.process_time)
    return {**exponents(build), "growth_files": list(exponents(save).values())[-1]}


def of_spacy() -> Numbers:
    """Text to entity-passage graph by the packaged model, against the model alone."""
    made = make_world(WorldSettings(size=N_PASSAGES)).passages[:N_PASSAGES]
    table = ChunkTable.of([(one.id, one.title, one.text) for one in made])
    texts, nlp = [*dict.fromkeys(table.titles), *table.texts], Spacy()
    raw = nlp._loaded

    def ours() -> Graph:
        return build_entity_passage(corpus=Corpus(), chunk_table=table, nlp=nlp, progress=QUIET)

    next(raw.pipe(texts[:1]))
    return in_turns(len(table), ours, lambda: [len(one.ents) for one in raw.pipe(texts)])


def of_kg() -> Numbers:
    """Entities and triples to the knowledge graph, against dicts of tuples."""

    def prepare(size: int) -> Callable[[], Graph]:
        table, extraction = _extracted(nlp_extraction, size)
        return lambda: build_kg(extraction=extraction, chunk_table=table)

    _, extraction = _extracted(nlp_extraction, N_CHUNKS)
    ours, plain = prepare(N_CHUNKS), lambda: plain_kg(extraction)
    graph, (nodes, facts, _, fact_chunks) = ours(), plain()
    ends = zip(graph.source.tolist(), graph.relations, graph.target.tolist(), strict=True)
    _refuse(list(graph.names) != list(nodes), "nodes")
    _refuse(dict(zip(ends, graph.weight.tolist(), strict=True)) != facts, "facts")
    _refuse(graph.relationship_chunk.nnz != sum(map(len, fact_chunks.values())), "chunks")
    numbers = in_turns(N_CHUNKS, ours, plain)
    return *numbers[:3], numbers[3] | grown(prepare)


def _extracted(read: Callable[..., Any], size: int) -> tuple[ChunkTable, Any]:
    made = MadeUp(size)
    return made.chunk_table, read(chunk_table=made.chunk_table, nlp=made, progress=QUIET)


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


def of_rkg() -> Numbers:
    """Described records to the rich knowledge graph, against a dict of dicts for each row."""

    def prepare(size: int) -> Callable[[], Graph]:
        table, extraction = _extracted(nlp_text_extraction, size)
        return lambda: text_graph(extraction, table, keywords=True)

    _, extraction = _extracted(nlp_text_extraction, N_CHUNKS)
    ours, plain = prepare(N_CHUNKS), lambda: plain_rkg(extraction)
    graph, (nodes, rows) = ours(), plain()
    assert graph.descriptions is not None and graph.facts is not None
    _refuse(list(graph.names) != list(nodes), "nodes")
    _refuse(list(graph.descriptions) != [_told(row) for row in nodes.values()], "descriptions")
    _refuse(list(graph.facts) != [_told(row) for row in rows.values()], "facts")
    _refuse(graph.weight.tolist() != [row["weight"] for row in rows.values()], "weights")
    numbers = in_turns(N_CHUNKS, ours, plain)
    return *numbers[:3], numbers[3] | grown(prepare)


def _told(row: Mapping[str, Any]) -> str:
    return " ".join(sorted(row["told"]))


def plain_rkg(extraction: TextExtraction) -> tuple[dict[str, Any], dict[Any, Any]]:
    """A dict for each node and each pair with what was told of it."""
    nodes: dict[str, Any] = {}
    rows: dict[Any, Any] = {}

    def node(name: str, chunk: int) -> Any:
        fresh = {"row": len(nodes), "types": Counter(), "told": {}, "chunks": set()}
        known = nodes.setdefault(normalise_name(name), fresh)
        known["chunks"].add(chunk)
        return known

    for chunk, record in enumerate(extraction.rows):
        for entity in record.entities:
            known = node(entity.name, chunk)
            if entity.description:
                known["told"][entity.description] = None
            if entity.type:
                known["types"][entity.type] += 1
        for one in record.relationships:
            ends = [node(name, chunk)["row"] for name in (one.source, one.target)]
            fresh = {"weight": 0.0, "told": {}, "keywords": {}, "chunks": set()}
            known = rows.setdefault((min(ends), max(ends)), fresh)
            known["weight"] += one.strength
            known["told"][one.description] = None
            known["keywords"].update(dict.fromkeys(one.keywords))
            known["chunks"].add(chunk)
    for known in (*nodes.values(), *rows.values()):
        _told(known)
    return nodes, rows


def of_passage_graph() -> Numbers:
    """Mentions to passages joined by shared names, against pairs counted in a dict."""

    def prepare(size: int, max_df: int = MAX_DF) -> Callable[[], Graph]:
        made = MadeUp(size)
        build = partial(build_passage_graph, chunk_table=made.chunk_table, nlp=made)
        return lambda: build(progress=QUIET, max_df=max_df)

    made = MadeUp(N_CHUNKS)
    ours, plain = prepare(N_CHUNKS), lambda: plain_passage_graph(made)
    graph, pairs = ours(), plain()
    ends = zip(graph.source.tolist(), graph.target.tolist(), strict=True)
    _refuse(list(ends) != sorted(pairs), "edges")
    _refuse(list(graph.relations) != [", ".join(pairs[pair]) for pair in sorted(pairs)], "names")
    numbers = in_turns(N_CHUNKS, ours, plain)
    more = {"edges": float(len(pairs)), **grown(partial(prepare, max_df=RARE))}
    return *numbers[:3], numbers[3] | more


def plain_passage_graph(made: MadeUp) -> dict[tuple[int, int], list[str]]:
    """The names that each pair of passages shares, in order of first appearance."""
    table = made.chunk_table
    holding: dict[str, list[int]] = {}
    for row, sentences in enumerate(made.sentences(list(table.texts))):
        named = [text for one in sentences for text, kind in one.entities if kind not in NUMERIC]
        for name in dict.fromkeys(map(normalise_name, [table.titles[row], *named])):
            if name:
                holding.setdefault(name, []).append(row)
    pairs: dict[tuple[int, int], list[str]] = {}
    for name, rows in holding.items():
        for pair in combinations(rows, 2) if len(rows) <= MAX_DF else ():
            pairs.setdefault(pair, []).append(name)
    return pairs


def of_entity_passage() -> Numbers:
    """Names and titles to the entity-passage graph, against dicts of names that merge nothing."""

    def prepare(size: int) -> Callable[[], Graph]:
        made = MadeUp(size)
        return lambda: build_entity_passage(
            corpus=Corpus(), chunk_table=made.chunk_table, nlp=made, progress=QUIET
        )

    made = MadeUp(N_CHUNKS)
    numbers = in_turns(N_CHUNKS, prepare(N_CHUNKS), lambda: plain_names(made))
    return *numbers[:3], numbers[3] | grown(prepare) | {"one_document": one_document()}


def plain_names(made: MadeUp) -> dict[str, set[int]]:
    """The chunks of each normalised name."""
    table = made.chunk_table
    holding: dict[str, set[int]] = {}
    for row, sentences in enumerate(made.sentences(list(table.texts))):
        named = [text for one in sentences for text, kind in one.entities if kind not in NUMERIC]
        for text in (table.titles[row], *named):
            holding.setdefault(normalise_name(text), set()).add(row)
    return holding


def one_document() -> float:
    """The exponent of merging the names of one document that grows from 1,000 chunks to 10,000."""
    times = {}
    for size in SIZES[:2]:
        made = MadeUp(size, chunks_of_a_document=size)
        readings = read_names(made.chunk_table, made, {}, QUIET)
        times[size] = seconds(partial(resolution, readings, {}, RULES), time.process_time)
    return next(iter(exponents(times).values()))


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


def of_world(size: int, home: str) -> Experiment:
    """The default method on a world of so many documents."""
    words = (
        "dataset=world", f"dataset.size={round(size * (1 - NOISE))}", f"dataset.noise={NOISE}",
        f"dataset.words={N_WORDS}", "method=entitypassage", "answer=off", "reference_rows=off",
        f"paths.home={home}",
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
            left = frozenset(missing)
            kept = tuple(row for place, row in enumerate(documents) if place not in left)
            return built_anew(experiment, replace(experiment.dataset, documents=kept))

        return [built(late), *(built(late[n:]) for n in range(1, N_ADDED + 1)), built([])]


def built_anew(experiment: Experiment, corpus: Dataset) -> Step:
    """Build every artifact of a corpus, none of which may be there."""
    models = experiment.models.over(corpus)
    plan, store = experiment.plan_for(models), building_store(experiment, QUIET)
    _refuse(any(store.holds(item) for item in plan), "artifacts")
    times, n_bytes = {}, 0
    for item in plan:
        call = partial(store.resources, plan, {item.resource}, models)
        times[item.resource] = seconds(call, time.perf_counter)
        files = (path for path in store.folder(item).rglob("*") if path.is_file())
        n_bytes += sum(path.stat().st_size for path in files)
    return Step(times, n_bytes)


def of_growth(size: int, smaller: int) -> Numbers:
    """One document added to a world, against its first build."""
    _, *before, _ = versions(smaller)
    first, *added, percent = versions(size)
    taken, taken_before = ([step.total for step in of] for of in (added, before))
    took, took_before = statistics.median(taken), statistics.median(taken_before)
    middle = min(added, key=lambda step: abs(step.total - took))
    growth = math.log(size / smaller)
    p50, p95 = (size / float(np.percentile(taken, part)) for part in (50, 95))
    more = {
        "p50": p50,
        "p95": p95,
        "seconds": took,
        "first": first.total,
        "share": took / first.total,
        "share_1pct": percent.total / first.total,
        "growth_seconds": math.log(took / took_before) / growth,
        "growth_mb": math.log(middle.n_bytes / before[0].n_bytes) / growth,
        "mb": middle.n_bytes / 1e6,
        **{f"{name}_s": value for name, value in middle.seconds.items()},
    }
    return p50, size / first.total, "documents/s", more


CASES = {
    "spacy": of_spacy,
    "kg": of_kg,
    "rkg": of_rkg,
    "passage_graph": of_passage_graph,
    "entity_passage": of_entity_passage,
    "grown_1k": lambda: of_growth(1000, smaller=250),
    "grown_10k": lambda: of_growth(10_000, smaller=1000),
    "grown_50k": lambda: of_growth(50_000, smaller=10_000),
}
