"""The comparison behind docs/parity.md; with ENGINES=FOLDER (make test-parity) every engine too."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from parity import comparison  # noqa: E402
from parity.comparison import Difference, Ranking, Result, badge, cases, compare  # noqa: E402


def ranked(*rows):
    """Ids with a score each."""
    return Ranking(tuple(one for one, _ in rows), tuple((score,) for _, score in rows))


ENGINE = ranked((3, 0.9), (1, 0.5), (2, 0.5), (0, 0.1))


def kinds(ours, theirs):
    return [one.kind for one in compare("q1", ours, theirs)]


def test_lists_are_equal_or_tied_or_different():
    """The fifth pair has a tie at the cut."""
    for ours, theirs, found in (
        (ranked((3, 8), (1, 4), (2, 3), (0, 1)), ENGINE, []),
        (ranked((3, 0.9), (2, 0.5), (1, 0.5), (0, 0.1)), ENGINE, ["ties"]),
        (ranked((2, 1.0), (1, 0.9)), ranked((1, 0.5 + 4e-7), (2, 0.5)), ["ties"]),
        (ranked((2, 1.0), (1, 0.9)), ranked((1, 0.5 + 4e-6), (2, 0.5)), ["differs"]),
        (ranked((3, 0.9), (2, 0.5)), ranked((3, 0.9), (1, 0.5)), ["ties"]),
        (ranked((3, 0.9), (2, 0.7), (4, 0.5)), ranked((3, 0.9), (1, 0.5), (4, 0.5)), ["differs"]),
    ):
        assert kinds({"nodes": ours}, {"nodes": theirs}) == found


def test_a_swap_is_reported_with_place_and_both_ids():
    ours = ranked((3, 0.9), (1, 0.5), (0, 0.4), (2, 0.3))
    (result,) = compare("q7", {"nodes": ours}, {"nodes": ENGINE})
    assert result == Difference("q7", "nodes", "differs", 3, "0 (0.4)", "2 (0.5)")


def test_a_difference_after_a_tie_follows_from_it():
    tied = {"nodes": ranked((2, 0.5), (1, 0.5)), "chunks": Ranking((5, 6))}
    engine = {"nodes": ranked((1, 0.5), (2, 0.5)), "chunks": Ranking((6, 5))}
    assert kinds(tied, engine) == ["ties", "follows"]
    turned = [dict(reversed(of.items())) for of in (tied, engine)]
    assert kinds(*turned) == ["differs", "ties"]


def test_the_badge_is_that_of_the_worst_question():
    every = [["same"] * 2, ["same", "ties", "follows"], ["same", "ties", "differs"], []]
    assert [*map(badge, every)] == ["same", "same but ties", "differs", "differs"]


def test_the_first_differences_are_in_the_order_of_the_questions():
    every = [Difference(f"q{n}", stage, "differs", n, "", "") for n, stage in enumerate("aba")]
    assert Result(None, "", {one.question: [one] for one in every}).first() == every[:2]


def planted(case):
    """A result with an equal question and a difference in the nodes."""
    wrong = Difference("q2", "nodes", "differs", 1, "4", "7")
    return Result(cases()[case], "1.0", {"q1": [], "q2": [wrong]})


def test_the_page_lists_differences_with_and_without_reasons():
    page = comparison.PAGE.read_text(encoding="utf-8")
    text = comparison.with_results(page, [planted("lightrag-mix")])
    place = "At place 1, our list has node 4 and the engine's list has node 7."
    assert f"**nodes** of q2: {place} {comparison.UNEXPLAINED}" in text
    assert "| differs | 1 same, 1 differs |" in text
    assert "hnswlib" in comparison.with_results(page, [planted("fast-graphrag")])
    assert planted("lightrag-mix").unexplained() and not planted("fast-graphrag").unexplained()
    assert all(set(case.reasons) <= set(case.stages) for case in cases().values())


@pytest.mark.skipif("ENGINES" not in os.environ, reason="ENGINES names no folder of engines")
@pytest.mark.parametrize("case", list(cases()))
def test_every_first_difference_from_the_engine_has_a_reason(case, tmp_path):
    home = os.environ.get("PARITY_HOME", str(tmp_path))
    words = ["--engines", os.environ["ENGINES"], "--cases", case, "--home", home]
    command = [sys.executable, str(ROOT / "scripts" / "parity.py"), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1200)
    assert done.returncode == 0 and f"{case}: " in done.stdout, done.stdout + done.stderr[-2000:]
