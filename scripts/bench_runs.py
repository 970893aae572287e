"""Benchmarks of whole runs: questions, starts of commands, corpora that are large or grow.

`endtoend`: `answering` are questions a second of VanillaRAG with a scripted reader and stored
vectors; the reference is a loop that embeds, searches, packs and writes by hand, with no trace,
check or score. `help`, `plan` and `run` (everything stored, without and with reference rows) are
starts a second of the commands, against `python -c "import numpy"`; `seconds` is the median start.

`scale`: the default without a language model over worlds of 10^3, 10^4 and 10^5 chunks, nothing
stored before. `ours` are chunks built a second, the reference what raw spaCy and
sentence-transformers, one after the other, read and embed of 300 of the same passages. `_s` and
`_mb` are seconds and peak memory of each artifact; `question_ms` a question alone, `block_ms` one
of a block of 100, embedding included. The case of 10^5 takes half an hour.

`grown` (suite `build`): a world with one document more, against its first build, as rates; 1 % more
in `share_1pct`; `growth_` are exponents from a smaller world, measured in the same run.
"""

import json
import math
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import faiss
import numpy as np
from bench import Numbers, in_turns, rates, seconds

from graphrag_bench.config.compose import composed
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.embedding.nlp import Spacy
from graphrag_bench.embedding.sentence_embedder import SentenceEmbedder
from graphrag_bench.evaluation.retrieval import evidence_recall
from graphrag_bench.pipeline.pipeline import Finished, run
from graphrag_bench.pipeline.steps import Execution
from graphrag_bench.progress import Progress
from graphrag_bench.run.execute import build_resources, execute, start_state
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.values import Question, RetrievalState

N_CHUNKS, N_QUESTIONS, N_REPEATS, K = 900, 900, 5, 4
N_ADDED, NOISE, N_RAW = 3, 0.1, 300
REPLY = "Norvik"
QUIET = Progress(quiet=True)
GRAPHRAG_BENCH = (sys.executable, "-m", "graphrag_bench.cli.main")


def answering() -> Numbers:
    """Questions a second, by a run and by hand, in turns."""
    words = ("dataset=world", f"dataset.size={N_CHUNKS}", f"dataset.n_questions={N_QUESTIONS}",
             "method=vanilla", "llm=scripted", "embedder=hashing",
             "reference_rows=off")  # fmt: skip

    def prepared(*more: str) -> Experiment:
        values = composed((*words, f"paths.home={home}", *more))
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


def world(size: int, home: str, *more: str) -> Experiment:
    """The default method on a world of so many documents."""
    words = (
        "dataset=world", f"dataset.size={round(size * (1 - NOISE))}", f"dataset.noise={NOISE}",
        "method=entitypassage", "answer=off", "reference_rows=off", f"paths.home={home}", *more,
    )  # fmt: skip
    experiment = Experiment.prepare(composed(words))
    if (n := len(experiment.dataset.documents)) != size:
        raise AssertionError(f"{n} documents, not {size}")
    return experiment


def built(experiment: Experiment, corpus: Dataset) -> dict[str, float]:
    """Build every artifact of a corpus; seconds and peak memory of each, seconds and MB of all."""
    models = experiment.models.over(corpus)
    plan, store = experiment.plan_for(models), experiment.store(QUIET)
    if any(store.holds(item) for item in plan):
        raise AssertionError("an artifact was built before")
    columns, n_bytes = {}, 0
    for item in plan:
        forget_peak()
        took = seconds(partial(store.resources, plan, {item.resource}, models))
        columns |= {f"{item.resource}_s": took, f"{item.resource}_mb": peak_mb()}
        files = (path for path in store.folder(item).rglob("*") if path.is_file())
        n_bytes += sum(path.stat().st_size for path in files)
    total = sum(value for name, value in columns.items() if name.endswith("_s"))
    return {"seconds": total, "stored_mb": n_bytes / 1e6, **columns}


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


def forget_peak() -> None:
    """Let the process's peak memory begin anew."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_mb() -> float:
    """The process's peak memory since `forget_peak`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def scale(size: int) -> Numbers:
    """Build and ask a world of so many passages."""
    with TemporaryDirectory() as home:
        experiment = world(size, home, "dataset.n_questions=100", "cache.mode=off")
        steps = built(experiment, experiment.dataset)
        resources = build_resources(experiment, experiment.models, QUIET, answering=False)
        table, questions = resources["chunk_table"], experiment.dataset.questions
        execution = Execution(resources, experiment.settings.workers, experiment.models.ledger)
        start = partial(start_state, experiment, table=table)

        def ask(questions: Sequence[Question]) -> list[Finished]:
            pipeline = experiment.method.pipeline
            return list(run(questions, pipeline, execution, answering=False, start=start))

        forget_peak()
        shares = []
        for row in ask(questions):  # compiles, and maps the files
            if not isinstance(row.outcome, RetrievalState):
                raise AssertionError(f"a question failed: {row.outcome}")
            ids = row.outcome.get("chunks").ids.tolist()
            documents = [name for chunk in ids for name in table.documents_of(chunk)]
            gold = experiment.dataset.gold[row.question.id].evidence
            shares.append(evidence_recall(documents, gold, 5))
        alone = [1000 * seconds(partial(ask, [question])) for question in questions]
        more = {
            **steps,
            "nodes": resources["graph"].n_nodes,
            "block_ms": 1000 * seconds(partial(ask, questions)) / len(questions),
            "question_ms": float(np.percentile(alone, 50)),
            "question_p95_ms": float(np.percentile(alone, 95)),
            "questions_mb": peak_mb(),
            "recall@5": statistics.fmean(shares),
        }
        raw = (Spacy()._loaded, SentenceEmbedder(precision="float32")._loaded)
        reference = seconds(partial(read_and_embed, *raw, list(table.passages)[:N_RAW]))
    return size / steps["seconds"], N_RAW / reference, "chunks/s", more


def read_and_embed(tagger: Any, model: Any, texts: list[str]) -> None:
    """Read texts by spaCy's `pipe`, then embed them by `SentenceTransformer.encode`."""
    for document in tagger.pipe(texts, batch_size=64):
        _ = [span.text for span in document.sents]
    model.encode(texts, batch_size=32, normalize_embeddings=True, show_progress_bar=False)


SUITES = {
    "endtoend": {
        "answering": answering,
        "help": partial(starts, "--help"),
        "plan": partial(starts, "plan", "dataset=sample", "method=hipporag"),
        "run": partial(stored, "reference_rows=off"),
        "run_references": stored,
    },
    "scale": {
        "1k": partial(scale, 1_000),
        "10k": partial(scale, 10_000),
        "100k": partial(scale, 100_000),
    },
}
