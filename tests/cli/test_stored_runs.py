"""`runs`, `diff` and `table`: list, score, compare, remove and collect stored runs."""

import csv
import io
import json
import os
import shutil
import time
from pathlib import Path

import pytest
import toy_runs
from toy_runs import TOY, WEIGHTLESS, command, command_error, metrics, output, run_folder, write_set

from graphrag_bench.errors import UserError
from graphrag_bench.locks import lock
from graphrag_bench.report.comparisons import baseline_of
from graphrag_bench.run import cleanup
from graphrag_bench.run.stored import find_run, rescore
from graphrag_bench.run.sweep import find_runs

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("copied")]

QUIET = [*TOY, "reference_rows=off"]
HIPPORAG = [*QUIET, "answer=off", "method=hipporag", "limit=4"]
BUILT = [[*QUIET, "method=bm25"], [*QUIET, "method=vanilla"], HIPPORAG]


def folder(method):
    return next(Path("runs/toy", method).resolve().iterdir())


def again(**changes):
    return rescore(find_run(str(folder("bm25")), "."), changes)


def collectable(home):
    return {str(item.path.relative_to(home)) for item in cleanup.garbage(home)[0]}


def test_the_csv_has_a_row_per_run_and_a_column_per_differing_setting(home):
    listed = {one["method"]: one["n_rows"] for one in json.loads(output("runs", "ls", "--json"))}
    assert listed == {"bm25": 6, "vanilla": 6, "hipporag": 4}
    rows = {row["method"]: row for row in
            csv.DictReader(io.StringIO(output("runs", "ls", "--format", "csv")))}  # fmt: skip
    hipporag = rows["hipporag"]
    assert (rows["bm25"]["limit"], hipporag["limit"], hipporag["n"]) == ("", "4", "4")
    ends = [float(hipporag[f"evidence_recall@5{end}"]) for end in ("_low", "", "_high")]
    assert ends == sorted(ends) and ends[0] > 0 and ends[-1] <= 1
    assert Path(hipporag["folder"]) == folder("hipporag").relative_to(home)
    assert "seed" not in hipporag


def test_table_takes_folders_and_beginnings_of_keys():
    named = [["runs/toy"], [str(folder("bm25"))], [folder("vanilla").name[:8]]]
    assert [len(find_runs(names, ".")) for names in named] == [3, 1, 1]
    runs = {run["method"]: run for run in json.loads(output("table", "runs/toy", "--json"))}
    assert runs["bm25"]["metrics"]["evidence_recall@5"]["n"] == 5


def test_diff_compares_over_common_questions():
    pair = [folder("bm25"), folder("hipporag")]
    values = json.loads(output("diff", *pair, "--json"))
    assert values["metrics"]["evidence_recall@2"]["n"] == 4
    assert {"path": "method.damping", "a": "–", "b": "0.5"} in values["settings"]
    shown = output("diff", *pair)
    assert "method.damping: – -> 0.5" in shown and "gained" in shown


def test_runs_over_different_versions_of_a_corpus_are_not_paired():
    runs = []
    for text in ("Daily.", "Never."):
        corpus = [{"id": "a", "text": f"Una rows. {text}"}, {"id": "b", "text": "Bo sinks."}]
        write_set(Path("mine"), corpus, [{"id": "q", "text": "Who rows?", "evidence": ["a"]}])
        words = ["dataset=jsonl", "dataset.root=mine", *WEIGHTLESS, "answer=off", "method=bm25"]
        runs.append(str(run_folder(*words)))
    assert Path(runs[0]).name in command_error(*runs, name="diff")
    one = {"method": "vanilla", "dataset": "toy", "corpus": "aa"}
    other = {"method": "bm25", "dataset": "toy", "corpus": "bb"}
    assert baseline_of(other, [one, other], "vanilla") is None
    old = {"method": "vanilla", "dataset": "toy"}  # stored without a corpus
    assert baseline_of(other, [one, old, other], "vanilla") is old


