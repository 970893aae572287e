"""Chunk operators by hand: scores, words, graphs, reranking."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from by_hand import Planted, alone, angle, check, ranked, replying

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.path_values import RankedPaths, Route, Routes
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.llm.calls import CallFailed
from graphrag_bench.llm.scripted import Scripted, last_user_message
from graphrag_bench.values import NodeScores, Path, Question, RelationshipScores
from operators.chunk.of_graph import aggregator, frompaths, occurrence
from operators.chunk.rerank import cross_encoder_rerank, rerank, route
from operators.search import min_max

A, B, C, D = range(4)


def scores(*values: float) -> RelationshipScores:
    return RelationshipScores(np.array(values))


def test_aggregator_sums_the_scores_of_relationships_or_nodes():
    """Relationship 0-1 is in chunks 0 and 1, relationship 1-2 in chunk 1."""
    graph = Graph.from_arrays(
        [0, 1], [1, 2],
        node_chunk=[[1, 1, 0], [1, 1, 0], [0, 1, 0]],
        relationship_chunk=[[1, 1, 0], [0, 1, 0]],
    )  # fmt: skip
    check(aggregator(scores(0.8, 0.5), graph=graph), [1, 0], [1.3, 0.8])
    mass = NodeScores(np.array([0.5, 0.3, 0.2]))
    result = aggregator(scores(0.0, 0.0), mass, graph=graph, by="nodes")
    check(result, [1, 0], [1.0, 0.8])
    with pytest.raises(UserError, match="node_scores"):
        aggregator(scores(0.8, 0.5), graph=graph, by="nodes")


def test_min_max_scales_scores_to_the_weight():
    """(12 - 2) / 10, (6 - 2) / 10 and 0, times 0.5."""
    result = min_max(ranked(4, 9, 1, scores=(12.0, 6.0, 2.0)), weight=0.5)
    check(result, [4, 9, 1], [0.5, 0.2, 0.0])
    assert min_max(ranked(3, scores=(-0.2,))).scores.tolist() == [1.0]
    assert min_max(ranked(3, 5, scores=(2.0, 2.0)), weight=3).scores.tolist() == [3, 3]


@pytest.fixture
def named():
    """A - B is in chunk 0, B - C in 1 and 2, A - C in none."""
    return Graph.from_arrays(
        [A, B, A], [B, C, C],
        node_chunk=[[1, 1, 0], [1, 1, 0], [0, 1, 1]],
        relationship_chunk=[[1, 0, 0], [0, 1, 1], [0, 0, 0]],
    )  # fmt: skip


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


def test_occurrence_by_entity_ranks_chunks_by_neighbours(named):
    """C: chunk 1 names A and B, chunk 2 neither. A: chunk 0 names B; chunk 1 is already ranked."""
    by = {"graph": named, "scoring": "entity_order"}
    assert occurrence(ranked(0), ranked(C, A, C), **by, top_k=9).items() == [(1, 2), (2, 0), (0, 1)]
    assert occurrence(ranked(0), ranked(C, A), **by, top_k=2).items() == [(1, 2), (2, 0)]


TABLE = ChunkTable.of([(f"d{row}", f"T{row}", f"text of chunk {row}") for row in range(8)])
WHO = Question("q", "Who?")


def test_rerank_follows_the_model_and_appends_missing_chunks():
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


def test_rerank_retries_unreadable_replies_once():
    for nonsense in ("the third", '{"order": [9]}', '{"order": []}'):
        llm = replying(nonsense, nonsense)
        assert rerank(WHO, ranked(5, 2), chunk_table=TABLE, llm=llm).ids.tolist() == [5, 2]
        assert (llm.meter.fallbacks, llm.meter.unreadable, len(llm.meter.replies)) == (1, 1, 2)
        llm = replying(nonsense, '{"order": [2, 1]}')
        assert rerank(WHO, ranked(5, 2), chunk_table=TABLE, llm=llm).ids.tolist() == [2, 5]
        assert (llm.meter.fallbacks, llm.meter.corrected) == (0, 1)


def test_a_good_chunk_climbs_through_overlapping_windows():
    """Rows 0 to 4, windows of 4 by 2: rows 1-4 first, then 0-3; the last of a window moves up."""
    llm = replying('{"order": [4, 1, 2, 3]}', '{"order": [2, 1, 3, 4]}')
    result = rerank(WHO, ranked(0, 1, 2, 3, 4), chunk_table=TABLE, llm=llm, window=4)
    assert result.ids.tolist() == [4, 0, 1, 2, 3]


class Fixed:
    """A cross-encoder that scores passages by their titles."""

    identity = "fixed"

    def scores(self, questions: Sequence[str], passages: Sequence[Sequence[str]]) -> list:
        assert questions == ["Who?"] * len(passages) and passages[0][0] == TABLE.passage(2)
        known = {"T7": 0.9, "T2": 0.4}
        return [np.array([known.get(one.split()[0], 0.1) for one in texts]) for texts in passages]


def test_the_cross_encoder_ranks_chunks_ties_by_id() -> None:
    lists = [ranked(5, 2, 7, 3), ranked(), ranked(7)]
    first, none, last = cross_encoder_rerank(
        [WHO] * 3, lists, chunk_table=TABLE, cross_encoder=Fixed(), top_k=3
    )
    check(first, [7, 2, 3], [0.9, 0.4, 0.1])
    check(none, [], [])
    check(last, [7], [0.9])


def test_rerank_makes_no_call_for_one_chunk_and_raises_failures():
    assert rerank(WHO, ranked(3), chunk_table=TABLE, llm=replying()).ids.tolist() == [3]
    failing = Scripted(answer=lambda chat: CallFailed("refused", "no"))
    with pytest.raises(CallFailed):
        rerank(WHO, ranked(3, 4), chunk_table=TABLE, llm=failing)


ROUTED = ChunkTable.of([
    ("d0", "Ada (poet)", "Ada wrote. She lived in Malmö with Otto."),
    ("d1", "Otto", "Otto is here."),
    ("d2", "Malmo", "A town. Its mayor was Otto."),
    ("d3", "Isk", "Nothing at all."),
    ("d4", "Ada (poet)", "More of Ada, and of Isk."),
])  # fmt: skip
LIVED = Question("q", "Where did ADA live?")
DEGREES = {
    "Where did ADA live?": 0,
    "Ada (poet): She lived in Malmö with Otto.": 30,
    "Malmo: Its mayor was Otto.": 0,
    "Ada (poet): More of Ada, and of Isk.": 80,
}
"""The angle of every text to the question; 60 degrees for a passage, whose cosine is 0.5."""
SHARE = {0: 1.0, 2: 0.5, 1: 0.25, 3: 0.0, 4: 0.125}
ABOVE = math.cos(math.radians(30)) - 0.5


def both(**settings):
    embedder = Planted(lambda text: angle(DEGREES.get(text, 60)))
    chunks = ranked(*SHARE, scores=[8 * share for share in SHARE.values()])
    settings = {"weight": 0.0, "parent_weight": 1.0, "title_bonus": 0.0} | settings
    return alone(route)(LIVED, chunks, chunk_table=ROUTED, embedder=embedder, **settings)


def routed(**settings):
    return both(**settings)[0]


def test_a_child_scores_its_best_route_times_the_parents_share() -> None:
    """Otto has two routes: by Ada, whom the question names, and by Malmo (0.5 * 0.5 * 0.5)."""
    assert ABOVE > 0.5 * 0.5 * 0.5
    check(routed(), [1, 2, 0, 3, 4], [ABOVE, ABOVE, 0, 0, 0])
    check(routed(other_parents=1.0, parent_weight=0.0), [1, 2, 0, 3, 4], [0.5, ABOVE, 0, 0, 0])


def test_route_adds_the_former_score_and_the_title_bonus() -> None:
    logs = {row: math.log(share + 1e-4) for row, share in SHARE.items()}
    check(routed(weight=1.0, n_parents=0), list(SHARE)[:3] + [4, 3], sorted(logs.values())[::-1])
    check(routed(title_bonus=1.0, top_k=3), [0, 4, 1], [1, 1, ABOVE])


def test_the_best_route_to_each_chunk_is_returned() -> None:
    otto = Route(0, 1, "She lived in Malmö with Otto.", pytest.approx(ABOVE))
    assert both()[1] == Routes((otto, Route(0, 2, otto.sentence, otto.score)))
    mayor = Route(2, 1, "Its mayor was Otto.", pytest.approx(0.5))
    assert both(other_parents=1.0, parent_weight=0.0, top_k=1)[1] == Routes((mayor,))
