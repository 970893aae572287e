"""Benchmarks of whole runs: questions, starts of commands, corpora that grow.

`endtoend`: `answering` are questions a second of VanillaRAG with a scripted reader and stored
vectors; the reference is a loop that embeds, searches, packs and writes by hand, with no trace,
check or score. `help`, `plan` and `run` (everything stored, without and with reference rows) are
starts a second of the commands, against `python -c "import numpy"`; `seconds` is the median start.

`build`: `spacy` reads 1,000 passages of the world and makes the entity-passage graph of them,
against the model's own `nlp.pipe` over the same texts. `grown` builds a world with one document
more, against its first build, as rates; 1 % more in `share_1pct`; `growth_seconds` is the exponent
from a smaller world, measured in the same run.
"""

import json
import math
import statistics
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import faiss
import numpy as np
from bench import Numbers, in_turns, rates, seconds

from graphrag_bench.config.compose import compose_settings
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.embedding.nlp import Spacy
from graphrag_bench.progress import Progress
from graphrag_bench.run.execute import build_resources, execute
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.world.facts import WorldSettings
from graphrag_bench.world.generator import make_world
from methods.entitypassage.names import entity_passage

N_CHUNKS, N_QUESTIONS, N_REPEATS, K = 900, 900, 5, 4
N_ADDED, NOISE = 3, 0.1
REPLY = "Norvik"
QUIET = Progress(quiet=True)
GRAPHRAG_BENCH = (sys.executable, "-m", "graphrag_bench.cli.main")


def answering() -> Numbers:
    """Questions a second, by a run and by hand, in turns."""
    words = ("dataset=world", f"dataset.size={N_CHUNKS}", f"dataset.n_questions={N_QUESTIONS}",
             "method=vanilla", "llm=scripted", "embedder=hashing",
             "reference_rows=off")  # fmt: skip

    def prepared(*more: str) -> Experiment:
        values = compose_settings((*words, f"paths.home={home}", *more))
        return Experiment.prepare({**values, "llm": {**values["llm"], "replies": {"re:.": REPLY}}})

    mine, other = [], []
    with TemporaryDirectory() as home:
        execute(prepared("limit=1"), QUIET)
        for repeat in range(N_REPEATS):
            experiment = prepared(f"method.top_k={K + repeat}")
            mine.append(seconds(partial(execute, experiment, QUIET)))
            resources = build_resources(experiment, experiment.models, QUIET)
            rows = Path(home) / "rows.jsonl"
            other.append(seconds(partial(by_hand, experiment, resources, rows)))
            if len(execute(experiment, QUIET).folder.rows()) != N_QUESTIONS:
                raise AssertionError(f"not all of {N_QUESTIONS} questions were answered")
    return rates(N_QUESTIONS, mine, other, "questions/s")


def by_hand(experiment: Experiment, resources: Mapping[str, Any], path: Path) -> None:
    """Embed, search, pack, and write a line for each question."""
    index, table = resources["chunk_index"], resources["chunk_table"]
    vectors, passages = np.asarray(index.vectors), list(table.passages)
    with path.open("w", encoding="utf-8") as rows:
        for question in experiment.dataset.questions:
            vector = experiment.models["embedder"].encode([question.text], kind="question")
            _, ids = faiss.knn(vector, vectors, K, metric=faiss.METRIC_INNER_PRODUCT)
            text = "\n\n".join(passages[row] for row in ids[0].tolist())
            row = {"question": question.id, "context": text, "answer": REPLY}
            rows.write(json.dumps(row) + "\n")


def starts(*arguments: str) -> Numbers:
    """Starts a second of a command, against a Python that imports numpy alone."""
    mine, other = in_turns(
        lambda: started(*GRAPHRAG_BENCH, *arguments),
        lambda: started(sys.executable, "-c", "import numpy"),
        N_REPEATS,
    )
    return rates(1, mine, other, "starts/s", seconds=float(np.median(mine)))


def stored(*arguments: str) -> Numbers:
    """Starts a second of a run of which everything is stored."""
    with TemporaryDirectory() as home:
        words = ("run", "dataset=toy", "method=bm25", "answer=off", *arguments)
        started(*GRAPHRAG_BENCH, *words, f"paths.home={home}")
        return starts(*words, f"paths.home={home}")


