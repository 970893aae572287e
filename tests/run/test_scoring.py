"""Metrics of stored rows, calculated by hand."""

import json
from dataclasses import replace

import pytest

from graphrag_bench.api import dataset
from graphrag_bench.config.settings import EvaluationSettings
from graphrag_bench.data.dataset import Gold
from graphrag_bench.errors import UserError
from graphrag_bench.run.folder import RunFolder
from graphrag_bench.run.judged import judged_rows, judged_scores, judged_values, sort_rows
from graphrag_bench.run.scoring import Scoring, metric_names, question_scores, score

GOLD = {"two": Gold(answers=("Ada Marsh", "Marsh"), evidence=("a", "b")),
        "one": Gold(answers=("Norvik",), evidence=("c",)), "abstract": Gold()}  # fmt: skip


def row(question, status="answered", **more):
    counts = {"calls": 1, "prompt_tokens": 100, "completion_tokens": 10, "steps": {}}
    return {"question": question, "status": status, **counts, **more}


def failed(question, **more):
    error = {"step": "retrieve.0 node.ppr", "kind": "ZeroDivisionError", "message": "unlucky"}
    return row(question, "failed", error=error, **more)


def packed(*pieces, **documents):
    """Return a context of pieces (kind, id, tokens); `documents` by the id of a piece."""
    rows = [{"kind": kind, "id": name, "score": 1.0, "tokens": n}
            | ({"documents": documents[name]} if name in documents else {})
            for kind, name, n in pieces]  # fmt: skip
    return {"pieces": rows, "cut": []}


def test_evidence_metrics_at_each_cutoff():
    ranked = row("two", documents=["x", "a", "y", "b"])
    ndcg = {"ndcg@2": 0.6309 / (1 + 0.6309), "ndcg@4": (0.6309 + 0.4307) / (1 + 0.6309)}
    at = EvaluationSettings(cuts=[2, 4])
    assert question_scores(ranked, GOLD["two"], Scoring(evaluation=at)) == {
        "evidence_recall@2": 0.5, "all_evidence@2": 0.0, "evidence_recall@4": 1.0,
        "all_evidence@4": 1.0, "mrr": 0.5,
        **{name: pytest.approx(value, abs=1e-4) for name, value in ndcg.items()},
    }  # fmt: skip


def test_evidence_cut_counts_documents_that_the_budget_removed():
    def cut(inside, off):
        context = packed(*(("chunk", name, 3) for name in inside))
        context |= {"cut": [["chunk", name] for name in off] + [["node", "b"]]}
        return question_scores(row("two", context=context), GOLD["two"])["evidence_cut"]

    assert cut(["a"], ["x", "b"]) == 1.0
    assert cut(["a", "b"], ["b", "x"]) == 0.0
    assert cut(["x"], ["y"]) == 0.0  # not retrieved at all; the node of that name is not a document


def test_means_cover_questions_with_the_metric_that_did_not_fail():
    rows = (
        row("two", answer="Ada Marsh", answer_cut=True, documents=["a", "x"]),
        row("one", "retrieved", documents=["c", "x"]),
        row("abstract", answer="Rivers."),
        failed("two", documents=["a", "b"]),
    )
    scores = score(rows, GOLD, [], Scoring(evaluation=EvaluationSettings(cuts=[2])))
    counts = [scores[name] for name in ("n", "failed", "answered", "answers_cut")]
    assert counts == [4, 1, 2, 0.5]
    recall = scores["metrics"]["evidence_recall@2"]
    assert (recall["mean"], recall["n"]) == (0.75, 2)
    assert scores["metrics"]["exact_match"] == {"mean": 1.0, "low": 1.0, "high": 1.0, "n": 1}
    assert scores["usage"]["calls"] == 4


def test_shares_of_failed_calls_by_step():
    rows = [
        row("one", steps={"convert.0": {"calls": 3, "unreadable": 2, "fallbacks": 1}}),
        row("two", steps={"convert.0": {"calls": 1}, "generate.0": {"calls": 1}}),
    ]
    rates = score(rows, GOLD, [])["rates"]
    none = {"failed": 0.0, "truncated": 0.0, "corrected": 0.0}
    assert rates["convert.0"] == {"calls": 4, **none, "unreadable": 0.5, "fallbacks": 0.25}
    assert rates["generate.0"]["calls"] == 1


