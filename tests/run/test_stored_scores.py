"""Scores of stored and imported runs: one gold, one rule, from any folder and in any format."""

import json
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from toy_runs import TOY, WEIGHTLESS, command, metrics, run_folder, write_set

from graphrag_bench.api import stored_runs
from graphrag_bench.cli.diff import diff_lines
from graphrag_bench.config.compose import compose_settings
from graphrag_bench.config.settings import DatasetSettings
from graphrag_bench.data.rankings import read_rankings
from graphrag_bench.data.readers import read_dataset
from graphrag_bench.errors import UserError
from graphrag_bench.evaluation.metrics import ANSWER_METRICS
from graphrag_bench.report.notes import run_notes
from graphrag_bench.run import stored
from graphrag_bench.run.folder import RunFolder
from graphrag_bench.run.imported import QRELS, TREC, export_trec, import_run
from graphrag_bench.run.stored import StoredRun, find_run, rescore, scores_of, with_one_rule
from graphrag_bench.run.sweep import find_runs

CORPUS = [{"id": name, "text": f"{name.title()} rows. It is {name}."} for name in ("una", "bo")]


def questions(*evidence):
    return [{"id": f"q{n}", "text": "Who is una?", "answers": ["una"], "evidence": [one]}
            for n, one in enumerate(evidence)]  # fmt: skip


@pytest.fixture
def home(tmp_path, monkeypatch):
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    write_set(Path("town"), CORPUS, questions("una", "una"))
    return tmp_path / "work"


def run(method):
    quiet = ["dataset=jsonl", "dataset.root=town", *WEIGHTLESS, "answer=off"]
    return run_folder(*quiet, f"method={method}", "evaluation.cuts=[1,2]")


def recalls(runs, metric="evidence_recall@1"):
    return [run.metrics["metrics"][metric]["mean"] for run in runs]


def test_runs_are_scored_by_the_current_gold_or_refused(home):
    before = run("bm25")
    write_set(Path("town"), CORPUS, questions("bo", "una"))
    after = run("vanilla")
    graded = metrics(before)["metrics"]
    assert graded["evidence_recall@1"]["mean"] == 1.0
    bm25, _ = find_runs(["runs"], ".")
    assert recalls([bm25]) == recalls([find_run(before.name, ".")]) == [0.5]
    assert "gold" in [note.about for note in run_notes([bm25.metrics]) if note.warns]
    assert metrics(before)["metrics"] == graded
    Path("town").rename("city")
    with pytest.raises(UserError, match=str(home / "town")):
        find_runs(["runs"], ".")
    for folder in (before, after):
        stored.relocate(find_run(str(folder), "."), {"root": "city"})
    bm25, vanilla = find_runs(["runs"], ".")
    gold = read_dataset("jsonl", "city").gold_digest
    assert bm25.metrics["gold"] == vanilla.metrics["gold"] == gold
    write_set(Path("other"), [{**CORPUS[0], "text": "Una sinks."}, CORPUS[1]], questions("una"))
    with pytest.raises(UserError, match="other"):
        stored.relocate(bm25, {"root": "other"})
    rescore(bm25, {})
    assert metrics(before)["gold"] == metrics(after)["gold"]
    assert "regraded" not in metrics(before)


def test_runs_are_scored_by_the_rule_of_the_first(home):
    row = json.dumps({"question": "q1", "documents": ["ada"], "answer": "Ada Marshall"})
    first, second = (imported(home, row + end) for end in ("", "\n"))
    rescore(second, {"containment": "token_boundary"})
    again = [find_run(one.folder.path.name, home) for one in (first, second)]
    assert recalls(again, "accuracy") == [1.0, 0.0]
    for pair in (again, again[::-1]):
        same = with_one_rule(pair)
        assert len(set(recalls(same, "accuracy"))) == 1
        assert same[1].metrics["scored_as"].startswith("evaluation.containment=")
        assert "rule" in [note.about for note in run_notes([one.metrics for one in same])]
    assert "  evaluation.containment: substring -> token_boundary" in list(diff_lines(*again))
    assert "evaluation.containment" in stored_runs(home).columns


