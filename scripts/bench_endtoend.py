"""What the framework adds to a question, and what the commands take to start.

`answering` are questions a second of a run of VanillaRAG with a scripted reader and chunk vectors
that are stored: retrieving, packing, asking, scoring and writing its files; the reference is a loop
that embeds, searches, packs and writes by hand, with no trace, check or score. `help`, `plan` and
`run` (all of it stored, without and with reference rows) are starts a second of the commands,
the reference `python -c "import numpy"`; the column `seconds`
is the median of one start.
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import faiss
import numpy as np
from timing import Numbers, in_turns, rates

from graphrag_bench.config.compose import composed
from graphrag_bench.progress import Progress
from graphrag_bench.run.execute import build_resources, execute
from graphrag_bench.run.experiment import Experiment

N_CHUNKS, N_QUESTIONS, N_REPEATS, N_STARTS, K = 900, 900, 5, 5, 4
REPLY = "Norvik"
GRAPHRAG_BENCH = (sys.executable, "-m", "graphrag_bench.cli.main")


def prepared(home: str, *more: str) -> Experiment:
    """The run, with a reader that gives every prompt one reply."""
    values = composed((
        "dataset=world", f"dataset.size={N_CHUNKS}", f"dataset.n_questions={N_QUESTIONS}",
        "method=vanilla", "llm=scripted", "embedder=hashing", "reference_rows=off",
        f"paths.home={home}", *more,
    ))  # fmt: skip
    return Experiment.prepare({**values, "llm": {**values["llm"], "replies": {"re:.": REPLY}}})


def answering() -> Numbers:
    """Questions a second, by a run and by hand, in turns."""
    mine, other = [], []
    with TemporaryDirectory() as home:
        execute(prepared(home, "limit=1"), Progress())
        for repeat in range(N_REPEATS):
            experiment = prepared(home, f"method.top_k={K + repeat}")
            began = time.perf_counter()
            done = execute(experiment, Progress())
            mine.append(time.perf_counter() - began)
            if len(done.folder.rows()) != N_QUESTIONS:
                raise AssertionError(f"not all of {N_QUESTIONS} questions were answered")
            other.append(by_hand(experiment, Path(home)))
    return rates(N_QUESTIONS, mine, other, "questions/s")


def by_hand(experiment: Experiment, folder: Path) -> float:
    """Seconds of a loop: embed, search, pack, and write a line for each question."""
    resources = build_resources(experiment, experiment.models, Progress())
    index, table = resources["chunk_index"], resources["chunk_table"]
    vectors, passages = np.asarray(index.vectors), list(table.passages)
    embedder = experiment.models["embedder"]
    began = time.perf_counter()
    with (folder / "rows.jsonl").open("w", encoding="utf-8") as rows:
        for question in experiment.dataset.questions:
            vector = embedder.encode([question.text], kind="question")
            _, ids = faiss.knn(vector, vectors, K, metric=faiss.METRIC_INNER_PRODUCT)
            text = "\n\n".join(passages[row] for row in ids[0].tolist())
            row = {"question": question.id, "context": text, "answer": REPLY}
            rows.write(json.dumps(row) + "\n")
    return time.perf_counter() - began


def starts(*arguments: str) -> Numbers:
    """Starts a second of a command, against a Python that imports numpy alone."""
    mine, other = in_turns(
        lambda: started(*GRAPHRAG_BENCH, *arguments),
        lambda: started(sys.executable, "-c", "import numpy"),
        N_STARTS,
    )
    return rates(1, mine, other, "starts/s", seconds=float(np.median(mine)))


def stored(*arguments: str) -> Numbers:
    """Starts a second of a run of which everything is stored."""
    with TemporaryDirectory() as home:
        words = ("run", *arguments, f"paths.home={home}")
        started(*GRAPHRAG_BENCH, *words)
        return starts(*words)


def started(*command: str) -> None:
    """Run a process to its end, without its output."""
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


CASES = {
    "answering": answering,
    "help": lambda: starts("--help"),
    "plan": lambda: starts("plan", "dataset=sample", "method=hipporag"),
    "run": lambda: stored("dataset=toy", "method=bm25", "answer=off", "reference_rows=off"),
    "run_references": lambda: stored("dataset=toy", "method=bm25", "answer=off"),
}
