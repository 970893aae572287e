"""`graphrag-bench check`: limits that a run keeps or does not, and what is written of them."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from toy_runs import TOY, command, metrics, ran

from graphrag_bench.analysis.limits.outcomes import Loss, complete, differences

RECALL = "evidence_recall@2"
RUNS = {
    "whole": (),
    "few": ("limit=4",),
    "weak": ("method.n_retrieved=1", "method.top_k=1"),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with BM25 on the six questions of toy, on four of them, and with one chunk each."""
    home = tmp_path_factory.mktemp("runs")
    quiet = [*TOY, "answer=off", "reference_rows=off", "method=bm25", "fill_context=off"]
    for name, words in RUNS.items():
        ran(*quiet, *words, f"paths.home={home / name}")
    return home


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


def folder(home: Path, name: str) -> str:
    return str(next((home / name).glob("runs/toy/bm25/*/metrics.json")).parent)


def mean(run: str) -> float:
    return float(metrics(Path(run))["metrics"][RECALL]["mean"])


def test_a_bound_is_kept_at_its_value_and_not_beyond(home: Path) -> None:
    run = folder(home, "weak")
    at = mean(run)
    assert 0 < at < 1
    for words, code in (
        (["--min", f"{RECALL}={at}"], 0),
        (["--min", f"{RECALL}={at + 1e-5}"], 1),
        (["--max", f"{RECALL}={at}"], 0),
        (["--max", f"{RECALL}={at - 1e-5}"], 1),
        (["--min", f"{RECALL}=0.1", "--min", "mrr=1.1"], 1),
    ):
        done = command("check", run, *words)
        assert done.code == code, (words, done.out)
        assert ("not kept: " in done.err) == bool(code)


def test_a_loss_is_that_of_the_questions_that_both_have(home: Path) -> None:
    whole, weak = folder(home, "whole"), folder(home, "weak")
    lost = mean(whole) - mean(weak)
    assert lost > 0
    words = ["check", weak, "--against", whole, "--metrics", RECALL]
    assert command(*words, "--max-loss", f"{lost + 1e-5}").code == 0
    failed = command(*words, "--max-loss", f"{lost - 1e-5}")
    assert failed.code == 1
    assert f"not kept: {RECALL}: loss <= " in failed.err
    assert command(*words, "--alpha", "0.0001").code == 0
    assert command("check", whole, "--against", weak, "--metrics", RECALL).code == 0
    shown = command("check", folder(home, "few"), "--against", whole).out
    assert re.search(r"n ([34]) of [56] ", shown), shown


def test_more_of_a_metric_of_which_less_is_better_is_a_loss() -> None:
    before, after = ({f"q{n}": {"evidence_cut": cut} for n in range(9)} for cut in (0.0, 1.0))
    for first, second, kept in ((before, after, False), (after, before, True)):
        (found,) = differences(first, second, {}, Loss(0.5, ("evidence_cut",)))
        assert found.kept is kept, found


def test_what_is_written_for_others_says_the_same(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, xml, summary = folder(home, "whole"), tmp_path / "check.xml", tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    words = ["--min", "mrr=0.1", "--min", f"{RECALL}=1.5", "--junit", str(xml)]
    assert command("check", run, *words).code == 1
    suite = ElementTree.parse(xml).getroot().find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == ("4", "1")
    (failed,) = [case for case in suite if case.find("failure") is not None]
    assert failed.get("name") == f"{RECALL} >= 1.5"
    assert command("check", run, *words).code == 1
    told = summary.read_text()
    assert told.count("1 of 4 limits are not kept") == 2
    assert "| FAILED | evidence_recall@2" in told


def test_what_cannot_be_checked_is_said(home: Path, tmp_path: Path) -> None:
    run = folder(home, "whole")
    for words, said in (
        (["--min", "evidence_recall@3=0.5"], "evidence_recall@2"),
        (["--min", "mrr"], "METRIC=NUMBER was expected"),
        (["--min", "mrr=nan"], "METRIC=NUMBER was expected"),
        (["--max-loss", "0.1"], "--max-loss goes with --against"),
        (["--against", run, "--max-loss", "-1"], "from 0 on"),
        (["--against", run, "--metrics", "mr"], "'mrr'"),
        (["--junit", str(tmp_path / "no" / "x.xml")], "There is no folder"),
    ):
        done = command("check", run, *words)
        assert done.code == 2, words
        assert said in done.err


def test_a_run_with_missing_or_failed_questions_is_not_whole() -> None:
    told = {"n": 5, "selected": 6, "failed": 2}
    assert [one.kept for one in complete(told, 2)] == [False, True]
    assert [one.kept for one in complete({**told, "n": 6}, 1)] == [True, False]
