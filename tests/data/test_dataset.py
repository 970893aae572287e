"""The dev and test part of a set."""

import pytest

from graphrag_bench.data.dataset import is_dev, within_split
from graphrag_bench.values import Question

QUESTIONS = [Question(f"question {number}", "Who?") for number in range(2000)]


def test_a_question_is_in_dev_if_its_hash_is_below_the_share():
    # sha256("q1") begins with c75de8c1b7c3ae52, which is 0.7788 of all that 8 bytes can hold
    assert not is_dev("q1", 0.778)
    assert is_dev("q1", 0.779)


def test_dev_and_test_partition_the_questions_and_dev_splits_are_nested():
    dev, test = (within_split(QUESTIONS, part) for part in ("dev", "test"))
    assert sorted(one.id for one in dev + test) == sorted(one.id for one in QUESTIONS)
    assert within_split(QUESTIONS, "all") == QUESTIONS
    assert set(within_split(QUESTIONS, "dev", 0.2)) < set(within_split(QUESTIONS, "dev", 0.6))
    for share in (0.1, 0.5, 0.9):
        assert len(within_split(QUESTIONS, "dev", share)) / 2000 == pytest.approx(share, abs=0.03)
