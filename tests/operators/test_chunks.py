"""Chunk operators by hand: chunks of graphs, and reranking."""

import numpy as np
import pytest
from by_hand import Planted, alone, angle, check, ranked, replying

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.path_values import RankedPaths
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.llm.calls import CallFailed
from graphrag_bench.llm.scripted import last_user_message
from graphrag_bench.values import Path, Question, RelationshipScores
from operators.chunk.of_graph import aggregator, frompaths
from operators.chunk.rerank import cross_encoder_rerank, rerank, route
from operators.search import min_max

A, B, C, D = range(4)


def test_chunks_by_nodes_need_node_scores():
    graph = Graph.from_arrays([A], [B], node_chunk=np.eye(2))
    with pytest.raises(UserError, match="node_scores"):
        aggregator(RelationshipScores(np.ones(1)), graph=graph, by="nodes")


def test_min_max_scales_scores_to_the_weight():
    """(12 - 2) / 10, (6 - 2) / 10 and 0, times 0.5."""
    result = min_max(ranked(4, 9, 1, scores=(12.0, 6.0, 2.0)), weight=0.5)
    check(result, [4, 9, 1], [0.5, 0.2, 0.0])
    assert min_max(ranked(3, scores=(-0.2,))).scores.tolist() == [1.0]
    assert min_max(ranked(3, 5, scores=(2.0, 2.0)), weight=3).scores.tolist() == [3, 3]


def test_chunks_of_paths_are_those_of_their_relationships():
    """A-B twice, in chunks 2 and 0; B-C in chunk 1."""
    graph = Graph.from_arrays(
        [A, B, B], [B, A, C],
        node_chunk=np.ones((3, 3)), relationship_chunk=[[0, 0, 1], [1, 0, 0], [0, 1, 0]],
    )  # fmt: skip
    paths = RankedPaths((Path((B, C), (2,), 0.9), Path((A, B), (0,), 0.4)))
    assert frompaths(paths, graph=graph).items() == [(1, 0.9), (0, 0.4), (2, 0.4)]
    assert frompaths(paths, graph=graph, unit="fact").ids.tolist() == [1, 2]
    assert frompaths(paths, graph=graph, top_k=2).ids.tolist() == [1, 0]


TABLE = ChunkTable.of([(f"d{row}", f"T{row}", f"text of chunk {row}") for row in range(8)])
WHO = Question("q", "Who?")


def reranked(rows, *replies, **settings):
    llm = replying(*replies)
    return rerank(WHO, ranked(*rows), chunk_table=TABLE, llm=llm, **settings).items(), llm.meter


def test_rerank_follows_the_model_and_appends_missing_chunks():
    for rows, replies, settings, ids in (
        ((5, 2, 7), ['{"order": [3, 1, 2]}'], {}, [7, 5, 2]),
        ((5, 2, 7), ['{"order": [2, 1]}'], {"depth": 2}, [2, 5, 7]),
        ((5, 2, 7, 1), ['Sure: {"order": [4, 9, 4, 0]}'], {}, [1, 5, 2, 7]),
        ((3,), [], {}, [3]),  # one chunk makes no call
        # windows of 2 by 1: the last row moves up in each
        (range(4), 3 * ['{"order": [2, 1]}'], {"window": 2}, [3, 0, 1, 2]),
    ):  # fmt: skip
        items, meter = reranked(rows, *replies, **settings)
        assert items == [(row, 1 / rank) for rank, row in enumerate(ids, 1)]
        assert (meter.unreadable, len(meter.replies)) == (0, len(replies))
        assert meter.fallbacks == ("Sure" in str(replies))
    llm = replying('{"order": [1, 2]}')
    rerank(WHO, ranked(5, 2), chunk_table=TABLE, llm=llm)
    text = last_user_message(llm.prompts[0])
    assert "[1] T5 text of chunk 5\n[2] T2 text of chunk 2\nQuestion: Who?" in text


def test_rerank_retries_unreadable_replies_once_and_raises_failures():
    for nonsense in ("the third", '{"order": [9]}', '{"order": []}'):
        items, meter = reranked((5, 2), nonsense, nonsense)
        assert [row for row, _ in items] == [5, 2]
        assert (meter.fallbacks, meter.unreadable, len(meter.replies)) == (1, 1, 2)
        items, meter = reranked((5, 2), nonsense, '{"order": [2, 1]}')
        assert [row for row, _ in items] == [2, 5]
        assert (meter.fallbacks, meter.corrected) == (0, 1)
    with pytest.raises(CallFailed):
        reranked((3, 4), CallFailed("refused", "no"))


class Fixed:
    """A cross-encoder that scores passages by their titles."""

    identity = "fixed"

    def scores(self, questions, passages):
        assert questions == ["Who?"] * len(passages) and passages[0][0] == TABLE.passage(2)
        known = {"T7": 0.9, "T2": 0.4}
        return [np.array([known.get(one.split()[0], 0.1) for one in texts]) for texts in passages]


def test_the_cross_encoder_ranks_chunks_ties_by_id() -> None:
    lists = [ranked(5, 2, 7, 3), ranked(), ranked(7)]
    needs = {"chunk_table": TABLE, "cross_encoder": Fixed()}
    first, none, last = cross_encoder_rerank([WHO] * 3, lists, **needs, top_k=3)
    check(first, [7, 2, 3], [0.9, 0.4, 0.1])
    check(none, [], [])
    check(last, [7], [0.9])


def test_a_route_is_weighed_by_the_share_of_its_parent() -> None:
    """Ada has half of the best score, and her sentence exceeds the typical cosine of 0.5 by 0.5."""
    table = ChunkTable.of(
        [("a", "Ada", "Ada met Otto."), ("o", "Otto", "No."), ("i", "Isk", "No.")]
    )
    embedder = Planted(lambda text: angle(0 if text in ("Who?", "Ada: Ada met Otto.") else 60))
    needs = {"chunk_table": table, "embedder": embedder, "weight": 0.0}
    for others, score in ((1.0, 0.25), (0.2, 0.05)):
        settings = {"parent_weight": 1.0, "other_parents": others}
        chunks = ranked(2, 0, 1, scores=(4.0, 2.0, 0.0))
        result, _ = alone(route)(WHO, chunks, **needs, **settings)
        check(result, [1, 0, 2], [score, 0.0, 0.0])
