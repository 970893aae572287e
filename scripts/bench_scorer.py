"""Training SubgraphRAG's triple scorer on questions of RoG's size, one question a step.

`N_QUESTIONS` questions have `N_TRIPLES` triples over `N_NODES` readable names each, the means that
G-Retriever (He et al. 2024, Table 2) gives for the subgraphs of WebQSP, and vectors of 1,024
numbers. Times are those of one core's processor. `ours` are questions a second, the reference is
the same step with each triple's inputs side by side. `seconds` is one question, `validation` one
of those that choose the model, `prepared` the reading of one and the labels of its triples, without
the embedding of names.
"""

import json
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from timing import Numbers, rates, seconds

from graphrag_bench.data.readers import read_dataset
from graphrag_bench.embedding.embedder import Hashing
from graphrag_bench.embedding.precision import one_thread
from graphrag_bench.progress import Progress
from methods.subgraphrag import triple_scorers as scorers

N_QUESTIONS, N_TRIPLES, N_NODES, N_RELATIONS, DIMENSION, N_REPEATS = 24, 4252, 1371, 200, 1024, 3


class Planted(Hashing):
    """Seeded unit vectors, whatever the text."""

    def encode(self, texts: Any, *, kind: Any) -> Any:
        """Return a vector for each text."""
        vectors = np.random.default_rng(0).standard_normal((len(texts), DIMENSION), np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def row(number: int, chance: np.random.Generator) -> dict[str, object]:
    """A question whose answer lies two triples away."""
    ends = chance.integers(N_NODES, size=(N_TRIPLES, 2)) + N_NODES * number
    ends[:2] = [[ends[0, 0], ends[0, 1]], [ends[0, 1], ends[1, 1]]]
    kinds = chance.integers(N_RELATIONS, size=N_TRIPLES)
    graph = [[f"name {h}", f"kind.{k}", f"name {t}"] for (h, t), k in zip(ends, kinds, strict=True)]
    topic, answer = graph[0][0], graph[1][2]
    return {"id": str(number), "question": f"which {number}", "answer": [answer],
            "q_entity": [topic], "a_entity": [answer], "graph": graph}  # fmt: skip


def of_rog() -> Numbers:
    """A step of training, against inputs side by side."""
    import torch

    chance, found = np.random.default_rng(0), []
    with TemporaryDirectory() as folder:
        rows = [json.dumps(row(number, chance)) for number in range(N_QUESTIONS)]
        Path(folder, "test.jsonl").write_text("\n".join(rows), encoding="utf-8")

        def prepare() -> None:
            data = read_dataset("cwq", folder)
            quiet = Progress(quiet=True)
            found.append(scorers.lessons_of(data, Planted(DIMENSION), quiet, ""))

        prepared = seconds(prepare, time.process_time) / N_QUESTIONS
    (lessons,) = found
    weights = dict(scorers.first_weights(DIMENSION, chance))
    steps = torch.optim.Adam(list(weights.values()), lr=scorers.LEARNING_RATE, fused=True)

    def step(logits: Any, n: int) -> None:
        for number in range(n):
            steps.zero_grad()
            scorers.loss_of(logits(weights, lessons, number), lessons.questions[number]).backward()
            steps.step()

    with one_thread():
        n = len(lessons.questions)
        clock = time.process_time
        turns = [
            (seconds(lambda: step(scorers.logits, n), clock) / n,
             seconds(lambda: step(side_by_side, 1), clock))
            for _ in range(N_REPEATS)
        ]  # fmt: skip
        validation = seconds(lambda: scorers.measured(weights, lessons), clock) / n
    ours, plain = ([turn[at] for turn in turns] for at in (0, 1))
    more = {"seconds": float(np.median(ours)), "validation": validation, "prepared": prepared}
    return rates(1, ours, plain, "questions/s", **more)


def side_by_side(weights: Any, lessons: scorers.Lessons, number: int) -> Any:
    """The logits of a question's triples from an array of all inputs."""
    import torch

    one = lessons.questions[number]
    names = lessons.names[lessons.place[one.nodes] - 1]
    question = np.repeat(lessons.vectors[number][None], len(one.head), axis=0)
    parts = [question, names[one.head], lessons.relations[one.relation], names[one.tail],
             one.near[one.head], one.near[one.tail]]  # fmt: skip
    inner = torch.from_numpy(np.concatenate(parts, axis=1)) @ weights["hidden"] + weights["bias"]
    return torch.relu(inner) @ weights["out"] + weights["out_bias"]


CASES = {"rog": of_rog}
