"""Which pairs need no judge, how each protocol asks, and which one runs are judged by."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from graphrag_bench.errors import UserError
from graphrag_bench.judging.pairs import (
    CRITERIA,
    PROTOCOLS,
    TIE,
    AnswerPairs,
    StoredVerdicts,
    protocol_of,
)
from graphrag_bench.judging.win_rates import head_to_head
from graphrag_bench.llm.structured import json_reading
from graphrag_bench.run.stored import StoredRun


def compared(*answers: tuple[str, str]) -> AnswerPairs:
    """Runs a and b with these answers to questions 0, 1, ..."""
    by_run = {
        key: {str(n): pair[side] for n, pair in enumerate(answers)} for side, key in enumerate("ab")
    }
    return AnswerPairs((), dict.fromkeys(by_run["a"], "Why?"), by_run, {"a": "A", "b": "B"})


def verdicts(**winners: tuple[str, str]) -> list[dict[str, Any]]:
    """A row for both orders of a and b on each question, named as `q0`."""
    return [
        {"question": name[1:], "first": first, "second": second, "criterion": "overall",
         "winner": winner, "judge": "j", "protocol": "paper"}
        for name, both in winners.items()
        for first, second, winner in (("a", "b", both[0]), ("b", "a", both[1]))
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("a", "b", "winner"),
    [("Ada  Marsh.", "ada marsh", TIE), ("", " ", TIE), ("", "Ada Marsh", "b"),
     ("Ada Marsh", "\n", "a"), ("-5", "5", None), ("Ada Marsh", "Ada M.", None)],
)  # fmt: skip
def test_equal_answers_tie_and_an_empty_one_loses_without_a_judge(
    a: str, b: str, winner: str | None
) -> None:
    assert [duel.winner for duel in compared((a, b)).duels()] == [winner, winner]


def test_equal_answers_count_half_and_are_in_no_flip_and_no_first_win() -> None:
    """Of three pairs one is equal, one flips, one is won: (0.5 + 0.5 + 1) / 3, 1 / 2, 3 / 4."""
    pairs = compared(("same", "same"), ("x", "y"), ("x", "yes"))
    rows = verdicts(q0=(TIE, TIE), q1=("a", "b"), q2=("a", "a"))
    rates = head_to_head(pairs.both_orders(rows, "a", "b", "overall"))
    assert (rates.n, rates.wins, rates.ties, rates.losses) == (3, 1, 2, 0)
    means = [one and one.mean for one in (rates.rate, rates.flips, rates.first)]
    assert means == [pytest.approx(2 / 3), 0.5, 0.75]
    equal = head_to_head(compared(("same", "Same")).both_orders([], "a", "b", "overall"))
    assert (equal.n, equal.ties, equal.flips, equal.first) == (1, 1, None, None)


def test_a_stored_tie_is_half_a_win_and_protocols_are_counted_apart(tmp_path: Path) -> None:
    rows = verdicts(q0=(TIE, TIE), q1=("a", "a"))
    rows += [row | {"protocol": "house"} for row in verdicts(q1=("b", "b"))]
    file = tmp_path / "comparisons" / "x" / "verdicts.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    stored = StoredVerdicts(tmp_path)
    assert stored.judges("a", "b", "overall") == [("j", "house"), ("j", "paper")]
    rate = stored.win_rate([("a", "b", "overall", "j", "paper")], {})
    assert rate is not None and (rate.mean, rate.n) == (0.75, 2)


@pytest.mark.parametrize(("name", "first"), [("house", "reason"), ("paper", "winner")])
def test_the_papers_protocol_says_nothing_of_length_and_takes_the_winner_first(
    name: str, first: str
) -> None:
    protocol = PROTOCOLS[name]
    shown = {"criteria": CRITERIA, "question": "Why?", "first": "x", "second": "y"}
    text = "".join(message.content for message in protocol.prompt.render(shown)).lower()
    assert all(f"- {criterion}: " in text for criterion in CRITERIA)
    assert ("length" in text) == (name == "house")
    last = "explanation" if name == "paper" else "winner"
    assert text.index(f'"{first}"') < text.index(f'"{last}"')
    assert list(json_reading(protocol.choice, "compare").schema["properties"]) == [first, last]
    replies = {first: "answer 1", last: "answer 1"}
    assert protocol.choice.model_validate(replies).winner == "Answer 1"


@pytest.mark.parametrize(
    ("regimes", "protocol"),
    [(("published", "published"), "paper"), (("house", "published"), "house"), (("", ""), "house")],
)
def test_the_protocol_follows_the_regime_of_the_runs(
    regimes: tuple[str, ...], protocol: str
) -> None:
    metrics = [{"regime": one} if one else {} for one in regimes]
    runs = [cast("StoredRun", SimpleNamespace(metrics=one)) for one in metrics]
    assert [protocol_of(runs).name, protocol_of(runs, "paper").name] == [protocol, "paper"]
    with pytest.raises(UserError, match="papers"):
        protocol_of(runs, "papers")
