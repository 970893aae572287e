"""The dev and the test part follow from a question's id, and from nothing else."""

from __future__ import annotations

import pytest

from graphrag_bench.data.splits import is_dev, within_split
from graphrag_bench.values import Question

QUESTIONS = [Question(f"question {number}", "Who?") for number in range(2000)]


def test_a_question_is_of_dev_when_the_first_bytes_of_its_hash_lie_below_the_share() -> None:
    # sha256("q1") begins with c75de8c1b7c3ae52, which is 0.7788 of all that 8 bytes can hold
    assert not is_dev("q1", 0.778)
    assert is_dev("q1", 0.779)


def test_dev_and_test_have_no_question_in_common_and_leave_none_out() -> None:
    dev, test = (within_split(QUESTIONS, part) for part in ("dev", "test"))
    assert not {one.id for one in dev} & {one.id for one in test}
    assert len(dev) + len(test) == len(within_split(QUESTIONS, "all")) == 2000


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.9])
def test_dev_holds_about_its_share(share: float) -> None:
    assert len(within_split(QUESTIONS, "dev", share)) / 2000 == pytest.approx(share, abs=0.03)


def test_a_question_stays_in_its_part_when_others_come_and_go() -> None:
    few = within_split(QUESTIONS[::7], "dev")
    assert few == [one for one in QUESTIONS[::7] if one in within_split(QUESTIONS, "dev")]


def test_a_larger_dev_part_holds_a_smaller_one() -> None:
    assert set(within_split(QUESTIONS, "dev", 0.2)) < set(within_split(QUESTIONS, "dev", 0.6))
