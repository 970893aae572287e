"""Fates of evidence worked out by hand, and the counts over a few of them."""

import pytest

from graphrag_bench.explain.stages import STAGES, EvidenceDocument, Funnel, stage_table

ALL = dict.fromkeys(STAGES, True)


def funnel(*fates: EvidenceDocument) -> Funnel:
    return Funnel(frozenset(STAGES), fates)


def fate(
    question: str = "q", right: bool | None = True, **verdicts: bool | None
) -> EvidenceDocument:
    return EvidenceDocument(question, "d", {**ALL, "answered": right, **verdicts})


NOT_RETRIEVED = {"retrieved": False, "cut": None, "prompt": False}
NOT_ANSWERED = {"right": False}


@pytest.mark.parametrize(
    ("verdicts", "lost", "otherwise"),
    [
        ({}, None, ()),
        (NOT_ANSWERED, "answered", ()),
        (NOT_RETRIEVED | NOT_ANSWERED, "retrieved", ()),
        (dict.fromkeys(STAGES[2:], False) | NOT_ANSWERED, "extracted", ()),
        # what a later stage found on another way was not lost
        ({"extracted": False, "linked": False}, None, ("extracted", "linked")),
        ({"linked": False, "cut": False, "prompt": False} | NOT_ANSWERED, "cut", ("linked",)),
        # being linked does not make up for not being extracted
        ({"extracted": False, "linked": True} | NOT_RETRIEVED, "extracted", ()),
        # a stage of which nothing is known loses nothing
        ({"extracted": None, "linked": None} | NOT_RETRIEVED | NOT_ANSWERED, "retrieved", ()),
    ],
)
def test_evidence_is_lost_at_the_first_stage_that_it_did_not_pass(
    verdicts: dict[str, bool | None], lost: str | None, otherwise: tuple[str, ...]
) -> None:
    result = fate(**verdicts)  # type: ignore[arg-type]
    found = tuple(stage for stage in STAGES if result.state(stage) == "otherwise")
    assert (result.lost, found) == (lost, otherwise)


def test_losses_and_what_passed_sum_to_all_documents() -> None:
    """Question a: one lost in retrieval, one unanswered; b: all passed; c: one not extracted."""
    fates = [
        fate("a", False, **NOT_RETRIEVED),
        fate("a", False),
        fate("b"),
        fate("c", False, extracted=False, **NOT_RETRIEVED),
    ]
    result = funnel(*fates)
    counts = {count.stage: count for count in result.counts()}
    assert "replied" not in counts
    assert [counts[stage].lost for stage in counts] == [0, 0, 1, 0, 1, 0, 0, 1]
    assert [counts[stage].rest for stage in counts] == [4, 4, 3, 3, 2, 2, 2, 1]
    assert result.lost == {"a": "retrieved", "b": None, "c": "extracted"}


def test_a_failed_question_has_a_stage_of_its_own_and_leaves_nothing_unknown() -> None:
    failed = fate(right=None, replied=False)
    result = funnel(failed, fate("r"))
    counts = {count.stage: count for count in result.counts()}
    assert (failed.lost, counts["replied"].lost, counts["answered"].unknown) == ("replied", 1, 0)


def test_questions_that_were_not_answered_are_not_known_there() -> None:
    counts = funnel(fate(right=None), fate("r")).counts()
    assert (counts[-1].stage, counts[-1].unknown, counts[-1].lost) == ("answered", 1, 0)


def test_a_stage_shows_what_is_left_and_lost_and_marks_what_cannot_be_told() -> None:
    result = funnel(fate("a", cut=None), fate("b", cut=None), fate("c", False, cut=None))
    rows = {row[0]: row[1:] for row in stage_table(result).rows}
    assert stage_table(result).texts == ("stage",)
    assert rows["answered"] == ("2", "1", "", "")
    assert set(rows["not cut"]) == {"?"}
