"""The evidence funnel by hand."""

import pytest

from graphrag_bench.explain.funnel import STAGES, EvidenceDocument, Funnel

ALL = dict.fromkeys(STAGES, True)
NOT_RETRIEVED = {"retrieved": False, "cut": None, "prompt": False}
NOT_ANSWERED = {"answered": False}


def document(question="q", **passed):
    return EvidenceDocument(question, "d", {**ALL, **passed})


def funnel(*documents):
    return Funnel(frozenset(STAGES), documents)


@pytest.mark.parametrize(
    ("passed", "lost", "recovered"),
    [
        ({}, None, []),
        (NOT_ANSWERED, "answered", []),
        (NOT_RETRIEVED | NOT_ANSWERED, "retrieved", []),
        (dict.fromkeys(STAGES[2:], False), "extracted", []),
        # recovered by a later stage
        ({"extracted": False, "linked": False}, None, ["extracted", "linked"]),
        ({"linked": False, "cut": False, "prompt": False} | NOT_ANSWERED, "cut", ["linked"]),
        # linking does not recover extraction
        ({"extracted": False, "linked": True} | NOT_RETRIEVED, "extracted", []),
        # an unknown stage loses nothing
        ({"extracted": None, "linked": None} | NOT_RETRIEVED | NOT_ANSWERED, "retrieved", []),
    ],
)
def test_evidence_is_lost_at_the_first_stage_that_it_did_not_pass(passed, lost, recovered):
    result = document(**passed)
    assert result.lost == lost
    assert [stage for stage in STAGES if result.state(stage) == "recovered"] == recovered


def test_losses_and_the_rest_sum_to_all_documents():
    """a: one lost in retrieval, one unanswered; b: passed; c: not extracted."""
    result = funnel(
        document("a", **NOT_RETRIEVED, **NOT_ANSWERED),
        document("a", **NOT_ANSWERED),
        document("b"),
        document("c", extracted=False, **NOT_RETRIEVED, **NOT_ANSWERED),
    )
    counts = {count.stage: count for count in result.counts()}
    assert "replied" not in counts
    assert [counts[stage].lost for stage in counts] == [0, 0, 1, 0, 1, 0, 0, 1]
    assert [counts[stage].rest for stage in counts] == [4, 4, 3, 3, 2, 2, 2, 1]
    assert result.lost == {"a": "retrieved", "b": None, "c": "extracted"}


@pytest.mark.parametrize(
    ("passed", "unknown", "lost"),
    [({"answered": None, "replied": False}, 0, "replied"), ({"answered": None}, 1, None)],
)
def test_a_failed_question_is_lost_and_an_unscored_answer_is_unknown(passed, unknown, lost):
    counts = {one.stage: one for one in funnel(document(**passed), document("r")).counts()}
    assert (counts["answered"].unknown, document(**passed).lost) == (unknown, lost)