def test_check_compares_means_or_ends_of_intervals_and_fails_for_an_unfinished_run():
    path, values = folder("bm25") / "metrics.json", metrics(folder("bm25"))
    path.write_text(json.dumps(values | {"selected": 9, "failed": 1}))
    ended = command("runs", "check", "bm25", "mrr>=0")
    assert ended.code == 3 and "6 of 9" in ended.out and "1 of 6 failed" in ended.out
    assert "CI" not in ended.out  # six questions
    assert "mrr" in command_error("check", "bm25", "mrr>=0", "--interval", name="runs")
    values["metrics"]["evidence_recall@5"] = {"mean": 0.8, "low": 0.6, "high": 0.9, "n": 10}
    values["n"] = values["selected"] = 11
    path.write_text(json.dumps(values))
    for conditions, code in (
        ("{}>=0.8", 0), ("{} >= 0.8 failed<=0", 0), ("{}>=0.81", 3), ("--interval {}>=0.8", 3),
        ("--lower {}<=0.8", 3), ("{}>=0.5 {}<=0.7", 3), ("{}", 2), ("evidence_recal@5>=0.8", 2),
        ("{}>=80%", 2), ("{}>0.8", 2),
    ):  # fmt: skip
        words = conditions.replace("{}", "evidence_recall@5").split()
        ended = command("runs", "check", "bm25", *words)
        assert ended.code == code, conditions
        if code == 2:
            assert "evidence_recall@5" in ended.err and ended.err.count("\n") == 1
        else:
            assert "0.600-0.900, n = 10; 1 of 11 not scored" in ended.out


def test_scoring_again_keeps_costs_and_settings_until_they_change():
    before = metrics(folder("bm25"))
    toy_runs.reader_prompts.clear()
    assert f"scored: {folder('bm25')}" in output("runs", "score", folder("bm25"))
    assert metrics(folder("bm25")) == before and not toy_runs.reader_prompts
    names = again(cuts=[1, 3], normaliser="squad")["metrics"]
    assert "evidence_recall@3" in names and "evidence_recall@5" not in names
    after = again(evidence_tokens=[40])
    assert (after["evaluation"]["cuts"], after["evaluation"]["normaliser"]) == ([1, 3], "squad")
    assert "evidence_at_tokens@40" in after["metrics"]
    assert all(after[name] == before[name] for name in ("cost", "estimate", "settings", "usage"))
    for changes, name in (({"metrics": ["metor"]}, "meteor"),
                          ({"contain": "substring"}, "containment"),
                          ({"cuts": [0]}, "evaluation.cuts")):  # fmt: skip
        with pytest.raises(UserError, match=name):
            again(**changes)
    assert metrics(folder("bm25")) == after


def test_scores_are_compared_with_the_run_of_the_baseline():
    words = ("evaluation.baseline=vanilla", "columns=all", "evaluation.compared=[mrr]")
    shown = output("runs", "score", folder("bm25"), folder("vanilla"), *words)
    rows = shown[shown.index("differences from VanillaRAG") :]
    assert "mrr" in rows and "evidence_recall@5" not in rows


def test_locked_runs_and_other_folders_are_not_removed(home):
    target = folder("bm25")
    outside = shutil.copytree(target, home / "elsewhere" / "toy" / "bm25" / "abc")
    link = target.with_name("abc")
    link.symlink_to(outside)
    for name in (str(outside), str(link), str(home / "runs"), "..", "/", "abc", ""):
        with pytest.raises(UserError):
            cleanup.find_folder(name, home)
    for name in ("run.lock", "run.2-of-3.lock"):
        with lock(target / name), pytest.raises(UserError, match=target.name):
            cleanup.remove_run(target)
    assert (target / "records.jsonl").is_file()


def test_artifacts_of_a_removed_run_are_collected_and_built_again(home):
    target = folder("hipporag")
    records = (target / "records.jsonl").read_bytes()
    (run,) = json.loads((target / "artifacts.json").read_text())["artifacts"]
    own = {f"artifacts/toy/{name}/{key}" for name, key in run["keys"].items()}
    shared = {path for path in own if "chunk_table" in path or "chunk_index" in path}
    assert collectable(home) == set()
    assert command("runs", "rm", str(target)).code == 1 and target.is_dir()
    other = shutil.copytree(target, target.with_name("abc"))
    several = command_error("rm", "hipporag", "--yes", name="runs")
    assert target.name in several and "abc (toy)" in several
    assert command("runs", "rm", "abc", "--yes").code == 0 and not other.exists()
    assert command("runs", "rm", "hipporag", "--yes").code == 0
    assert not target.parent.exists()
    assert collectable(home) == own - shared
    output("runs", "gc", "--delete")
    assert (home / "cache" / "replies.sqlite").is_file()
    assert {path for path in own if (home / path).is_dir()} == shared
    run_folder(*HIPPORAG)
    assert (folder("hipporag") / "records.jsonl").read_bytes() == records


def test_interrupted_builds_are_collected_unless_locked(home):
    written = folder("bm25") / "metrics.json.4711.new"
    written.write_text("{")
    assert collectable(home) == set()
    os.utime(written, (time.time() - 3700, time.time() - 3700))  # an hour ago
    graphs = home / "artifacts" / "toy" / "graph"
    for name in ("aaaa", "bbbb"):
        (graphs / f"{name}.scratch").mkdir()
    with lock(graphs / "aaaa.lock"):
        assert {Path(path).name for path in collectable(home)} == {written.name, "bbbb.scratch"}