def test_usage_sums_calls_and_takes_seconds_of_the_last_try():
    tries = (("one", "retrieve.0", 9.0), ("one", "retrieve.0", 1.0), ("one", "generate.0", 2.0),
             ("not asked for", "retrieve.0", 5.0))  # fmt: skip
    timing = [dict(zip(("question", "step", "seconds"), one, strict=True)) for one in tries]
    context = packed(("chunk", "a", 30), ("chunk", "a", 30))
    usage = score([row("one", context=context), row("two", "retrieved")], GOLD, timing)["usage"]
    assert usage.items() >= {
        "calls": 2, "prompt_tokens": 200, "completion_tokens": 20, "tokens_per_question": 110.0,
        "context_tokens_per_question": 60.0, "seconds_per_question": 1.5,
    }.items()  # fmt: skip


def test_digest_and_room_of_contexts():
    def contexts(tokens, *, answer="x"):
        cut = packed(("chunk", "a", tokens), ("chunk", "a", 9), ("path", "a", 9))
        cut |= {"cut": [["chunk", "b"], ["chunk", "c"]]}
        rows = [row("one", context=cut, answer=answer), row("two", context=packed())]
        return score(rows, GOLD, [])["contexts"]

    assert contexts(9)["room"] == {"chunk": 2.0}
    assert contexts(9, answer="another") == contexts(9)
    assert contexts(10)["digest"] != contexts(9)["digest"]
    assert score([row("one", context=packed())], GOLD, [])["contexts"] == {}


