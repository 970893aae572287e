"""The comparison behind docs/parity.md: a planted difference is found and named."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from parity.comparison import Difference, Ranking, badge, cases, compare, kind_of
from parity.page import PAGE, UNEXPLAINED, Result, unexplained, with_results


def ranked(*rows: tuple[int, float]) -> Ranking:
    """Ids with one number each as their key."""
    return Ranking(tuple(one for one, _ in rows), tuple((score,) for _, score in rows))


def unscored(*ids: int) -> Ranking:
    """Ids whose order is not by a score."""
    return Ranking(ids)


ENGINE = ranked((3, 0.9), (1, 0.5), (2, 0.5), (0, 0.1))


def kinds(ours: Ranking, theirs: Ranking = ENGINE) -> list[str]:
    return [one.kind for one in compare("q1", {"nodes": ours}, {"nodes": theirs})]


def test_the_same_ids_in_the_same_order_are_no_difference():
    assert compare("q1", {"nodes": ranked((3, 8), (1, 4), (2, 3), (0, 1))}, {"nodes": ENGINE}) == []


def test_two_ids_of_the_same_score_may_change_places():
    assert kinds(ranked((3, 0.9), (2, 0.5), (1, 0.5), (0, 0.1))) == ["ties"]


def test_a_planted_swap_is_found_at_its_place_and_named_with_both_sides():
    ours = ranked((3, 0.9), (1, 0.5), (0, 0.4), (2, 0.3))
    (result,) = compare("q7", {"nodes": ours}, {"nodes": ENGINE})
    assert result == Difference("q7", "nodes", "differs", 3, "0 (0.4)", "2 (0.5)")


def test_scores_that_differ_by_more_than_a_millionth_are_no_tie():
    near, far = 0.5 + 4e-7, 0.5 + 4e-6
    assert kinds(ranked((2, 1.0), (1, 0.9)), ranked((1, near), (2, 0.5))) == ["ties"]
    assert kinds(ranked((2, 1.0), (1, 0.9)), ranked((1, far), (2, 0.5))) == ["differs"]


def test_where_the_cut_is_in_a_tie_other_members_are_a_tie_if_ours_are_tied_too():
    engine = ranked((3, 0.9), (1, 0.5))
    assert kinds(ranked((3, 0.9), (2, 0.5)), engine) == ["ties"]
    three = ranked((3, 0.9), (1, 0.5), (4, 0.5))
    assert kinds(ranked((3, 0.9), (2, 0.7), (4, 0.5)), three) == ["differs"]


def test_a_list_behind_a_tie_follows_from_it_and_one_before_it_does_not():
    tied = {"nodes": ranked((2, 0.5), (1, 0.5)), "chunks": unscored(5, 6)}
    engine = {"nodes": ranked((1, 0.5), (2, 0.5)), "chunks": unscored(6, 5)}
    assert [one.kind for one in compare("q1", tied, engine)] == ["ties", "follows"]
    turned = dict(reversed(tied.items())), dict(reversed(engine.items()))
    assert [one.kind for one in compare("q1", *turned)] == ["differs", "ties"]


def test_the_badge_is_that_of_the_worst_question():
    assert badge(["same", "same"]) == "same"
    assert badge(["same", "ties", "follows"]) == "same but ties"
    assert badge(["same", "ties", "differs"]) == "differs"
    assert badge([]) == "differs"
    assert kind_of([]) == "same"


def planted(case: str) -> Result:
    """One question that is the same, and one with a planted difference in its nodes."""
    wrong = Difference("q2", "nodes", "differs", 1, "4", "7")
    return Result(cases()[case], "1.0", {"q1": [], "q2": [wrong]})


def test_the_page_names_the_planted_difference_and_says_that_no_reason_is_known():
    text = with_results(PAGE.read_text(encoding="utf-8"), [planted("lightrag-mix")])
    assert "**nodes** of q2, place 1: ours 4, the engine 7. " + UNEXPLAINED in text
    assert "| differs | 1 same, 1 differs |" in text
    assert unexplained([planted("lightrag-mix")])


def test_a_known_reason_is_printed_with_its_difference():
    text = with_results(PAGE.read_text(encoding="utf-8"), [planted("fast-graphrag")])
    assert "hnswlib" in text
    assert unexplained([planted("fast-graphrag")]) == []


def test_reasons_are_of_the_lists_of_their_case():
    assert all(set(case.reasons) <= set(case.stages) for case in cases().values())
