"""`graphrag-bench judge`: judged values in the run's folder, paid for once."""

import json
import shutil
from pathlib import Path

import planted_judges
import pytest
import toy_runs
from filelock import FileLock
from toy_runs import TOY, Ended, command, refused, run_folder

pytestmark = pytest.mark.slow

JUDGE = ["llm@llm_judge=scripted", "llm_judge._target_=planted_judges.strict", "embedder=hashing"]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """VanillaRAG on the first three questions of toy; every answer is `Ada Marsh`.

    That is the gold answer of one of them, word for word, and wrong for the others.
    """
    settings = ("method=vanilla", "limit=3", "reference_rows=off", f"paths.home={tmp_path}")
    return run_folder(*TOY, *settings)


def judge(run: Path, *more: str) -> Ended:
    ended = command("judge", str(run), *JUDGE, *more)
    assert ended.code == 0, ended.err
    return ended


def judged(run: Path, *more: str) -> dict[tuple[str, str], object]:
    """The value of each question and metric after the command."""
    judge(run, *more)
    lines = (run / "judged.jsonl").read_text().splitlines()
    return {(row["metric"], row["question"]): row["value"] for row in map(json.loads, lines)}


def test_every_answer_has_every_metric_and_a_second_call_asks_nothing(run: Path) -> None:
    values = judged(run)
    assert {metric for metric, _ in values} == {
        "judged_correctness", "faithfulness", "answer_relevance", "context_recall",
        "context_precision",
    }  # fmt: skip
    assert len(values) == 15
    assert all(isinstance(value, float) and 0 <= value <= 1 for value in values.values())
    before, n_calls = (run / "judged.jsonl").read_bytes(), len(planted_judges.prompts)
    judged(run, "cache.mode=off")
    assert (len(planted_judges.prompts), (run / "judged.jsonl").read_bytes()) == (n_calls, before)


def test_a_later_call_judges_only_what_is_missing_and_the_run_stays_as_it_is(run: Path) -> None:
    first = ("--metrics", "judged_correctness")
    before = {name: (run / name).read_bytes() for name in ("records.jsonl", "metrics.json")}
    assert len(judged(run, *first, "--limit", "2")) == 2
    assert before == {name: (run / name).read_bytes() for name in before}
    n_calls = len(planted_judges.prompts)
    assert len(judged(run, *first)) == 3
    assert n_calls < len(planted_judges.prompts) == len(set(planted_judges.prompts))


def test_the_calls_are_known_before_they_are_made(run: Path) -> None:
    assert "at most 21 calls (judged_correctness 6, faithfulness 6," in judge(run, "--plan").out
    assert planted_judges.prompts == []
    judged(run, "cache.mode=off")
    assert len(planted_judges.prompts) == 17  # two names are compared with the gold, one is it
    assert "0 calls" in judge(run, "--plan").out


def test_a_reply_in_prose_is_missing_and_not_asked_again(run: Path) -> None:
    planted_judges.prose_on.add("Ada Marsh")
    for _ in range(2):
        values = judged(run, "--metrics", "answer_relevance", "cache.mode=off")
        assert set(values.values()) == {None}
        planted_judges.prose_on.clear()


def test_two_judges_at_a_time_are_refused_and_a_run_at_work_is_none_of_theirs(run: Path) -> None:
    with FileLock(run / "judge.lock"):
        assert f"Another process is judging {run}" in refused(str(run), *JUDGE, name="judge")
    assert planted_judges.prompts == []
    with FileLock(run / "run.lock"):
        assert len(judged(run, "--metrics", "judged_correctness")) == 3


@pytest.mark.parametrize("method", ["ircot", "dalk", "llightrag"])
def test_contexts_are_those_that_the_run_has_kept(tmp_path: Path, method: str) -> None:
    run = run_folder(*TOY, f"method={method}", "limit=2", f"paths.home={tmp_path}")
    for name in ("artifacts", "cache"):
        shutil.rmtree(tmp_path / name)
    toy_runs.asked.clear()
    values = judged(run, "--metrics", "context_precision")
    assert len(values) == 2 and None not in values.values()
    assert toy_runs.asked == [] and not (tmp_path / "artifacts").exists()


def test_the_judge_reads_the_texts_that_stood_in_the_prompt(run: Path) -> None:
    path = run / "contexts.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows:
        row["texts"] = [f"piece {number}" for number, _ in enumerate(row["texts"], 1)]
        del row["of"]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    judged(run, "--metrics", "context_recall")
    assert len(planted_judges.prompts) == 3
    assert all("piece 1" in text and "piece 2" in text for text in planted_judges.prompts)


def test_a_context_whose_texts_are_others_by_now_is_left_out(run: Path) -> None:
    """The pieces of the first question stand in another order than the texts that were kept."""
    path = run / "records.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[0]["context"]["pieces"].reverse()
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    ended = judge(run, "--metrics", "context_recall")
    assert "the contexts of 1 answers were not kept" in ended.err
    assert len((run / "judged.jsonl").read_text().splitlines()) == 2


def test_metrics_without_a_context_go_on_where_none_was_kept(tmp_path: Path) -> None:
    run = run_folder(*TOY, "method=vanilla", "limit=3", "trace=off", f"paths.home={tmp_path}")
    ended = judge(run)
    assert "faithfulness: the contexts of 3 answers were not kept (trace=off)" in ended.err
    metrics = {metric for metric, _ in judged(run)}
    assert metrics == {"judged_correctness", "answer_relevance"}
    message = refused(str(run), *JUDGE, "--metrics", "faithfulness", name="judge")
    assert "run it again without trace=off" in message
