"""`graphrag-bench judge`: graded answers, pairwise verdicts, no repeated call."""

import json
import shutil
from pathlib import Path

import planted_judges
import pytest
import toy_runs
from toy_runs import TOY, command, command_error, records, run_folder

from graphrag_bench.locks import lock

pytestmark = pytest.mark.slow

JUDGE = ["llm@llm_judge=scripted", "llm_judge._target_=planted_judges.strict", "embedder=hashing"]
LONGER = ["llm@llm_judge=scripted", "llm_judge._target_=planted_judges.takes_longer"]
FIRST = ("--metrics", "judged_correctness")
BUILT = [[*TOY, "method=vanilla", "limit=3", "reference_rows=off"]]
"""Every answer is `Ada Marsh`, which is right for one question."""


@pytest.fixture
def run(copied, home):
    return next((home / "runs" / "toy" / "vanilla").iterdir())


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """VanillaRAG with short answers, BM25 with long ones, and HippoRAG with short ones."""
    settings = [*TOY, "reference_rows=off", f"paths.home={tmp_path_factory.mktemp('runs')}"]
    methods = (["vanilla"], ["bm25", "llm._target_=planted_judges.wordy"], ["hipporag"])
    return [str(run_folder(*settings, f"method={name}", *more)) for name, *more in methods]


def judge(*arguments):
    ended = command("judge", *map(str, arguments))
    assert ended.code == 0, ended.err
    return ended.out


def judged(run, *more):
    judge(run, *JUDGE, *more)
    lines = (run / "judged.jsonl").read_text().splitlines()
    return {(row["metric"], row["question"]): row["value"] for row in map(json.loads, lines)}


def test_every_answer_has_every_metric_and_a_second_command_makes_no_call(run):
    before = {name: (run / name).read_bytes() for name in ("records.jsonl", "metrics.json")}
    assert "at most 21 calls" in judge(run, *JUDGE, "--plan")
    plan = json.loads(judge(run, *JUDGE, "--plan", "--json"))
    assert sum(plan[str(run)].values()) == 21
    assert planted_judges.prompts == []
    assert len(judged(run, *FIRST, "--limit", "2", "cache.mode=off")) == 2
    values = judged(run, "cache.mode=off")
    assert len(values) == 15 and len({metric for metric, _ in values}) == 5
    assert all(isinstance(value, float) and 0 <= value <= 1 for value in values.values())
    assert len(planted_judges.prompts) == 17  # two answers differ from the gold
    stored = (run / "judged.jsonl").read_bytes()
    judged(run, "cache.mode=off")
    assert (len(planted_judges.prompts), (run / "judged.jsonl").read_bytes()) == (17, stored)
    assert "0 calls" in judge(run, *JUDGE, "--plan")
    assert before == {name: (run / name).read_bytes() for name in before}


def test_a_second_judge_is_refused_and_a_locked_run_can_be_judged(run):
    with lock(run / "judge.lock"):
        assert str(run) in command_error(str(run), *JUDGE, name="judge")
    assert planted_judges.prompts == []
    with lock(run / "run.lock"):
        assert len(judged(run, *FIRST)) == 3


@pytest.mark.parametrize("method", ["ircot", "dalk"])
def test_the_judge_reads_the_stored_contexts(tmp_path, method):
    run = run_folder(*TOY, f"method={method}", "limit=2", f"paths.home={tmp_path}")
    for name in ("artifacts", "cache"):
        shutil.rmtree(tmp_path / name)
    toy_runs.reader_prompts.clear()
    values = judged(run, "--metrics", "context_precision")
    assert len(values) == 2 and None not in values.values()
    assert toy_runs.reader_prompts == [] and not (tmp_path / "artifacts").exists()


def test_contexts_that_are_not_stored_or_do_not_match_their_texts_are_not_judged(run):
    rows = records(run)
    rows[0]["context"]["pieces"].reverse()
    (run / "records.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert len(judged(run, "--metrics", "context_recall")) == 2
    for name in ("contexts.jsonl", "judged.jsonl"):
        (run / name).unlink()
    assert {metric for metric, _ in judged(run)} == {"judged_correctness", "answer_relevance"}
    assert "trace=off" in command_error(str(run), *JUDGE, "--metrics", "faithfulness", name="judge")


def test_two_runs_are_compared_unless_each_or_metrics_is_given(runs):
    for more in (["--each"], list(FIRST)):
        assert judge(*runs[:2], *JUDGE, *more, "--limit", "1").count("judged: ") == 2
    for words in ((*runs[:2], "--each", "protocol=house"), (runs[0], "--criteria", "overall")):
        assert "--criteria" in command_error(*words, *JUDGE, name="judge")


def test_verdicts_are_stored_and_no_call_is_repeated(runs):
    words = (*runs[:2], *LONGER, "--criteria", "pankrag", "--limit", "2", "cache.mode=off")
    out = judge(*words)
    verdicts = Path(out.partition("comparison: ")[2].strip()) / "verdicts.jsonl"
    before = verdicts.read_bytes()
    assert judge(*words) == out and len(planted_judges.prompts) == 4
    assert verdicts.read_bytes() == before
    winners = [json.loads(line)["winner"] for line in before.splitlines()]
    assert winners == [Path(runs[1]).name] * 4 * 6


def test_a_stopped_command_resumes(runs):
    more = (*LONGER, "--criteria", "coherence")
    planted_judges.stops_on.add("Did Mira Holt")
    command_error(*runs[:2], *more, name="judge", code=1)
    before = len(planted_judges.prompts)
    planted_judges.stops_on.clear()
    lines = judge(*runs[:2], *more).splitlines()
    cells = next(line for line in lines if "VanillaRAG" in line and "coherence" in line).split("│")
    assert [cell.strip() for cell in cells[4:6]] == ["6", "0"]
    assert 0 < before < 12 and len(planted_judges.prompts) == 12


def test_plan_counts_the_calls_of_a_comparison(runs):
    more = (*LONGER, "--criteria", "relevance", "--limit", "2", "cache.mode=off")
    assert judge(*runs, *more, "--plan").startswith("at most 8 calls")  # two answers are equal
    assert planted_judges.prompts == []
    judge(*runs, *more)
    assert len(planted_judges.prompts) == 8
    assert judge(*runs, *more, "--plan").startswith("at most 0 calls")
    plan = json.loads(judge(*runs, *more, "--plan", "--json", "protocol=paper"))
    assert plan == {"calls": 8, "protocol": "paper"}
    assert judge(*runs, *more, "--plan", "protocol=paper").startswith("at most 8 calls")
