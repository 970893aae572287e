"""The LLM-free default from texts to answers' contexts, on worlds of 10^3, 10^4 and 10^5 chunks.

`ours` is the chunks built a second by everything that `method=entitypassage` builds, `reference`
what raw spaCy and raw sentence-transformers, one after the other, read and embed a second on 300 of
the same passages. Columns: seconds and peak memory (`_mb`, of the process while the step ran; its
workers' apart) of each artifact, milliseconds of a question alone (p50 and p95 of 100, embedding it
included) and in a block of 100, evidence recall@5. Nothing comes from a store of vectors or
readings. A passage has at least 66 words, about 100 tokens of MiniLM. The case of 10^5 takes half
an hour; `python scripts/scaling.py` draws the curve.
"""

import resource
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

import numpy as np
from bench_build import of_world
from timing import Numbers

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.nlp import Spacy
from graphrag_bench.embedding.sentence_embedder import SentenceEmbedder
from graphrag_bench.evaluation.retrieval import evidence_recall
from graphrag_bench.pipeline.pipeline import Finished, run
from graphrag_bench.pipeline.steps import Execution
from graphrag_bench.progress import Progress
from graphrag_bench.run.execute import build_resources, start_state
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.values import Question, RetrievalState

N_QUESTIONS, N_RAW = 100, 300
AT = 5


def peak_from_here() -> None:
    """Let the process's peak memory begin anew."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_mb() -> float:
    """The process's peak memory since `peak_from_here`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def built(experiment: Experiment, progress: Progress) -> dict[str, float]:
    """Build every artifact in its order; seconds and peak memory of each by name."""
    store = experiment.store(progress)
    sizes: dict[str, float] = {}
    for planned in experiment.plan:
        peak_from_here()
        began = time.perf_counter()
        store.resources(experiment.plan, {planned.resource}, experiment.models)
        sizes[planned.resource] = time.perf_counter() - began
        sizes[f"{planned.resource}_mb"] = peak_mb()
    return sizes


def raw_rate(texts: Sequence[str]) -> float:
    """Passages a second that spaCy's `pipe` and then `SentenceTransformer.encode` take."""
    tagger, model = Spacy()._loaded, SentenceEmbedder(precision="float32")._loaded
    began = time.perf_counter()
    for document in tagger.pipe(texts, batch_size=64):
        _ = [span.text for span in document.sents]
    model.encode(list(texts), batch_size=32, normalize_embeddings=True, show_progress_bar=False)
    return len(texts) / (time.perf_counter() - began)


def recall(experiment: Experiment, table: ChunkTable, rows: Sequence[Finished]) -> float:
    """Mean evidence recall of the best chunks of the questions."""
    shares = []
    for row in rows:
        if not isinstance(row.outcome, RetrievalState):
            raise AssertionError(f"a question failed: {row.outcome}")
        ids = row.outcome.get("chunks").ids.tolist()
        documents = [name for chunk in ids for name in table.documents_of(chunk)]
        gold = experiment.dataset.gold[row.question.id].evidence
        shares.append(evidence_recall(documents, gold, AT))
    return fmean(shares)


def of_size(n_chunks: int) -> Numbers:
    """Build and ask a world of so many passages."""
    progress = Progress()
    with TemporaryDirectory() as home:
        experiment = of_world(
            n_chunks, home, f"dataset.n_questions={N_QUESTIONS}", "cache.mode=off"
        )
        steps = built(experiment, progress)
        resources = build_resources(experiment, experiment.models, progress, answering=False)
        table: ChunkTable = resources["chunk_table"]
        if len(table) != n_chunks:
            raise AssertionError(f"{len(table)} chunks, not {n_chunks}")
        peak_from_here()
        world = Execution(resources, experiment.settings.workers, experiment.models.ledger)

        def trial(questions: Sequence[Question]) -> tuple[float, list[Finished]]:
            began = time.perf_counter()
            start = partial(start_state, experiment, table=table)
            rows = list(
                run(questions, experiment.method.pipeline, world, answering=False, start=start)
            )
            return 1000 * (time.perf_counter() - began) / len(questions), rows

        questions = experiment.dataset.questions
        _, rows = trial(questions)  # compiles, and maps the files
        block, _ = trial(questions)
        alone = [trial([question])[0] for question in questions]
        seconds = sum(value for name, value in steps.items() if not name.endswith("_mb"))
        graph = resources["graph"]
        more = {
            **steps,
            "workers_mb": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024,
            "build": seconds,
            "nodes": graph.n_nodes,
            "question_block_ms": block,
            "question_p50_ms": float(np.percentile(alone, 50)),
            "question_p95_ms": float(np.percentile(alone, 95)),
            "questions_mb": peak_mb(),
            "recall@5": recall(experiment, table, rows),
        }
        raw = raw_rate(list(table.passages)[:N_RAW])
        return n_chunks / seconds, raw, "chunks/s", more


CASES = {"1k": partial(of_size, 1_000), "10k": partial(of_size, 10_000),
         "100k": partial(of_size, 100_000)}  # fmt: skip
