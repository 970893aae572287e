"""Methods on the toy set twice: without a language model, and with the models of their papers."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_runs import metrics, ran, records

SCRIPTED = ("fidelity=paper", "llm=scripted", "llm._target_=counting_reader.reader")
CALLS = {
    "hirag": (1, 1),  # the answer; retrieval takes no call
    "hypergraphrag": (2, 3),  # keywords, once more where the reply is no JSON, answer
    "noderag": (2, 3),  # names, once more where the reply is no JSON, answer
    "proprag": (1, 1),  # the answer; retrieval takes no call
    "youtugraphrag": (3, 9),  # names, sub-questions and their names, answer
}
"""The least and the most calls of a question with the models of the paper."""


def words(method: str, home: Path) -> list[str]:
    return [
        "dataset=toy", f"method={method}", "embedder=hashing", "nlp._target_=toy_runs.Capitals",
        "reference_rows=off", f"paths.home={home}",
    ]  # fmt: skip


@pytest.mark.parametrize("method", CALLS)
def test_without_a_language_model_the_evidence_is_found(method: str, tmp_path: Path) -> None:
    held = metrics(ran(*words(method, tmp_path), "answer=off").folder)
    assert (held["n"], held["failed"]) == (6, 0)
    assert held["metrics"]["evidence_recall@5"]["mean"] > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("method", CALLS)
def test_with_the_models_of_its_paper_every_question_is_answered(
    method: str, tmp_path: Path
) -> None:
    ended = ran(*words(method, tmp_path), *SCRIPTED)
    held = metrics(ended.folder)
    assert (held["n"], held["failed"], held["answered"]) == (6, 0, 6)
    least, most = CALLS[method]
    assert all(least <= row["calls"] <= most for row in records(ended.folder))