def test_interval_resamples_whole_scopes():
    """Two scopes of two questions, with recall 1 and recall 0."""
    rows = [row(f"q{n}", "retrieved", scope="ab"[n // 2], documents=["d"] if n < 2 else [])
            for n in range(4)]  # fmt: skip
    gold = {one["question"]: Gold((), ("d",)) for one in rows}
    interval = score(rows, gold, [])["metrics"]["evidence_recall@2"]
    assert interval == {"mean": 0.5, "low": 0.0, "high": 1.0, "n": 4, "clusters": 2}


def test_metrics_follow_from_card_settings_and_gold():
    toy, own = dataset("toy"), EvaluationSettings(metrics=["meteor", "f1"])
    for gold, more in (
        (Gold(), ()), (Gold(("x",), options=("x", "y"), correct=0), ("multiple_choice",)),
        (Gold(sub_answers=(("x",), ("y",))), ("strrec", "strem", "strhit")),
    ):  # fmt: skip
        names = metric_names(replace(toy, gold={**toy.gold, "q1": gold}), own)
        assert names == ("accuracy", "recall", "exact_match", "f1", *more, "meteor")


def test_evidence_at_tokens_counts_the_first_tokens():
    def evidence(*pieces, **documents):
        line = row("two", context=packed(*pieces, **documents))
        at = EvaluationSettings(evidence_tokens=[50, 90, 110])
        scores = question_scores(line, GOLD["two"], Scoring(evaluation=at))
        inside = [scores[f"evidence_at_tokens@{n}"] for n in (50, 90, 110)]
        return [*inside, scores["evidence_in_context"]]

    chunks = ("chunk", "a", 60), ("node", "n", 30), ("chunk", "b", 20)
    assert evidence(*chunks, n=[]) == [0.0, 0.5, 1.0, 1.0]
    path = ("node", "a", 30), ("path", "p", 40), ("chunk", "b", 20)
    assert evidence(*path, a=[], p=["a", "x"]) == [0.0, 1.0, 1.0, 1.0]
    assert evidence(*path[:2], a=[], p=["a"]) == [0.0, 0.5, 0.5, 0.5]


def test_evidence_is_unknown_for_pieces_without_documents():
    nodes = question_scores(row("two", context=packed(("node", "a", 9))), GOLD["two"])
    assert set(nodes) == {"evidence_cut"}
    empty = question_scores(row("two", context=packed()), GOLD["two"])
    assert empty["evidence_in_context"] == empty["answer_in_context"] == 0.0
    assert empty["evidence_at_tokens@500"] == 0.0


def test_answer_and_spans_are_searched_in_context_texts():
    line = row("q", context=packed(("chunk", "a", 60), ("relationship", "7", 30)))
    gold = Gold(answers=("Ada Marsh",), spans=("Ada Marsh was born in Lund.", "Lund is old."))
    texts = {"q": ["Ada Marsh was born in Lund. She left.", "Ada Marsh, left, Lund"]}
    at = EvaluationSettings(evidence_tokens=[50, 60])
    scores = question_scores(line, gold, Scoring(texts=texts, evaluation=at))
    assert (scores["answer_in_context"], scores["spans_in_context"]) == (1.0, 0.5)
    assert (scores["spans_at_tokens@50"], scores["spans_at_tokens@60"]) == (0.0, 0.5)
    assert question_scores(line, gold) == {}
    one_is_unknown = Scoring(texts={"q": [None, "Ada Marsh, left, Lund"]})
    scores = question_scores(line, gold, one_is_unknown)
    assert (scores["answer_in_context"], scores["spans_in_context"]) == (1.0, 0.0)


def judged(folder, *rows):
    (folder / "judged.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    return judged_scores(RunFolder(folder))


def verdict(question, value, metric="judged_correct"):
    return {"question": question, "metric": metric, "value": value, "model": "any"}


def test_last_judgement_of_each_judge_counts_and_an_invalid_one_is_named(tmp_path):
    assert judged_scores(RunFolder(tmp_path)) == judged(tmp_path) == {}
    last = [verdict("one", 0), verdict("two", None), verdict("one", 1)]
    name = "judged_correct"
    assert judged(tmp_path, *last) == {"one": {name: 1.0}, "two": {name: None}}
    two = [{**verdict("one", 1), "judge": "big"}, {**verdict("one", 0.5, "faith"), "judge": "big"},
           {**verdict("one", 0), "judge": "small"}]  # fmt: skip
    values = {f"{name} by big": 1.0, f"{name} by small": 0.0, "faith": 0.5}
    assert judged(tmp_path, *two) == {"one": values}
    for wrong, name in (
        ({"question": "one", "value": 1}, "row 1: .*metric"), (verdict(["one"], 1), "row 1"),
        (verdict("one", 2), "row 1: value 2"), (verdict("one", 1, "accuracy"), "'accuracy'"),
        (verdict("one", True), "True"), (verdict("one", 1, "evidence_recall@5"), "evidence"),
        ({**verdict("one", 1), "judge": ["a"]}, "judge"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=name):
            judged(tmp_path, wrong)
        with pytest.raises(UserError, match=name):
            judged_rows(tmp_path)


def test_row_of_another_program_needs_no_judge(tmp_path):
    judged(tmp_path, verdict("one", 0), verdict("one", 1))
    rows = sort_rows(judged_rows(tmp_path), ["one"], [])
    assert judged_values(rows) == {"": {"judged_correct": {"one": 1}}}


def test_unreadable_judgement_is_missing():
    rows = [row("one", answer="Norvik"), row("two", answer="Marsh"), failed("three")]
    verdicts = {"one": {"correct": 1.0}, "two": {"correct": None}, "three": {"correct": None}}
    scores = score(rows, GOLD, [], Scoring(judged=verdicts))
    assert (scores["metrics"]["correct"]["n"], scores["missing"]) == (1, {"correct": 1})


def test_long_answers_are_flagged():
    names = "Norvik, Lund, Ostra, Ada Marsh, Kessel, Tarn, Brandt, Elm"
    everything = " and ".join([names] * 3)
    long = score([row("one", answer=everything), row("two", answer=everything)], GOLD, [])
    assert long["lengths"] == {"answer_words": 29.0, "gold_words": 1.5}
    assert len(long["flags"]) == 1 and "29 words" in long["flags"][0]
    wanted = " ".join(f"word{n}" for n in range(40))  # as long as its gold
    for answer, gold in (("Kessel " * 40, "Norvik"), (f"{wanted} more", wanted)):
        assert score([row("q", answer=answer)], {"q": Gold((gold,))}, [])["flags"] == []
