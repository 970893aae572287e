"""Import of external results in every format, and export."""

import json
from dataclasses import replace

import pytest
from toy_runs import TOY, run_folder

from graphrag_bench.config.settings import DatasetSettings
from graphrag_bench.data.rankings import read_rankings
from graphrag_bench.data.readers import read_dataset
from graphrag_bench.errors import UserError
from graphrag_bench.run.imported import QRELS, TREC, export_trec, import_run
from graphrag_bench.run.stored import find_run

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


@pytest.mark.parametrize(
    "text",
    ["q1 Q0 isk 3 0.1 x\nq1 Q0 lund 2 0.5 x\nq1 Q0 ada 2 0.5 x\n\nq1 Q0 norvik 1 7 x\n",
     '{"q1": {"isk": 0.1, "norvik": 7, "lund": 0.5, "ada": 0.5}}'],
)  # fmt: skip
def test_imported_documents_with_equal_scores_share_a_rank(tmp_path, text):
    run = imported(tmp_path, text)
    assert run.rows["q1"]["documents"] == ["norvik", "lund", "ada", "isk"]
    assert run.rows["q1"]["ranks"] == [1, 2, 2, 3]
    assert run.scores["q1"]["mrr"] == 0.5
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


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("q1 Q0 ada 1 0.5", "line 1"), ("q9 Q0 ada 1 0.5 tag", "q9"), ('{"q1": "ada"}', "q1"),
        ('{"question": "q1"}', "'documents'"), ("[1]", "item 0"), ("", "empty"),
        ("q1 Q0 ada 1 0.1 tag\nq1 Q0 isk 2 0.1 tag\nq1 Q0 lund 2 0.9 tag", "q1"),
        ('{"question": "q1", "docs": ["ada"], "doc_scores": [0.1, 0.9]}', "item 0.*score"),
        ('{"question": "q1", "docs": ["ada"], "doc_scores": ["nan"]}', "item 0.*doc_scores.*nan"),
        ('{"q1": {"ada": 0.5, "isk": "high"}}', "q1.*isk"),
        ('{"question": "q1", "docs": []}\n{"question": "q2", "docs": [], "answer": {"a": 1}}',
         "line 2.*q2"),
        ('{"question": "q1", "docs": [], "answer": ["Ada", "Otto"]}', "q1"),
    ],
)  # fmt: skip
def test_invalid_results_file_is_named_with_the_line(tmp_path, text, name):
    with pytest.raises(UserError, match=name):
        imported(tmp_path, text)


def test_export_and_import_keep_scores(tmp_path):
    words = [*TOY, "method=bm25", "reference_rows=off", "answer=off", f"paths.home={tmp_path}"]
    own = find_run(str(run_folder(*words)), tmp_path)
    assert export_trec(own, tmp_path / "trec") == 6
    again = import_run(tmp_path / "trec" / TREC, "again", TOY_SET, tmp_path)
    assert documents(again) == documents(own)
    one, other = (run.metrics["metrics"] for run in (own, again))
    assert len(other) == 10 and other.items() <= one.items()


def test_recall_mrr_and_ndcg_equal_those_of_trec_eval(tmp_path):
    """The rankings have all documents in arbitrary order."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    names = ["isk", "ada", "mira", "tarn", "lund", "velia", "otto", "norvik"]
    order = {f"q{n}": names[n:] + names[: n - 1] for n in range(1, 7)}
    exported = imported(tmp_path, json.dumps(order))
    export_trec(exported, tmp_path)
    with (tmp_path / TREC).open() as run, (tmp_path / QRELS).open() as qrels:
        ranked, wanted = pytrec_eval.parse_run(run), pytrec_eval.parse_qrel(qrels)
    theirs = {"recall": "evidence_recall@{}", "ndcg_cut": "ndcg@{}"}
    measures = {f"{name}.2,5,10" for name in theirs} | {"recip_rank"}
    values = pytrec_eval.RelevanceEvaluator(wanted, measures).evaluate(ranked)
    assert sorted(values) == ["q1", "q2", "q3", "q4", "q5"]
    for question, value in values.items():
        ours = exported.scores[question]
        expected = {"recip_rank": ours["mrr"]} | {
            f"{name}_{k}": ours[own.format(k)] for name, own in theirs.items() for k in (2, 5, 10)
        }
        assert value == pytest.approx(expected, abs=1e-9)
