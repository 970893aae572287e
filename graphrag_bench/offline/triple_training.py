"""The trained triple scorer: its examples, and the training itself, by torch on one thread."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveInt

from graphrag_bench.contract import artifact
from graphrag_bench.data.training import TrainingSet
from graphrag_bench.errors import UserError
from graphrag_bench.graph.triple_scorer import MlpWeights
from graphrag_bench.models.embedder import Embedder
from graphrag_bench.offline.indices import index_texts
from graphrag_bench.offline.mlp_training import Schedule, Vectors, trained
from graphrag_bench.offline.triple_examples import Examples, examples_of, questions_of
from graphrag_bench.offline.triple_index import triple_text
from graphrag_bench.progress import Progress


@artifact("triple_weights")
def triple_weights(
    *,
    training: TrainingSet,
    embedder: Embedder,
    progress: Progress,
    hidden: PositiveInt = 1024,
    learning_rate: Annotated[float, Field(gt=0)] = 1e-3,
    patience: PositiveInt = 10,
    epochs: PositiveInt = 200,
    batch: PositiveInt = 256,
    questions: PositiveInt = 1000,
    negatives: NonNegativeInt = 50,
    dev_share: Annotated[float, Field(gt=0, lt=1)] = 0.1,
    training_seed: NonNegativeInt = 0,
) -> MlpWeights:
    """The weights that tell triples on shortest paths from topic entity to answer from others.

    Of each of the first `questions` training questions all positive triples are taken, and
    `negatives` others (0 for all), half of them near the topic entities. A share of the questions
    is kept to stop by: training ends when the loss on them has not fallen for `patience` epochs,
    and the best weights are kept. Raises UserError when the questions give no example of both
    kinds, or are fewer than two. The same bytes for the same settings on the same kind of machine.
    Source: SubgraphRAG (Li et al. 2025), section 3.1 and its code (1024 hidden units, Adam, 1e-3,
    patience 10).
    Deviation: negatives are sampled, and the development questions are some of those for training.
    """
    data = training.read(questions)
    chance = np.random.default_rng(training_seed)
    found = examples_of(questions_of(data), negatives, chance)
    n_asked = len(found.texts)
    if n_asked < 2 or not 0 < found.label.sum() < len(found.label):
        raise UserError(
            f"Data set '{data.name}': {n_asked} training questions have topic entities and answers "
            "in their graphs; two at least are needed, and triples on and off the paths between."
        )
    vectors = _vectors(found, embedder, progress)
    n_dev = min(max(1, round(dev_share * n_asked)), n_asked - 1)
    is_dev = np.isin(found.question, chance.permutation(n_asked)[:n_dev])
    schedule = Schedule(hidden, learning_rate, patience, epochs, batch)
    return trained(found, vectors, is_dev, schedule, chance, progress)


def _vectors(examples: Examples, embedder: Embedder, progress: Progress) -> Vectors:
    """The vectors of questions, names and relations, each text once."""
    names = [triple_text(name, "", "") for name in examples.names]
    relations = [triple_text("", name, "") for name in examples.relations]
    texts = [*names, *relations]
    held = index_texts(texts, embedder, progress, "training names").vectors
    readable = np.array([bool(name) for name in names], bool)
    asked = embedder.encode(list(examples.texts), kind="question")
    return Vectors(asked, held[: len(names)], readable, held[len(names) :])
