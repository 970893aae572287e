"""Which pairs need no judge, how each protocol asks, and which one runs are judged by."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from graphrag_bench.errors import UserError
from graphrag_bench.judging.pairs import (
    CRITERIA,
    PROTOCOLS,
    TIE,
    Comparison,
    StoredVerdicts,
    both_orders,
    mixed_regimes,
    protocol_of,
)
from graphrag_bench.judging.win_rates import head_to_head
from graphrag_bench.llm.structured import json_reading
from graphrag_bench.run.stored import StoredRun


def compared(*answers: tuple[str, str]) -> Comparison:
    """Runs a and b with these answers to questions 0, 1, ..."""
    names = list(map(str, range(len(answers))))
    by_run = {
        key: dict(zip(names, of, strict=True))
        for key, of in zip("ab", zip(*answers, strict=True), strict=True)
    }
    return Comparison((), dict.fromkeys(names, "Why?"), by_run, {"a": "A", "b": "B"})


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
    pair = compared((a, b))
    assert [pair.settled(duel) for duel in pair.duels()] == [winner, winner]


def test_equal_answers_count_half_and_are_in_no_flip_and_no_first_win() -> None:
    """Of three pairs one is equal, one flips, one is won: (0.5 + 0.5 + 1) / 3, 1 / 2, 3 / 4."""
    pairs = compared(("same", "same"), ("x", "y"), ("x", "yes"))
    firsts = {"0": (TIE, TIE), "1": ("a", "b"), "2": ("a", "a")}
    rows = [
        {"question": name, "first": first, "second": second, "criterion": "overall", "winner": won}
        for name, of in firsts.items()
        for first, second, won in (("a", "b", of[0]), ("b", "a", of[1]))
    ]
    rates = head_to_head(list(both_orders(pairs, rows, "a", "b", "overall").values()))
    assert (rates.n, rates.wins, rates.ties, rates.losses) == (3, 1, 2, 0)
    assert rates.rate and rates.flips and rates.first
    assert (rates.rate.mean, rates.flips.mean, rates.first.mean) == (
        pytest.approx(2 / 3),
        0.5,
        0.75,
    )
    equal = head_to_head(
        list(both_orders(compared(("same", "Same")), [], "a", "b", "overall").values())
    )
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


def test_the_papers_protocol_says_nothing_of_length_and_takes_the_winner_first() -> None:
    shown = {"criteria": CRITERIA, "question": "Why?", "first": "x", "second": "y"}
    texts = {
        name: "".join(message.content for message in one.prompt.render(shown)).lower()
        for name, one in PROTOCOLS.items()
    }
    for name in CRITERIA:
        assert all(f"- {name}: " in text for text in texts.values())
    assert "neither does length" in texts["house"] and "more words" in texts["house"]
    assert not any(word in texts["paper"] for word in ("length", "longer", "words", 'reason"'))
    assert texts["paper"].index('"winner"') < texts["paper"].index('"explanation"')
    assert texts["house"].index('"reason"') < texts["house"].index('"winner"')
    for name, first in (("house", "reason"), ("paper", "winner")):
        schema = json_reading(PROTOCOLS[name].choice, "compare").schema
        assert next(iter(schema["properties"])) == first


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


@pytest.mark.parametrize(
    ("regimes", "words"),
    [(("house", "published"), "A: house, B: published"), (("published", "published"), "")],
)
def test_a_comparison_of_two_regimes_names_both(regimes: tuple[str, str], words: str) -> None:
    runs = [
        SimpleNamespace(metrics={"regime": one}, folder=SimpleNamespace(path=Path(key)))
        for key, one in zip("ab", regimes, strict=True)
    ]
    pair = replace(compared(("x", "y")), runs=cast("tuple[StoredRun, ...]", tuple(runs)))
    assert mixed_regimes(pair) == words