def started(*command: str) -> None:
    """Run a process to its end, without its output."""
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def world(size: int, home: str) -> Experiment:
    """The default method on a world of so many documents."""
    words = (
        "dataset=world", f"dataset.size={round(size * (1 - NOISE))}", f"dataset.noise={NOISE}",
        "method=entitypassage", "answer=off", "reference_rows=off", f"paths.home={home}",
    )  # fmt: skip
    experiment = Experiment.prepare(compose_settings(words))
    if (n := len(experiment.dataset.documents)) != size:
        raise AssertionError(f"{n} documents, not {size}")
    return experiment


def built(experiment: Experiment, corpus: Dataset) -> dict[str, float]:
    """Build every artifact of a corpus; seconds of each, seconds and MB of all."""
    models = experiment.models.over(corpus)
    plan, store = experiment.plan_for(models), experiment.store(QUIET)
    if any(store.holds(item) for item in plan):
        raise AssertionError("an artifact was built before")
    columns, n_bytes = {}, 0
    for item in plan:
        call = partial(store.resources, plan, {item.resource}, models)
        columns[f"{item.resource}_s"] = seconds(call)
        files = (path for path in store.folder(item).rglob("*") if path.is_file())
        n_bytes += sum(path.stat().st_size for path in files)
    return {"seconds": sum(columns.values()), "stored_mb": n_bytes / 1e6, **columns}


def grown(size: int, smaller: int) -> Numbers:
    """One document added to a world, against its first build."""
    first, *added, percent = versions(size)
    took, before = (
        statistics.median(step["seconds"] for step in steps)
        for steps in (added, versions(smaller)[1:-1])
    )
    middle = min(added, key=lambda step: abs(step["seconds"] - took))
    more = {
        "first": first["seconds"],
        "share": took / first["seconds"],
        "share_1pct": percent["seconds"] / first["seconds"],
        "growth_seconds": math.log(took / before) / math.log(size / smaller),
        **middle,
    }
    totals = [step["seconds"] for step in added]
    return rates(size, totals, [first["seconds"]], "documents/s", **more)


def versions(size: int) -> list[dict[str, float]]:
    """The first build, `N_ADDED` of one document more each, and one of the 1 % that is left."""
    with TemporaryDirectory() as home:
        experiment = world(size, home)
        documents = experiment.dataset.documents
        late = np.random.default_rng(0).permutation(size)[: N_ADDED + size // 100].tolist()
        experiment.models["embedder"].encode(["Norvik"], kind="passage")
        list(experiment.models["nlp"].sentences(["Norvik is a city."]))
        steps = []
        for absent in (late, *(late[n:] for n in range(1, N_ADDED + 1)), []):
            rest = tuple(row for at, row in enumerate(documents) if at not in set(absent))
            steps.append(built(experiment, replace(experiment.dataset, documents=rest)))
        return steps


def chunks(size: int) -> ChunkTable:
    """So many passages of the world, each a chunk."""
    world = make_world(WorldSettings(size=size)).passages[:size]
    return ChunkTable.of([(one.id, one.title, one.text) for one in world])


def of_spacy() -> Numbers:
    """Text to entity-passage graph by the packaged model, against the model alone."""
    table, nlp, quiet = chunks(1000), Spacy(), Progress(quiet=True)
    texts, raw = [*dict.fromkeys(table.titles), *table.texts], nlp._loaded
    no_names = type("Corpus", (), {"documents": ()})()
    next(raw.pipe(texts[:1]))
    times = in_turns(
        lambda: entity_passage(corpus=no_names, chunk_table=table, nlp=nlp, progress=quiet),
        lambda: [len(one.ents) for one in raw.pipe(texts)],
        3,
    )
    return rates(len(table), *times, "chunks/s")


SUITES = {
    "endtoend": {
        "answering": answering,
        "help": partial(starts, "--help"),
        "plan": partial(starts, "plan", "dataset=sample", "method=hipporag"),
        "run": partial(stored, "reference_rows=off"),
        "run_references": stored,
    },
    "build": {
        "spacy": of_spacy,
        "grown_10k": partial(grown, 10_000, smaller=1000),
        "grown_50k": partial(grown, 50_000, smaller=10_000),
    },
}
