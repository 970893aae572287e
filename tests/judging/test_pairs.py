"""Pairwise judging: pairs without a judge, protocols, win rates by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from graphrag_bench.errors import UserError
from graphrag_bench.judging import pairs
from graphrag_bench.judging.tables import StoredVerdicts, audit_table, judged_table, match_table
from graphrag_bench.llm.structured import json_format
from graphrag_bench.run.folder import write_rows

NAN = float("nan")
NOTHING = pairs.head_to_head([[NAN, NAN], [1, NAN]])


def compared(*answers):
    """Runs a and b with these pairs of answers."""
    by_run = {key: {f"q{n}": pair[side] for n, pair in enumerate(answers)}
              for side, key in enumerate("ab")}  # fmt: skip
    run, asked = SimpleNamespace(scopes={}), dict.fromkeys(by_run["a"], "Why?")
    return pairs.AnswerPairs((run,), asked, by_run, {"a": "A", "b": "B"})


def verdicts(**winners):
    """Rows of both orders of a and b, with the winners by question."""
    return [
        {"question": name, "first": first, "second": second, "criterion": "overall",
         "winner": winner, "judge": "j", "protocol": "paper"}
        for name, both in winners.items()
        for first, second, winner in (("a", "b", both[0]), ("b", "a", both[1]))
    ]  # fmt: skip


def test_equal_and_empty_answers_need_no_judge():
    for a, b, winner in (
        ("Ada  Marsh.", "ada marsh", pairs.TIE), ("", " ", pairs.TIE), ("", "Ada Marsh", "b"),
        ("Ada Marsh", "\n", "a"), ("-5", "5", None), ("Ada Marsh", "Ada M.", None),
    ):  # fmt: skip
        assert [duel.winner for duel in compared((a, b)).duels()] == [winner, winner], (a, b)


def test_equal_answers_count_half():
    """One pair is equal, one flips, one is won: (0.5 + 0.5 + 1) / 3, 1 / 2, 3 / 4."""
    rates = pairs.head_to_head([[0.5, 1, 1], [0.5, 0, 1]])
    assert (rates.n, rates.wins, rates.ties, rates.losses) == (3, 1, 2, 0)
    means = [one and one.mean for one in (rates.rate, rates.flips, rates.first)]
    assert means == [pytest.approx(2 / 3), 0.5, 0.75]
    assert pairs.head_to_head([[0.5], [0.5]]).flips is None


def test_win_rates_need_both_orders():
    """B wins q1 in one order, with the longer answer; q2 lacks a row."""
    both = compared(("same", "same"), ("x", "yes, it is"), ("x", "y"))
    rows = verdicts(q0=(pairs.TIE, pairs.TIE), q1=("a", "b"), q2=("a", "a"))[:-1]
    (rates,) = both.win_rates(rows, ["overall"])
    assert (rates.names, rates.n, rates.missing) == (("A", "B", "overall"), 2, 1)
    assert rates.rate and rates.longer and (rates.rate.mean, rates.longer.mean) == (0.5, 0.5)


def test_stored_ties_and_protocols(tmp_path):
    rows = verdicts(q0=(pairs.TIE, pairs.TIE), q1=("a", "a"))
    rows += [row | {"protocol": "house"} for row in verdicts(q1=("b", "b"))]
    write_rows(tmp_path / "comparisons" / "x" / "verdicts.jsonl", rows)
    stored = StoredVerdicts(tmp_path)
    assert stored.judges("a", "b", "overall") == [("j", "house"), ("j", "paper")]
    rate = stored.win_rate([("a", "b", "overall", "j", "paper")], {})
    assert rate is not None and (rate.mean, rate.n) == (0.75, 2)


@pytest.mark.parametrize(
    ("name", "first", "last"), [("house", "reason", "winner"), ("paper", "winner", "explanation")]
)
def test_prompts_and_replies_of_the_protocols(name, first, last):
    protocol = pairs.PROTOCOLS[name]
    shown = {"criteria": pairs.CRITERIA, "question": "Why?", "first": "x", "second": "y"}
    text = "".join(message.content for message in protocol.prompt.render(shown)).lower()
    assert all(f"- {criterion}: " in text for criterion in pairs.CRITERIA)
    assert ("length" in text) == (name == "house")
    assert text.index(f'"{first}"') < text.index(f'"{last}"')
    assert list(json_format(protocol.choice, "compare").schema["properties"]) == [first, last]
    replies = {first: "answer 1", last: "answer 1"}
    assert protocol.choice.model_validate(replies).winner == "Answer 1"


def test_the_protocol_follows_the_regime_of_the_runs():
    for regimes, protocol in ((("published",) * 2, "paper"), (("house", "published"), "house")):
        runs = [SimpleNamespace(metrics={"regime": one}) for one in regimes]
        assert pairs.select_protocol(runs).name == protocol
        assert pairs.select_protocol(runs, "paper").name == "paper"
    with pytest.raises(UserError, match="papers"):
        pairs.select_protocol(runs, "papers")


def test_four_questions_by_hand():
    shown_first, shown_second = [1, 1, 0, 1, NAN], [1, 0, 0, 1, 1]
    longer, scopes = np.array([1, 1, -1, -1, 1]), ["x", "x", "y", "z", "z"]
    result = pairs.head_to_head([shown_first, shown_second], longer, scopes=scopes)
    assert (result.n, result.missing, result.wins, result.ties, result.losses) == (4, 1, 2, 1, 1)
    rates = (result.rate, result.flips, result.first, result.longer)
    assert [one and one.mean for one in rates] == [0.625, 0.25, 5 / 8, (1 + 0.5 + 1 + 0) / 4]
    assert [one and one.clusters for one in rates] == [3] * 4


def test_questions_of_one_document_count_together_by_hand():
    """Three documents have sums 2, 1 and -1, in total 2, and 8 sign flips.

    Two flips are more extreme and four equally: 2 / 8 + 4 / 16. As four single questions, 3 wins
    and 1 loss: of 16 flips 2 are more and 8 equally extreme, 2 / 16 + 8 / 32.
    """
    scopes = (["x", "x", "y", "z"], None)
    assert [pairs.head_to_head([[1, 1, 1, 0]] * 2, scopes=of).p for of in scopes] == [0.5, 0.375]


def test_flips_and_missing_verdicts_in_tables():
    """40 wins of A, 20 of B, 20 flips: (40 + 10) / 80."""
    rates = pairs.head_to_head([[1] * 40 + [0] * 20 + [1] * 20, [1] * 40 + [0] * 40])
    row, nothing = match_table("", [rates, NOTHING]).rows
    assert (row[3:8], row[8][:6]) == (("80", "0", "40", "20", "20"), "62.5 [")
    assert nothing[3:] == ("0", "2", "0", "0", "0", "–", "–")
    row, nothing = audit_table([rates, NOTHING]).rows
    assert row[3].startswith("25.0 [") and {*nothing[3:]} == {"–"}


def won(n, *scopes):
    """Questions that A wins in both orders."""
    return pairs.head_to_head([[1] * n] * 2, scopes=scopes or None)


def test_p_is_corrected_over_pairs_with_verdicts_and_over_scopes():
    """With 6, 8 and 2 wins, p is 1/64, 1/256 and 1/4 (mid-p: (1/2)^n), times 2, 3 and 1.

    Six wins over two documents count as two.
    """
    table = match_table("", [won(6), NOTHING, won(8), won(2)])
    assert [row[9] for row in table.rows] == ["0.0312", "–", "0.0117", "0.2500"]
    together = won(6, "a", "a", "a", "b", "b", "b")
    assert match_table("", [together]).rows[0][9] == "0.2500"
    values = {"judge:1": {"judged_correctness": {"q1": 1.0, "q2": 0.0, "q3": 1.0, "q4": None}}}
    judged = judged_table([("Ours", values, {"q1": "x", "q2": "x", "q3": "y", "q4": "y"})])
    assert judged.rows[0][2:5] == ("3", "1", "0.667")
    for table in (match_table("", [together]), audit_table([together]), judged):
        assert any("scopes (2" in note for note in table.notes)
