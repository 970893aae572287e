"""Stored rows and gold to metrics, by hand."""

import pytest

from graphrag_bench.data.dataset import Gold
from graphrag_bench.evaluation.answers import Reading
from graphrag_bench.run.scoring import Scoring, question_scores, score

WHOLE_WORDS = Scoring(reading=Reading(containment="token_boundary"))
GOLD = {
    "two": Gold(answers=("Ada Marsh", "Marsh"), evidence=("a", "b")),
    "one": Gold(answers=("Norvik",), evidence=("c",)),
    "abstract": Gold(),
}


def row(question: str, status: str = "answered", **more) -> dict:
    counts = {"calls": 1, "prompt_tokens": 100, "completion_tokens": 10, "steps": {}}
    return {"question": question, "status": status, **counts, **more}


def failed(question: str, message: str = "unlucky") -> dict:
    error = {"step": "retrieve.0 node.ppr", "kind": "ZeroDivisionError", "message": message}
    return row(question, "failed", error=error)


def means(*rows: dict, **settings) -> dict[str, float]:
    metrics = score(rows, GOLD, [], **settings)["metrics"]
    return {name: metric["mean"] for name, metric in metrics.items()}


def test_the_share_of_answers_that_were_cut_is_that_of_the_answered_questions():
    rows = [row("two", answer="Ada", answer_cut=True), row("one", answer="N"), failed("abstract")]
    assert score(rows, GOLD, [])["answers_cut"] == 0.5
    assert score([failed("two")], GOLD, [])["answers_cut"] == 0.0


# ---- one question


def test_evidence_is_scored_at_every_cut():
    found = question_scores(
        row("two", documents=["x", "a", "y", "b"]), GOLD["two"], Scoring(cuts=(2, 4))
    )
    assert found == {
        "evidence_recall@2": 0.5,
        "all_evidence@2": 0.0,
        "ndcg@2": pytest.approx(0.6309 / (1 + 0.6309), abs=1e-4),
        "evidence_recall@4": 1.0,
        "all_evidence@4": 1.0,
        "ndcg@4": pytest.approx((0.6309 + 0.4307) / (1 + 0.6309), abs=1e-4),
        "mrr": 0.5,
    }


def test_an_answer_is_scored_against_the_nearest_alias():
    found = question_scores(row("two", answer="It was the Marsh."), GOLD["two"])
    assert found["accuracy"] == 1.0
    assert found["recall"] == 1.0
    assert found["exact_match"] == 0.0
    assert found["f1"] == pytest.approx(0.5)  # it, was, marsh against marsh


def test_the_way_of_containment_is_chosen():
    gold = Gold(answers=("no",))
    known = row("q", answer="I know")
    assert question_scores(known, gold)["accuracy"] == 1.0
    assert question_scores(known, gold, WHOLE_WORDS)["accuracy"] == 0.0


def test_what_cannot_be_scored_is_left_out():
    abstract = row("abstract", answer="Rivers.", documents=["a"])
    assert question_scores(abstract, GOLD["abstract"]) == {"answer_words": 1.0, "abstained": 0.0}
    assert set(
        question_scores(row("one", "retrieved", documents=["c"]), GOLD["one"], Scoring(cuts=(2,)))
    ) == {
        "evidence_recall@2",
        "all_evidence@2",
        "ndcg@2",
        "mrr",
    }


def test_evidence_is_cut_when_it_was_packed_off_and_nothing_of_its_document_was_kept():
    def cut(kept: list[str], off: list[str]) -> float:
        pieces = [{"kind": "chunk", "id": name, "score": 1.0, "tokens": 3} for name in kept]
        context = {"pieces": pieces, "cut": [["chunk", name] for name in off] + [["node", "b"]]}
        return question_scores(row("two", context=context), GOLD["two"])["evidence_cut"]

    assert cut(["a"], ["x", "b"]) == 1.0
    assert cut(["a", "b"], ["b", "x"]) == 0.0
    assert cut(["x"], ["y"]) == 0.0  # not retrieved at all; the node of that name is not a document


