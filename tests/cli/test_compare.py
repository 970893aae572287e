"""`graphrag-bench judge` of several runs: verdicts in both orders, stored and gone on from."""

import json
from pathlib import Path

import planted_judges
import pytest
from toy_runs import TOY, command, refused, run_folder

LONGER = ["llm@llm_judge=scripted", "llm_judge._target_=planted_judges.takes_longer"]
WORDY = ["llm._target_=planted_judges.wordy"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """VanillaRAG with short answers, BM25 with long ones, and HippoRAG with short ones."""
    home = f"paths.home={tmp_path_factory.mktemp('runs')}"
    settings = [*TOY, "reference_rows=off", home]
    return [
        str(run_folder(*settings, "method=vanilla")),
        str(run_folder(*settings, *WORDY, "method=bm25")),
        str(run_folder(*settings, "method=hipporag")),
    ]


def folder(out: str) -> Path:
    return Path(next(line for line in out.splitlines() if line.startswith("comparison: "))[12:])


def compared(*arguments: str) -> str:
    ended = command("judge", *arguments)
    assert ended.code == 0, ended.err
    return ended.out


def cells(out: str, *begin: str) -> list[str]:
    """The cells of the first row of a table that begins with these."""
    rows = [[c.strip() for c in line.strip("│").split("│")] for line in out.splitlines()]
    return next(row for row in rows if row[: len(begin)] == list(begin))


def test_verdicts_are_kept_and_nothing_is_asked_twice(runs: list[str]) -> None:
    words = (*runs[:2], *LONGER, "--criteria", "pankrag", "--limit", "2", "cache.mode=off")
    out = compared(*words)
    verdicts = folder(out) / "verdicts.jsonl"
    before = verdicts.read_bytes()
    assert compared(*words) == out and len(planted_judges.prompts) == 4
    assert verdicts.read_bytes() == before
    rows = [json.loads(line) for line in before.decode().splitlines()]
    assert len(rows) == 4 * 6
    long = Path(runs[1]).name
    assert {row["winner"] for row in rows} == {long}
    assert {row["first"] for row in rows} == {Path(run).name for run in runs[:2]}


def test_a_reply_in_prose_is_missing_and_in_no_rate(runs: list[str]) -> None:
    planted_judges.prose_on.add("Into which sea")
    out = compared(*runs[:2], *LONGER, "cache.mode=off", "--criteria", "overall")
    assert cells(out, "VanillaRAG", "BM25", "overall")[3:8] == ["5", "1", "0", "0", "5"]


def test_a_command_that_was_stopped_goes_on_with_what_is_missing(runs: list[str]) -> None:
    more = (*LONGER, "--criteria", "coherence")
    planted_judges.stops_on.add("Did Mira Holt")
    assert "told to stop" in refused(*runs[:2], *more, name="judge", code=1)
    before = len(planted_judges.prompts)
    planted_judges.stops_on.clear()
    assert cells(compared(*runs[:2], *more), "VanillaRAG", "BM25", "coherence")[3:5] == ["6", "0"]
    assert 0 < before < 12 and len(planted_judges.prompts) == 12


def test_the_calls_are_known_before_they_are_made(runs: list[str]) -> None:
    more = (*LONGER, "--criteria", "relevance", "--limit", "2", "cache.mode=off")
    assert compared(*runs, *more, "--plan").startswith("at most 8 calls")  # two runs answer alike
    assert planted_judges.prompts == []
    compared(*runs, *more)
    assert len(planted_judges.prompts) == 8
    assert compared(*runs, *more, "--plan").startswith("at most 0 calls")
    by_papers = compared(*runs, *more, "--plan", "protocol=paper")
    assert by_papers == "at most 8 calls, protocol paper\n"
