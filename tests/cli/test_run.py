"""Runs on the toy data set: folders, limits, answers and repeats."""

import pytest
import toy_runs
from toy_runs import TOY, metrics, records, run_command, run_error, run_folder, write_set

from graphrag_bench.llm.calls import Completion
from graphrag_bench.llm.scripted import Scripted

pytestmark = pytest.mark.slow

VANILLA = [*TOY, "method=vanilla", "reference_rows=off"]


def test_a_run_prints_its_table_and_its_folder(home):
    ended = run_command(*TOY, "method=bm25", "limit=3")
    assert ended.methods == ["bm25", "zeroshot", "vanilla", "oracle"]
    assert ended.folder.parent == home / "runs" / "toy" / "bm25"
    assert ended.out.splitlines()[-1] == f"run: {ended.folders[-1]}"
    table = (ended.folder / "table.md").read_text()
    assert table.index("| BM25 |") < table.index("(reference) |")


def test_a_larger_limit_resumes_and_a_smaller_limit_keeps_the_scores():
    off = [*VANILLA, "cache.mode=off"]
    folder = run_folder(*off, "limit=2")
    before = records(folder)
    assert run_folder(*off) == folder
    assert len(toy_runs.reader_prompts) == len(set(toy_runs.reader_prompts)) == 6
    assert [row for row in records(folder) if row in before] == before
    stored = (folder / "metrics.json").read_bytes()
    run_command(*off, "limit=2")
    assert (folder / "metrics.json").read_bytes() == stored
    assert metrics(folder)["n"] == len(toy_runs.reader_prompts) == 6


def test_only_requested_answers_are_generated():
    for n, word in ((0, "answer=off"), (2, "answer=2"), (6, "answer=on")):
        numbers = metrics(run_folder(*VANILLA, word))
        assert (numbers["n"], numbers["answered"], len(toy_runs.reader_prompts)) == (6, n, n)
        assert ("accuracy" in numbers["metrics"]) == (n > 0)
        assert numbers["metrics"]["evidence_recall@2"]["n"] == 5


def test_graph_per_partition_retrieves_within_the_scope(home):
    corpus = [{"id": f"{book}{name}", "text": f"{name} met Carl in {book}.", "scope": book}
              for book in "12" for name in ("Anna", "Bert")]  # fmt: skip
    questions = [{"id": book, "text": "Who met Bert?", "scope": book} for book in "12"]
    write_set(home / "books", corpus, questions)
    words = ["dataset=jsonl", "dataset.root=books", *TOY[1:], "answer=off"]
    for method in ("vanilla", "hipporag"):
        rows = records(run_folder(*words, f"method={method}", "graph.per=partition"))
        assert [set(row["documents"]) for row in rows] == [{"1Anna", "1Bert"}, {"2Anna", "2Bert"}]


class Moody(Scripted):
    """A reader that is right in its first repeat only."""

    def call(self, request):
        text = "Ada Marsh" if request.trial == 0 else "I forgot"
        return Completion(text, prompt_tokens=5, completion_tokens=2, model="moody")


def moody(replies=None):
    return Moody(replies or {})


MOODY = [f"llm._target_={__name__}.moody" if "llm._t" in word else word for word in TOY]


def test_repeats_resume_keep_earlier_answers_and_are_in_the_budget():
    first = run_folder(*VANILLA)
    before, used = (first / "records.jsonl").read_bytes(), metrics(first)["usage"]
    budget = f"budget.tokens={round(1.5 * (used['prompt_tokens'] + used['completion_tokens']))}"
    assert "answer=on" in run_error(*VANILLA, "answer=off", "repeats=2")
    assert "budget.tokens" in run_error(*VANILLA, "repeats=3", budget, exit_code=1)
    toy_runs.reader_prompts.clear()
    assert run_folder(*VANILLA, "repeats=3") == first
    assert metrics(first)["repeats"]["cost"]["paid"]["calls"] == 12 > len(toy_runs.reader_prompts)
    assert (first / "records.jsonl").read_bytes() == before
    file = first / "trial-1" / "records.jsonl"
    whole = file.read_text()
    file.write_text("".join(whole.splitlines(keepends=True)[:4]))
    toy_runs.reader_prompts.clear()
    run_folder(*VANILLA, "repeats=2", "cache.mode=off")  # resumes a cut repeat
    assert (len(toy_runs.reader_prompts), file.read_text()) == (2, whole)


def test_mean_and_spread_over_repeats_of_all_questions():
    """One of five questions is right in the first of three repeats: mean 1/15."""
    words = [*MOODY, "method=vanilla"]
    folder = run_folder(*words, "repeats=2", "limit=3")
    repeats = metrics(folder)["repeats"]
    assert metrics(run_folder(*words, "limit=3"))["repeats"] == repeats
    assert " ±" in toy_runs.table_of(folder)
    wider = metrics(run_folder(*words))
    assert (wider["n"], wider["repeats"]["n"], wider["repeats"]["questions"]) == (6, 2, 3)
    assert " ±0" not in toy_runs.table_of(folder)
    repeats = metrics(run_folder(*words, "repeats=3"))["repeats"]
    assert repeats["changed"] == 6 and "evidence_recall@2" not in repeats["metrics"]
    accuracy = repeats["metrics"]["accuracy"]
    assert accuracy["values"] == [0.2, 0.0, 0.0]
    assert accuracy["mean"] == pytest.approx(1 / 15, abs=1e-6)
    assert accuracy["spread"] == pytest.approx(0.2 / 3**0.5, abs=1e-6)
    assert "0.067 ±0.115 (5 of 6)" in toy_runs.table_of(folder)