# ---- a run


def test_means_are_over_the_questions_that_have_the_metric():
    rows = (
        row("two", answer="Ada Marsh", documents=["a", "x"]),
        row("one", "retrieved", documents=["c", "x"]),
        row("abstract", answer="Rivers."),
    )
    found = score(rows, GOLD, [], Scoring(cuts=(2,)))
    assert (found["n"], found["failed"], found["answered"]) == (3, 0, 2)
    assert found["metrics"]["evidence_recall@2"]["mean"] == 0.75
    assert found["metrics"]["evidence_recall@2"]["n"] == 2
    assert found["metrics"]["exact_match"] == {"mean": 1.0, "low": 1.0, "high": 1.0, "n": 1}


def test_failed_questions_are_counted_and_not_averaged():
    found = score([row("one", answer="Norvik"), failed("two")], GOLD, [])
    assert (found["n"], found["failed"]) == (2, 1)
    assert found["metrics"]["accuracy"] == {"mean": 1.0, "low": 1.0, "high": 1.0, "n": 1}


def test_an_interval_encloses_its_mean():
    gold = {f"q{i}": Gold(answers=("yes",)) for i in range(20)}
    rows = [row(name, answer="yes" if i % 4 else "no") for i, name in enumerate(gold)]
    metric = score(rows, gold, [])["metrics"]["accuracy"]
    assert metric["mean"] == 0.75
    assert 0.5 < metric["low"] < 0.75 < metric["high"] < 1.0


def test_no_rows_give_no_metrics():
    found = score([], GOLD, [])
    assert (found["n"], found["metrics"]) == (0, {})
    assert found["usage"]["seconds_per_question"] == 0.0


def test_errors_are_counted_the_most_frequent_first():
    rows = [
        failed("one", "rare"),
        failed("two", "often\nand a second line"),
        failed("three", "often"),
    ]
    assert score(rows, GOLD, [])["errors"] == [
        "2 x retrieve.0 node.ppr: often",
        "1 x retrieve.0 node.ppr: rare",
    ]


def test_shares_of_calls_that_went_wrong_are_given_by_step():
    rows = [
        row("one", steps={"convert.0": {"calls": 3, "unreadable": 2, "fallbacks": 1}}),
        row("two", steps={"convert.0": {"calls": 1}, "generate.0": {"calls": 1}}),
    ]
    rates = score(rows, GOLD, [])["rates"]
    assert rates["convert.0"] == {
        "calls": 4,
        "failed": 0.0,
        "truncated": 0.0,
        "unreadable": 0.5,
        "corrected": 0.0,
        "fallbacks": 0.25,
    }
    assert rates["generate.0"]["calls"] == 1


def test_usage_sums_calls_and_tokens():
    pieces = [{"kind": "chunk", "id": "a", "score": 1.0, "tokens": 30}] * 2
    rows = [row("one", context={"pieces": pieces, "cut": []}), row("two", "retrieved")]
    usage = score(rows, GOLD, [])["usage"]
    assert (usage["calls"], usage["prompt_tokens"], usage["completion_tokens"]) == (2, 200, 20)
    assert usage["context_tokens_per_question"] == 60.0
    assert usage["tokens_per_question"] == 110.0


def test_the_digest_of_contexts_is_that_of_their_pieces_and_room_is_what_was_left_of_cut_kinds():
    """One of the two contexts is cut and holds two chunks and a path: there is room for both."""
    chunk, path = ({"kind": kind, "id": "a", "tokens": 9} for kind in ("chunk", "path"))
    cut = {"pieces": [chunk, chunk, path], "cut": [["chunk", "b"], ["chunk", "c"]]}
    rows = [row("one", context=cut), row("two", context={"pieces": [chunk], "cut": []})]
    held = score(rows, GOLD, [])["contexts"]
    assert held["room"] == {"chunk": 2.0}
    scored = [{**piece, "score": 2.0} for piece in cut["pieces"]]
    again = [rows[1], row("one", context={**cut, "pieces": scored}, answer="another")]
    assert score(again, GOLD, [])["contexts"] == held
    longer = [{**chunk, "tokens": 10}, chunk, path]
    other = [rows[1], row("one", context={**cut, "pieces": longer})]
    assert score(other, GOLD, [])["contexts"]["digest"] != held["digest"]
    assert score([row("one", context={"pieces": [], "cut": []})], GOLD, [])["contexts"] == {}


