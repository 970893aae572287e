"""Run only the retrieval of a method, for questions that come from other tools."""

from collections.abc import Mapping
from threading import Lock

import numpy as np

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.explain.question import AnsweringFailed, new_question
from graphrag_bench.pipeline.steps import Failure
from graphrag_bench.run.execute import retrieve
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.values import Chunk, Ranked, RetrievalState

_ONE_AT_A_TIME = Lock()


def retrieved(
    experiment: Experiment, texts: Mapping[str, str]
) -> list[tuple[RetrievalState, ChunkTable]]:
    """Return the retrieval state and the chunk table of each question in `texts` (id to text).

    If the data set has a question with the same id and text, its scope and entities are used. Calls
    from several threads run one after another. Raises AnsweringFailed if a question fails.
    """
    known = {(one.id, one.text): one for one in experiment.dataset.questions}
    asked = [known.get(one) or new_question(experiment, *one) for one in texts.items()]
    with _ONE_AT_A_TIME:
        results = retrieve(experiment, asked)
    states = []
    for one, table in results:
        if isinstance(state := one.outcome, Failure):
            raise AnsweringFailed(f"{one.question.id}: {state.step}: {state.message}")
        states.append((state, table))
    return states


def document_scores(chunks: Ranked[Chunk], table: ChunkTable) -> dict[str, float]:
    """Return the score of each document's best chunk as a 32-bit float, highest score first.

    If two chunks have equal scores, the lower-ranked chunk gets the next smaller float.
    """
    scores: dict[str, float] = {}
    lowest = np.float32(np.inf)
    for row, score in chunks.items():
        if new := [name for name in table.documents_of(row) if name not in scores]:
            lowest = np.fmin(np.float32(score), np.nextafter(lowest, np.float32(-np.inf)))
            scores |= dict.fromkeys(new, float(lowest))
    return scores


def context_of(experiment: Experiment, text: str) -> list[tuple[str, dict[str, str | float]]]:
    """Return the items of a question's context: each text with its kind, id, title and score."""
    ((state, _),) = retrieved(experiment, {"asked": text})
    titles = {("chunk", one.id): one.title for one in experiment.dataset.documents}
    return [
        (one.text, {"kind": one.kind, "id": one.id, "title": titles.get((one.kind, one.id), ""),
                    "score": one.score}) for one in state.get("context").pieces
    ]  # fmt: skip
