"""Methods on the toy set twice: without a language model, and with the models of their papers."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_runs import metrics, ran, records

SCRIPTED = ("fidelity=paper", "llm=scripted", "llm._target_=counting_reader.reader")
LEAST_CALLS = {
    "hirag": 1,  # the answer; retrieval takes no call
    "hypergraphrag": 2,  # keywords, answer
    "noderag": 2,  # names, answer
    "proprag": 1,  # the answer; retrieval takes no call
    "youtugraphrag": 3,  # names, sub-questions, answer
}


def words(method: str, home: Path) -> list[str]:
    return [
        "dataset=toy", f"method={method}", "embedder=hashing", "nlp._target_=toy_runs.Capitals",
        "reference_rows=off", f"paths.home={home}",
    ]  # fmt: skip


@pytest.mark.parametrize("method", LEAST_CALLS)
def test_without_a_language_model_the_evidence_is_found(method: str, tmp_path: Path) -> None:
    held = metrics(ran(*words(method, tmp_path), "answer=off").folder)
    assert (held["n"], held["failed"]) == (6, 0)
    assert held["metrics"]["evidence_recall@5"]["mean"] > 0.5


@pytest.mark.slow
@pytest.mark.parametrize(("method", "n_calls"), LEAST_CALLS.items())
def test_with_the_models_of_its_paper_every_question_is_answered(
    method: str, n_calls: int, tmp_path: Path
) -> None:
    ended = ran(*words(method, tmp_path), *SCRIPTED)
    held = metrics(ended.folder)
    assert (held["n"], held["failed"], held["answered"]) == (6, 0, 6)
    assert all(row["calls"] >= n_calls for row in records(ended.folder))
    assert n_calls > 1 or all(row["calls"] == 1 for row in records(ended.folder))
