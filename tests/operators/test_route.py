"""Chunks ranked again by the sentences that lead to them, worked out by hand."""

import math

import pytest
from by_hand import Planted, alone, angle, check, ranked

from graphrag_bench.algorithms.path_values import Route, Routes
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.values import Question
from operators.chunk.route import route

TABLE = ChunkTable.of([
    ("d0", "Ada (poet)", "Ada wrote. She lived in Malmö with Otto."),
    ("d1", "Otto", "Otto is here."),
    ("d2", "Malmo", "A town. Its mayor was Otto."),
    ("d3", "Isk", "Nothing at all."),
    ("d4", "Ada (poet)", "More of Ada, and of Isk."),
])  # fmt: skip
QUESTION = Question("q", "Where did ADA live?")
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
    return alone(route)(QUESTION, chunks, chunk_table=TABLE, embedder=embedder, **settings)


def routed(**settings):
    return both(**settings)[0]


def test_a_child_has_the_best_route_above_the_median_passage_by_its_parents_share() -> None:
    """Otto: by Ada's sentence, the question naming her, or by Malmo's, half of the half of 0.5."""
    assert ABOVE > 0.5 * 0.5 * 0.5
    check(routed(), [1, 2, 0, 3, 4], [ABOVE, ABOVE, 0, 0, 0])
    check(routed(other_parents=1.0, parent_weight=0.0), [1, 2, 0, 3, 4], [0.5, ABOVE, 0, 0, 0])


def test_the_former_score_and_a_title_in_the_question_count_too() -> None:
    logs = {row: math.log(share + 1e-4) for row, share in SHARE.items()}
    check(routed(weight=1.0, n_parents=0), list(SHARE)[:3] + [4, 3], sorted(logs.values())[::-1])
    check(routed(title_bonus=1.0, top_k=3), [0, 4, 1], [1, 1, ABOVE])


def test_the_best_route_to_each_ranked_chunk_is_returned_with_its_sentence_and_score() -> None:
    otto = Route(0, 1, "She lived in Malmö with Otto.", pytest.approx(ABOVE))
    assert both()[1] == Routes((otto, Route(0, 2, otto.sentence, otto.score)))
    mayor = Route(2, 1, "Its mayor was Otto.", pytest.approx(0.5))
    assert both(other_parents=1.0, parent_weight=0.0, top_k=1)[1] == Routes((mayor,))