def test_run_is_read_from_any_folder(home):
    path = run("bm25")
    os.chdir(home.parent)
    assert export_trec(find_run(str(path), "."), Path("both")) == 2
    write_set(home / "town", CORPUS, questions("una", "bo"))
    ended = command("runs", "export", str(path), "--trec", "new", "--beir", "new")
    assert (ended.code, ended.err.count("gold changed")) == (0, 1)
    assert Path("new", QRELS).read_text() == "q0 0 una 1\nq1 0 bo 1\n"
    assert read_dataset("beir", "new").gold["q1"].evidence == ("bo",)
    shutil.rmtree(home / "town")
    with pytest.raises(UserError, match=str(home / "town")):
        find_run(str(path), ".").require_dataset()
    ended = command("runs", "export", str(path), "--trec", "alone")
    assert (ended.code, ended.err.count(f"No {QRELS}")) == (0, 1)
    assert Path("alone", TREC).read_bytes() == Path("both", TREC).read_bytes()
    assert not Path("alone", QRELS).exists()


def test_repeats_are_scored_with_the_data_set_in_the_home(home):
    write_set(home / "data" / "jsonl", CORPUS, questions("una"))
    path = run_folder("dataset=jsonl", *WEIGHTLESS, "method=vanilla", "repeats=2").resolve()
    for place, answer in ((path, "no"), (path / "trial-1", "una")):
        row = json.loads((place / "records.jsonl").read_text())
        (place / "records.jsonl").write_text(json.dumps({**row, "answer": answer}))
    os.chdir(home.parent)  # `home` restores it
    assert scores_of(find_run(str(path), "."))["q0"]["f1"] == 0.5


def test_gold_with_alternatives_is_in_no_qrels(home):
    alternatives = [questions("una")[0], {"id": "q1", "text": "Who?", "evidence": [["una", "bo"]]}]
    write_set(home / "town", CORPUS, alternatives)
    folder = str(run("bm25"))
    for layout in ("trec", "beir"):
        ended = command("runs", "export", folder, f"--{layout}", "out")
        assert ended.code == 2 and not Path("out").exists()
        assert all(one in ended.err for one in ("'q1'", "'una or bo'", layout.upper()))


def test_root_is_relative_to_the_file_of_the_data_set(home):
    (home / "town.yaml").write_text("name: jsonl\nroot: town\n")
    own = compose_settings([f"dataset={home}/town.yaml"])["dataset"]
    assert own == {"name": "jsonl", "root": str(home / "town")}


TOP_K = "method.retrieve.0.top_k"


def ran(method="walk", step=2, cuts=(2, 5), **config):
    own = {"name": method, **config.pop("parameters", {}),
           "retrieve": [{"op": "walk", "top_k": step}]}  # fmt: skip
    run = StoredRun(RunFolder(Path("runs", "toy", method, "key")))
    vars(run)["config"] = {
        "dataset": {"name": "toy", "root": None}, "method": own, "llm": {"_target_": "a.B"},
        "build": {}, "pooling": None, "limit": None, **config,
    }  # fmt: skip
    steps = {"method.retrieve.0.op": "walk", TOP_K: step}
    vars(run)["metrics"] = {"dataset": "toy", "method": method, "llm": "b:1", "settings": steps,
                            "evaluation": {"cuts": list(cuts)}}  # fmt: skip
    return run


SLOW, FAST = (ran(parameters={"damping": value}) for value in (0.1, 0.5))
NAMED = [ran(step=k, parameters={"top_k": k}) for k in (2, 4)]
OTHER = ran("imported-x", imported={"file": "results"})
for group in ("llm", "build", "pooling", "limit"):
    del OTHER.config[group]
OTHER.metrics.update({"llm": "", "settings": {"imported.file": "results"}})


