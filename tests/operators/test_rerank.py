"""Chunks in the order of a language model and of a cross-encoder."""

from collections.abc import Sequence

import numpy as np
import pytest
from by_hand import check, ranked, replying

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.llm.calls import CallFailed
from graphrag_bench.llm.scripted import Scripted, last_user_message
from graphrag_bench.values import FloatArray, Question
from operators.chunk.rerank import cross_encoder_rerank, rerank

TABLE = ChunkTable.of([(f"d{row}", f"T{row}", f"text of chunk {row}") for row in range(8)])
WHO = Question("q", "Who?")


def test_the_chunks_come_in_the_order_that_the_model_gives_the_others_behind_them():
    result = rerank(WHO, ranked(5, 2, 7), chunk_table=TABLE, llm=replying('{"order": [3, 1, 2]}'))
    check(result, [7, 5, 2], [1, 1 / 2, 1 / 3])
    llm = replying('{"order": [1, 2]}')
    rerank(WHO, ranked(5, 2), chunk_table=TABLE, llm=llm)
    text = last_user_message(llm.prompts[0])
    assert "[1] T5 text of chunk 5\n[2] T2 text of chunk 2\nQuestion: Who?" in text
    llm = replying('{"order": [2, 1]}')
    result = rerank(WHO, ranked(5, 2, 7), chunk_table=TABLE, llm=llm, depth=2)
    assert result.ids.tolist() == [2, 5, 7]
    llm = replying('Sure: {"order": [4, 9, 4, 0]}')
    result = rerank(WHO, ranked(5, 2, 7, 1), chunk_table=TABLE, llm=llm)
    assert result.ids.tolist() == [1, 5, 2, 7]
    assert (llm.meter.fallbacks, llm.meter.unreadable, len(llm.meter.replies)) == (1, 0, 1)


@pytest.mark.parametrize("nonsense", ["the third", '{"order": [9]}', '{"order": []}'])
def test_a_reply_without_an_order_is_asked_for_again_and_then_changes_nothing(nonsense):
    llm = replying(nonsense, nonsense)
    assert rerank(WHO, ranked(5, 2), chunk_table=TABLE, llm=llm).ids.tolist() == [5, 2]
    assert (llm.meter.fallbacks, llm.meter.unreadable, len(llm.meter.replies)) == (1, 1, 2)
    llm = replying(nonsense, '{"order": [2, 1]}')
    assert rerank(WHO, ranked(5, 2), chunk_table=TABLE, llm=llm).ids.tolist() == [2, 5]
    assert (llm.meter.fallbacks, llm.meter.corrected) == (0, 1)


def test_a_good_chunk_climbs_through_windows_of_which_the_last_begins_at_the_first():
    """Rows 0 to 4, windows of 4 by 2: rows 1-4 first, then 0-3; each turns its last one up."""
    llm = replying('{"order": [4, 1, 2, 3]}', '{"order": [2, 1, 3, 4]}')
    result = rerank(WHO, ranked(0, 1, 2, 3, 4), chunk_table=TABLE, llm=llm, window=4)
    assert result.ids.tolist() == [4, 0, 1, 2, 3]


class Fixed:
    """Scores passages by their titles."""

    identity = "fixed"

    def scores(self, question: str, passages: Sequence[str]) -> FloatArray:
        assert (question, passages[0]) == ("Who?", TABLE.passage(2))
        return np.array([{"T7": 0.9, "T2": 0.4}.get(one.split()[0], 0.1) for one in passages])


def test_the_given_chunks_come_by_the_score_of_the_model_and_ties_by_id() -> None:
    chunks = ranked(5, 2, 7, 3)
    result = cross_encoder_rerank(WHO, chunks, chunk_table=TABLE, cross_encoder=Fixed(), top_k=3)
    check(result, [7, 2, 3], [0.9, 0.4, 0.1])


def test_one_chunk_costs_no_call_and_a_failed_call_is_raised():
    assert rerank(WHO, ranked(3), chunk_table=TABLE, llm=replying()).ids.tolist() == [3]
    failing = Scripted(answer=lambda chat: CallFailed("refused", "no"))
    with pytest.raises(CallFailed):
        rerank(WHO, ranked(3, 4), chunk_table=TABLE, llm=failing)
