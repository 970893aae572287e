"""Which pairs need no judge, how each protocol asks, and which one runs are judged by."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import cast

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
    names = list(map(str, range(len(answers))))
    by_run = {
        key: dict(zip(names, of, strict=True))
        for key, of in zip("ab", zip(*answers, strict=True), strict=True)
    }
    return AnswerPairs((), dict.fromkeys(names, "Why?"), by_run, {"a": "A", "b": "B"})


@pytest.mark.parametrize(
    ("a", "b", "winner"),
    [
        ("Ada  Marsh.", "ada marsh", TIE),
        ("", " ", TIE),
        ("", "Ada Marsh", "b"),
        ("Ada Marsh", "\n", "a"),
        ("-5", "5", None),
        ("Ada Marsh", "Ada M.", None),
    ],
)
def test_equal_answers_tie_and_an_empty_one_loses_without_a_judge(
    a: str, b: str, winner: str | None
) -> None:
    assert [duel.winner for duel in compared((a, b)).duels()] == [winner, winner]


def test_equal_answers_count_half_and_are_in_no_flip_and_no_first_win() -> None:
    """Of three pairs one is equal, one flips, one is won: (0.5 + 0.5 + 1) / 3, 1 / 2, 3 / 4."""
    pairs = compared(("same", "same"), ("x", "y"), ("x", "yes"))
    firsts = {"0": (TIE, TIE), "1": ("a", "b"), "2": ("a", "a")}
    rows = [
        {"question": name, "first": first, "second": second, "criterion": "overall", "winner": won}
        for name, of in firsts.items()
        for first, second, won in (("a", "b", of[0]), ("b", "a", of[1]))
    ]
    rates = head_to_head(pairs.both_orders(rows, "a", "b", "overall"))
    assert (rates.n, rates.wins, rates.ties, rates.losses) == (3, 1, 2, 0)
    assert rates.rate and rates.flips and rates.first
    assert rates.rate.mean == pytest.approx(2 / 3)
    assert (rates.flips.mean, rates.first.mean) == (0.5, 0.75)
    equal = head_to_head(compared(("same", "Same")).both_orders([], "a", "b", "overall"))
    assert (equal.n, equal.ties, equal.flips, equal.first) == (1, 1, None, None)


def test_a_stored_tie_is_half_a_win_and_protocols_are_counted_apart(tmp_path: Path) -> None:
    folder = tmp_path / "comparisons" / "x"
    folder.mkdir(parents=True)
    rows = [
        {"question": name, "first": first, "second": second, "criterion": "overall",
         "winner": won, "judge": "j", "protocol": protocol}
        for name, won, protocol in (("0", TIE, "paper"), ("1", "a", "paper"), ("1", "b", "house"))
        for first, second in (("a", "b"), ("b", "a"))
    ]  # fmt: skip
    (folder / "verdicts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    verdicts = StoredVerdicts(tmp_path)
    assert verdicts.judges("a", "b", "overall") == [("j", "house"), ("j", "paper")]
    rate = verdicts.win_rate([("a", "b", "overall", "j", "paper")], {})
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
    [
        (("published", "published"), "paper"),
        (("house", "published"), "house"),
        ((None, None), "house"),
    ],
)
def test_the_protocol_follows_the_regime_of_the_runs(
    regimes: tuple[str | None, ...], protocol: str
) -> None:
    runs = [
        cast("StoredRun", SimpleNamespace(metrics={"regime": one} if one else {}))
        for one in regimes
    ]
    assert protocol_of(runs).name == protocol
    assert protocol_of(runs, "paper").name == "paper"
    with pytest.raises(UserError, match="papers"):
        protocol_of(runs, "papers")