def test_differing_setting_is_a_column():
    for runs, expected in (
        ([], {}), ([ran(seed=1), ran(seed=1.0)], {}),
        ([ran(limit=20), ran()], {"limit": [20, None]}),
        ([ran(build={"graph": {"drop": 0.5}}), ran()], {"build.graph.drop": [0.5, None]}),
        ([ran(dataset={"name": "a", "noise": 0.1}), ran()], {"dataset.noise": [0.1, None]}),
        ([ran(), ran(cuts=[5])], {"evaluation.cuts": ["[2,5]", "[5]"]}),
        ([ran(llm={"_target_": "a.B", "model": "m"}), ran()], {"llm.model": ["m", None]}),
        # what changes no result
        ([ran(workers=4), ran(workers=8, cache={"mode": "off"}, trace="off", objective="f1",
              dataset={"name": "toy", "root": "elsewhere"},
              llm={"_target_": "c.D", "base_url": "http://host", "limits": {"n": 2}})], {}),
        # a parameter is compared between the methods that have it
        ([SLOW, ran("words")], {}),
        ([SLOW, ran("words"), FAST], {"method.damping": [0.1, None, 0.5]}),
        # the setting of a step is a column unless a parameter explains it
        ([ran(step=2), ran(step=4)], {TOP_K: [2, 4]}), (NAMED, {"method.top_k": [2, 4]}),
        ([*NAMED, ran(step=8, parameters={"top_k": 4})],
         {"method.top_k": [2, 4, 4], TOP_K: [2, 4, 8]}),
        ([ran(step=2), ran("words", step=4)], {}),
        # an imported run lacks most settings
        ([OTHER, ran(limit=20)], {}), ([OTHER, ran(limit=20), ran()], {"limit": [None, 20, None]}),
    ):  # fmt: skip
        rows = stored.differing_settings(runs)
        columns = {path: [row[path] for row in rows] for path in (rows or [{}])[0]}
        assert columns == expected


TOY_SET = DatasetSettings(name="toy")
ADA = "Ada Marsh founded the Norvik Observatory in 1901. Ada Marsh was born in Lund Harbour."
LUND = "Lund Harbour is a port on the River Isk. Its lighthouse was painted red in 1888."
Q2 = "Into which sea flows the river on which Lund Harbour lies?"


def imported(tmp_path, text, *, allowed=False):
    file = tmp_path / "results"
    file.write_text(text, encoding="utf-8")
    more = {"reference": "https://example.org/paper", "allow_unmatched": allowed}
    return import_run(file, "Other", TOY_SET, tmp_path, **more)


def documents(run):
    return {name: row["documents"] for name, row in run.rows.items()}


def test_imported_documents_with_equal_scores_share_a_rank(tmp_path):
    trec = "q1 Q0 isk 3 0.1 x\nq1 Q0 lund 2 0.5 x\nq1 Q0 ada 2 0.5 x\n\nq1 Q0 norvik 1 7 x\n"
    for text in (trec, '{"q1": {"isk": 0.1, "norvik": 7, "lund": 0.5, "ada": 0.5}}'):
        run = imported(tmp_path, text)
        assert documents(run) == {"q1": ["norvik", "lund", "ada", "isk"]}
        assert (run.rows["q1"]["ranks"], run.scores["q1"]["mrr"]) == ([1, 2, 2, 3], 0.5)
        assert run.metrics["n"] == 1 and run.metrics["selected"] == 6


def test_imported_rows_may_use_texts_for_ids(tmp_path):
    rows = [{"question": Q2, "docs": [f"Lund  Harbour\n{LUND}", ADA.replace(" ", "\n")],
             "answer": "x"}, {"question": "q1", "documents": ["ada"], "answer": None}]  # fmt: skip
    run = imported(tmp_path, "\n".join(map(json.dumps, rows)))
    assert documents(run) == {"q1": ["ada"], "q2": ["lund", "ada"]}
    assert [run.rows[name]["status"] for name in ("q1", "q2")] == ["retrieved", "answered"]


def test_imported_answers_may_be_numbers_and_lists(tmp_path):
    row = {"question": "q1", "docs": ["ada"], "answer": 1914, "doc_scores": [0.5]}
    assert imported(tmp_path, json.dumps(row)).rows["q1"]["answer"] == "1914"
    thinking = {**row, "answer": "<think>Ada Marsh?</think>Otto"}
    assert imported(tmp_path, json.dumps(thinking)).rows["q1"]["answer"] == "Otto"
    dataset = read_dataset("toy")
    dataset = replace(dataset, card=dataset.card.model_copy(update={"answers": "list"}))
    file = tmp_path / "lists"
    file.write_text(json.dumps(row | {"answer": ["Ada\nMarsh", "Otto"]}))
    assert read_rankings(file, dataset).of["q1"].answer == "ans: Ada Marsh\nans: Otto"


def test_unknown_values_of_an_imported_run_stay_empty(tmp_path):
    run = imported(tmp_path, '{"q1": ["ada"]}')
    assert set(run.metrics["usage"].values()) == {None} and run.metrics["cost"]["steps"] == {}
    named = [run.metrics[name] for name in ("llm", "answer", "role", "method")]
    assert named == ["", "off", "", "imported-other"]
    assert run.metrics["title"] == f"Other (imported {run.metrics['imported']['sha256'][:8]})"


