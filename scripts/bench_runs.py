"""Benchmarks of whole runs (`endtoend`) and of building a graph (`build`).

`answering` measures VanillaRAG with a scripted reader and stored vectors; the reference is a loop
that only embeds and searches. `help`, `plan` and `run` (with stored results) measure how often a
command can be started, compared with `python -c "import numpy"`. `seconds` is the median duration.
`spacy` builds the entity-passage graph of 1,000 passages of the synthetic world; the reference is
`nlp.pipe` of the same model over the same texts.
"""

import subprocess
import sys
from functools import partial
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import numpy as np
from bench import Measurement, in_turns, rates, seconds

from graphrag_bench.config.compose import compose_settings
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.embedding.nlp import Spacy
from graphrag_bench.progress import Progress
from graphrag_bench.run.execute import build_resources, execute
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.world.facts import WorldSettings
from graphrag_bench.world.generator import make_world
from methods.entitypassage.names import entity_passage

N_CHUNKS, N_QUESTIONS, N_REPEATS, K = 900, 900, 5, 4
REPLY = "Norvik"
QUIET = Progress(quiet=True)
GRAPHRAG_BENCH = (sys.executable, "-m", "graphrag_bench")


def answer_questions() -> Measurement:
    """Measure a run of questions against a loop that only embeds and searches."""
    words = ("dataset=world", f"dataset.size={N_CHUNKS}", f"dataset.n_questions={N_QUESTIONS}",
             "method=vanilla", "llm=scripted", "embedder=hashing",
             "reference_rows=off")  # fmt: skip

    def prepared(*more: str) -> Experiment:
        values = compose_settings((*words, f"paths.home={home}", *more))
        return Experiment.prepare({**values, "llm": {**values["llm"], "replies": {"re:.": REPLY}}})

    mine, other = [], []
    with TemporaryDirectory() as home:
        execute(prepared("limit=1"), QUIET)
        plain = prepared()
        index = build_resources(plain, plain.models, QUIET)["chunk_index"]
        encode = partial(plain.models["embedder"].encode, kind="question")
        texts = [[question.text] for question in plain.dataset.questions]
        for repeat in range(N_REPEATS):
            experiment = prepared(f"method.top_k={K + repeat}")
            mine.append(seconds(partial(execute, experiment, QUIET)))
            other.append(seconds(lambda: [index.search(encode(text), K) for text in texts]))
            if len(experiment.folder.rows()) != N_QUESTIONS:
                raise AssertionError(f"not all of {N_QUESTIONS} questions were answered")
    return rates(N_QUESTIONS, mine, other, "questions/s")


def start_command(*arguments: str) -> Measurement:
    """Measure the start of a command against `import numpy`."""
    ours, reference = (*GRAPHRAG_BENCH, *arguments), (sys.executable, "-c", "import numpy")
    mine, other = in_turns(partial(run_command, *ours), partial(run_command, *reference), N_REPEATS)
    return rates(1, mine, other, "starts/s", seconds=float(np.median(mine)))


def start_stored_run(*arguments: str) -> Measurement:
    """Measure the start of a run whose results are all stored."""
    with TemporaryDirectory() as home:
        words = ("run", "dataset=toy", "method=bm25", "answer=off", *arguments)
        run_command(*GRAPHRAG_BENCH, *words, f"paths.home={home}")
        return start_command(*words, f"paths.home={home}")


def run_command(*command: str) -> None:
    """Run a process and discard its output."""
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def tagging() -> Measurement:
    """Measure building an entity-passage graph against only tagging the texts."""
    passages = make_world(WorldSettings(size=1000)).passages[:1000]
    table = ChunkTable.of([(one.id, one.title, one.text) for one in passages])
    nlp = Spacy()
    texts, raw = [*dict.fromkeys(table.titles), *table.texts], nlp._loaded
    corpus = SimpleNamespace(documents=())
    build = partial(entity_passage, corpus=corpus, chunk_table=table, nlp=nlp, progress=QUIET)
    next(raw.pipe(texts[:1]))
    times = in_turns(build, lambda: [len(one.ents) for one in raw.pipe(texts)], 3)
    return rates(len(table), *times, "chunks/s")


SUITES = {
    "endtoend": {
        "answering": answer_questions,
        "help": partial(start_command, "--help"),
        "plan": partial(start_command, "plan", "dataset=sample", "method=hipporag"),
        "run": partial(start_stored_run, "reference_rows=off"),
        "run_references": start_stored_run,
    },
    "build": {"spacy": tagging},
}
