"""Evidence metrics and means, by hand."""

import pytest

from graphrag_bench.evaluation.retrieval import all_evidence, evidence_recall
from graphrag_bench.evaluation.statistics import Mean, mean_with_interval

FOUND = ["x", "a", "y", "b"]


@pytest.mark.parametrize(("k", "share"), [(1, 0.0), (2, 0.5), (3, 0.5), (4, 1.0), (99, 1.0)])
def test_evidence_recall_is_the_share_found_among_the_first_k(k, share):
    assert evidence_recall(FOUND, ["a", "b"], k) == share
    assert all_evidence(FOUND, ["a", "b"], k) == float(share == 1.0)


def test_evidence_named_twice_counts_once():
    assert evidence_recall(FOUND, ["a", "a", "b"], 2) == 0.5


def test_nothing_found_is_no_evidence():
    assert evidence_recall([], ["a"], 5) == 0.0


def test_a_question_without_evidence_cannot_be_scored():
    with pytest.raises(ValueError, match="without evidence"):
        evidence_recall(FOUND, [], 5)


def test_equal_values_have_an_interval_of_no_width():
    assert mean_with_interval([0.5, 0.5, 0.5]) == Mean(0.5, 0.5, 0.5, 3)
    assert mean_with_interval([1.0]) == Mean(1.0, 1.0, 1.0, 1)


def test_the_interval_is_the_same_every_time_and_another_with_another_seed():
    values = [0.0, 0.1, 0.4, 0.7, 1.0] * 5
    assert mean_with_interval(values) == mean_with_interval(values)
    assert mean_with_interval(values) != mean_with_interval(values, seed=1)


def test_a_surer_interval_is_wider():
    values = [0.0, 1.0] * 20
    narrow, wide = (mean_with_interval(values, level) for level in (0.5, 0.99))
    assert wide.low < narrow.low < narrow.mean < narrow.high < wide.high


def test_no_values_have_no_mean():
    with pytest.raises(ValueError, match="no values"):
        mean_with_interval([])


def test_questions_that_share_a_document_have_the_interval_of_their_documents():
    """Each of 20 documents answers all of its 5 questions or none: 20 values, not 100."""
    values = [float(scope % 2) for scope in range(20) for _ in range(5)]
    scopes = [f"d{scope}" for scope in range(20) for _ in range(5)]
    clustered, plain = mean_with_interval(values, scopes=scopes), mean_with_interval(values)
    of_documents = mean_with_interval([float(scope % 2) for scope in range(20)])
    assert (clustered.mean, clustered.n, clustered.clusters) == (0.5, 100, 20)
    assert plain.high - plain.low < 0.21
    assert (clustered.low, clustered.high) == (of_documents.low, of_documents.high)


def test_a_document_with_more_questions_weighs_more():
    found = mean_with_interval([1.0, 1.0, 1.0, 0.0], scopes=["a", "a", "a", "b"])
    assert (found.mean, found.low, found.high) == (0.75, 0.0, 1.0)
