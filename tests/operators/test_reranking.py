"""Chunks in the model's order, worked out by hand."""

import numpy as np
import pytest

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.llm.calls import CallFailed
from graphrag_bench.llm.meter import Metered
from graphrag_bench.llm.scripted import Scripted, last_user_message
from graphrag_bench.values import Question, Ranked
from operators.reranking import head, rerank

TABLE = ChunkTable.of([(f"d{row}", f"T{row}", f"text of chunk {row}") for row in range(8)])
ASKED = Question("q", "Who?")


def ranked(*ids: int) -> Ranked:
    return Ranked(np.array(ids, np.int64), np.linspace(0.9, 0.1, len(ids)))


def model(*replies: str) -> Metered:
    """A model that gives these replies one after the other."""
    left = list(replies)
    return Metered(Scripted(answer=lambda chat: left.pop(0)))


def test_the_chunks_come_in_the_order_that_the_model_gives():
    found = rerank(ASKED, ranked(5, 2, 7), chunk_table=TABLE, llm=model('{"order": [3, 1, 2]}'))
    assert found.ids.tolist() == [7, 5, 2]
    np.testing.assert_allclose(found.scores, [1, 1 / 2, 1 / 3])


def test_the_model_sees_the_question_and_numbered_passages_cut_to_some_words():
    llm = model('{"order": [1, 2]}')
    rerank(ASKED, ranked(5, 2), chunk_table=TABLE, llm=llm, passage_words=3)
    text = last_user_message(llm.llm.asked[0])
    assert "[1] T5 text of\n[2] T2 text of\nQuestion: Who?" in text


def test_chunks_that_the_reply_leaves_out_follow_in_their_former_order_and_are_counted():
    llm = model('Sure: {"order": [4, 9, 4, 0]}')
    found = rerank(ASKED, ranked(5, 2, 7, 1), chunk_table=TABLE, llm=llm)
    assert found.ids.tolist() == [1, 5, 2, 7]
    assert (llm.fallbacks, llm.unreadable, len(llm.replies)) == (1, 0, 1)


@pytest.mark.parametrize("nonsense", ["the third", '{"order": [9]}', '{"order": []}'])
def test_a_reply_without_an_order_is_asked_for_again_and_then_changes_nothing(nonsense):
    llm = model(nonsense, nonsense)
    assert rerank(ASKED, ranked(5, 2), chunk_table=TABLE, llm=llm).ids.tolist() == [5, 2]
    assert (llm.fallbacks, llm.unreadable, len(llm.replies)) == (1, 1, 2)
    llm = model(nonsense, '{"order": [2, 1]}')
    assert rerank(ASKED, ranked(5, 2), chunk_table=TABLE, llm=llm).ids.tolist() == [2, 5]
    assert (llm.fallbacks, llm.corrected) == (0, 1)


def test_only_the_first_chunks_are_put_in_order():
    llm = model('{"order": [2, 1]}')
    found = rerank(ASKED, ranked(5, 2, 7), chunk_table=TABLE, llm=llm, depth=2)
    assert found.ids.tolist() == [2, 5, 7]


def test_a_good_chunk_climbs_through_sliding_windows():
    """Rows 0 to 4, windows of 3 by 2: rows 2-4 first, then 0-2; each turns its last one up."""
    llm = model('{"order": [3, 1, 2]}', '{"order": [3, 1, 2]}')
    found = rerank(ASKED, ranked(0, 1, 2, 3, 4), chunk_table=TABLE, llm=llm, window=3, stride=2)
    assert found.ids.tolist() == [4, 0, 1, 2, 3]


def test_the_last_window_begins_at_the_first_chunk_whatever_the_stride():
    """Four rows, windows of 3 by 2: rows 1-3, then 0-2."""
    llm = model('{"order": [3, 1, 2]}', '{"order": [2, 1, 3]}')
    found = rerank(ASKED, ranked(0, 1, 2, 3), chunk_table=TABLE, llm=llm, window=3, stride=2)
    assert found.ids.tolist() == [3, 0, 1, 2]


def test_one_chunk_costs_no_call_and_a_failed_call_is_raised():
    assert rerank(ASKED, ranked(3), chunk_table=TABLE, llm=model()).ids.tolist() == [3]
    failing = Metered(Scripted(answer=lambda chat: CallFailed("refused", "no")))
    with pytest.raises(CallFailed):
        rerank(ASKED, ranked(3, 4), chunk_table=TABLE, llm=failing)


def test_a_stride_that_leaves_gaps_is_refused():
    with pytest.raises(UserError, match="stride 4 passes over rows of a window of 3"):
        rerank(ASKED, ranked(3, 4), chunk_table=TABLE, llm=model(), window=3, stride=4)


def test_the_head_is_the_first_chunks_with_their_scores():
    found = head(ranked(5, 2, 7), top_k=2)
    assert found.ids.tolist() == [5, 2]
    np.testing.assert_allclose(found.scores, [0.9, 0.5])