def test_unmatched_passage_keeps_its_rank(tmp_path):
    text = json.dumps({"q1": ["no such text", "ada"]})
    with pytest.raises(UserError, match="no such text"):
        imported(tmp_path, text)
    assert not (tmp_path / "runs").exists()
    run = imported(tmp_path, text, allowed=True)
    assert run.metrics["imported"]["unmatched"] == 1 and run.metrics["imported"]["passages"] == 2
    assert run.scores["q1"]["mrr"] == 0.5


def test_invalid_results_file_is_named_with_the_line(tmp_path):
    for text, name in (
        ("q1 Q0 ada 1 0.5", "line 1"), ("q9 Q0 ada 1 0.5 tag", "q9"), ('{"q1": "ada"}', "q1"),
        ('{"question": "q1"}', "'documents'"), ("[1]", "item 0"), ("", "empty"),
        ("q1 Q0 ada 1 0.1 tag\nq1 Q0 isk 2 0.1 tag\nq1 Q0 lund 2 0.9 tag", "q1"),
        ('{"question": "q1", "docs": ["ada"], "doc_scores": [0.1, 0.9]}', "item 0.*score"),
        ('{"question": "q1", "docs": ["ada"], "doc_scores": ["nan"]}', "item 0.*doc_scores.*nan"),
        ('{"q1": {"ada": 0.5, "isk": "high"}}', "q1.*isk"),
        ('{"question": "q1", "docs": []}\n{"question": "q2", "docs": [], "answer": {"a": 1}}',
         "line 2.*q2"),
        ('{"question": "q1", "docs": [], "answer": ["Ada", "Otto"]}', "q1"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=name):
            imported(tmp_path, text)


def test_export_and_import_keep_scores_which_are_those_of_trec_eval(tmp_path):
    words = [*TOY, "method=bm25", "reference_rows=off", "answer=off", f"paths.home={tmp_path}"]
    own = find_run(str(run_folder(*words)), tmp_path)
    assert export_trec(own, tmp_path / "trec") == 6
    again = import_run(tmp_path / "trec" / TREC, "again", TOY_SET, tmp_path)
    assert documents(again) == documents(own)
    one, other = (run.metrics["metrics"] for run in (own, again))
    assert len(other) == 10 and other.items() <= one.items()
    pytrec_eval = pytest.importorskip("pytrec_eval")
    with (tmp_path / "trec" / TREC).open() as run, (tmp_path / "trec" / QRELS).open() as qrels:
        ranked, wanted = pytrec_eval.parse_run(run), pytrec_eval.parse_qrel(qrels)
    measures = {"recip_rank": "mrr", "recall_2": "evidence_recall@2", "ndcg_cut_5": "ndcg@5"}
    theirs = pytrec_eval.RelevanceEvaluator(wanted, {*measures}).evaluate(ranked)
    assert sorted(theirs) == ["q1", "q2", "q3", "q4", "q5"]
    for question, values in theirs.items():
        ours = {name: own.scores[question][of] for name, of in measures.items()}
        assert values == pytest.approx(ours, abs=1e-9)


def test_metric_of_a_plug_in_is_known_to_stored_runs(home, monkeypatch):
    page = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8")
    (home / "metric_lab.py").write_text(page.split("```python\n")[1].split("```")[0])
    monkeypatch.syspath_prepend(home)
    own = ["plugins=metric_lab", "evaluation.metrics=[first_word]", "llm.replies={una: una}"]
    folder = run_folder("dataset=jsonl", "dataset.root=town", *WEIGHTLESS, "method=bm25", *own)
    del sys.modules["metric_lab"], ANSWER_METRICS["first_word"]  # as in another process
    scores = StoredRun(RunFolder(folder)).scores
    del sys.modules["metric_lab"], ANSWER_METRICS["first_word"]
    assert [one["first_word"] for one in scores.values()] == [1, 1]
    (home / "metric_lab.py").write_text("")
    with pytest.raises(UserError, match="first_word"):
        StoredRun(RunFolder(folder)).scores  # noqa: B018
    rescored = rescore(StoredRun(RunFolder(folder)), {"metrics": ["accuracy"]})
    assert rescored["evaluation"]["metrics"] == ["accuracy"]
