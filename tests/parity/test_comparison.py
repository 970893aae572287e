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
    return Ranking(tuple(one for one, _ in rows), tuple((score,) for _, score in rows))


ENGINE = ranked((3, 0.9), (1, 0.5), (2, 0.5), (0, 0.1))


def kinds(ours, theirs):
    return [one.kind for one in compare("q1", ours, theirs)]


def test_lists_are_equal_or_tied_or_different():
    for ours, theirs, found in (
        (ranked((3, 8), (1, 4), (2, 3), (0, 1)), ENGINE, []),
        (ranked((3, 0.9), (2, 0.5), (1, 0.5), (0, 0.1)), ENGINE, ["ties"]),
        (ranked((2, 1.0), (1, 0.9)), ranked((1, 0.5 + 4e-7), (2, 0.5)), ["ties"]),
        (ranked((2, 1.0), (1, 0.9)), ranked((1, 0.5 + 4e-6), (2, 0.5)), ["differs"]),
        (ranked((3, 0.9), (2, 0.5)), ranked((3, 0.9), (1, 0.5)), ["ties"]),  # at the cut
        (ranked((3, 0.9), (2, 0.7), (4, 0.5)), ranked((3, 0.9), (1, 0.5), (4, 0.5)), ["differs"]),
    ):
        assert kinds({"nodes": ours}, {"nodes": theirs}) == found


def test_a_swap_is_reported_with_place_and_ids_and_whether_it_follows_from_a_tie():
    ours = ranked((3, 0.9), (1, 0.5), (0, 0.4), (2, 0.3))
    (result,) = compare("q7", {"nodes": ours}, {"nodes": ENGINE})
    assert result == Difference("q7", "nodes", "differs", 3, "0 (0.4)", "2 (0.5)")
    # a difference after a tie follows from it
    tied = {"nodes": ranked((2, 0.5), (1, 0.5)), "chunks": Ranking((5, 6))}
    engine = {"nodes": ranked((1, 0.5), (2, 0.5)), "chunks": Ranking((6, 5))}
    assert kinds(tied, engine) == ["ties", "follows"]
    turned = [dict(reversed(of.items())) for of in (tied, engine)]
    assert kinds(*turned) == ["differs", "ties"]


def test_a_difference_without_a_reason_is_listed_as_unexplained():
    every = [["same"] * 2, ["same", "ties", "follows"], ["same", "ties", "differs"], []]
    assert [*map(badge, every)] == ["same", "same but ties", "differs", "differs"]
    page = comparison.PAGE.read_text(encoding="utf-8")
    lists = {"q1": [], "q2": [Difference("q2", "nodes", "differs", 1, "4", "7")]}
    for name, is_unexplained in (("lightrag-mix", True), ("fast-graphrag", False)):
        result = Result(cases()[name], "1.0", lists)
        assert bool(result.unexplained()) == is_unexplained
        assert (comparison.UNEXPLAINED in comparison.with_results(page, [result])) == is_unexplained
    assert all(set(case.reasons) <= set(case.stages) for case in cases().values())


@pytest.mark.skipif("ENGINES" not in os.environ, reason="ENGINES names no folder of engines")
@pytest.mark.parametrize("case", list(cases()))
def test_every_first_difference_from_the_engine_has_a_reason(case, tmp_path):
    home = os.environ.get("PARITY_HOME", str(tmp_path))
    words = ["--engines", os.environ["ENGINES"], "--cases", case, "--home", home]
    command = [sys.executable, str(ROOT / "scripts" / "parity.py"), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1200)
    assert done.returncode == 0 and f"{case}: " in done.stdout, done.stdout + done.stderr[-2000:]