def test_what_failed_questions_have_cost_is_in_the_usage_too():
    rows = [row("one"), {**failed("two", "late"), "calls": 3, "prompt_tokens": 70}]
    usage = score(rows, GOLD, [])["usage"]
    assert (usage["calls"], usage["prompt_tokens"]) == (4, 170)


def test_a_question_takes_the_seconds_of_its_last_try():
    timing = [
        {"question": "one", "step": "retrieve.0", "seconds": 9.0},
        {"question": "one", "step": "retrieve.0", "seconds": 1.0},
        {"question": "one", "step": "generate.0", "seconds": 2.0},
        {"question": "not asked for", "step": "retrieve.0", "seconds": 5.0},
    ]
    rows = [row("one", answer="x"), row("two", answer="x")]
    assert score(rows, GOLD, timing)["usage"]["seconds_per_question"] == 1.5


# ---- listed answers


def test_a_card_chooses_the_metrics_of_its_set():
    gold = Gold(answers=("Norvik",), in_graph=True)
    answered = row("q", answer="It is\nans: Norvik F.C.\nans: Ostra")
    scoring = Scoring(("accuracy", "kgqa"), {"q": "Which team?"})
    found = question_scores(answered, gold, scoring)
    assert set(found) == {
        "accuracy", "hit@1", "hit", "list_precision", "list_recall", "list_f1", "hit@1_in_graph",
        "hit_in_graph", "list_precision_in_graph", "list_recall_in_graph", "list_f1_in_graph",
        "answer_words", "abstained",
    }  # fmt: skip
    assert found["hit@1"] == found["hit@1_in_graph"] == 1.0
    assert found["list_precision"] == 0.5
    only_f1 = question_scores(answered, gold, Scoring(("f1",)))
    assert only_f1.keys() == {"f1", "answer_words", "abstained"}


def test_the_means_in_graph_are_over_the_questions_whose_subgraph_holds_an_answer():
    gold = {
        "in": Gold(answers=("Norvik",), in_graph=True),
        "out": Gold(answers=("Ostra",), in_graph=False),
    }
    rows = [row("in", answer="ans: Norvik"), row("out", answer="ans: Norvik")]
    found = score(rows, gold, [], Scoring(("kgqa",)))["metrics"]
    assert (found["hit@1"]["mean"], found["hit@1"]["n"]) == (0.5, 2)
    assert (found["hit@1_in_graph"]["mean"], found["hit@1_in_graph"]["n"]) == (1.0, 1)


def test_the_question_decides_how_an_answer_is_matched():
    gold, answered = Gold(answers=("2014-05-01",)), row("q", answer="ans: 2014")
    when, who = (
        question_scores(answered, gold, Scoring(("kgqa",), {"q": text}))
        for text in ("When was it?", "Who was it?")
    )
    assert (when["hit@1"], who["hit@1"]) == (1.0, 0.0)


def test_questions_of_one_scope_are_drawn_together_for_the_interval():
    """Two scopes of two questions: all of the one is found, nothing of the other."""
    rows = [
        {"question": f"q{n}", "scope": "ab"[n // 2], "status": "retrieved", "documents": found,
         "calls": 0, "prompt_tokens": 0, "completion_tokens": 0}
        for n, found in enumerate((["d"], ["d"], [], []))
    ]  # fmt: skip
    gold = {row["question"]: Gold((), ("d",)) for row in rows}
    held = score(rows, gold, [])["metrics"]["evidence_recall@2"]
    assert held == {"mean": 0.5, "low": 0.0, "high": 1.0, "n": 4, "clusters": 2}
