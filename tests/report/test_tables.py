"""Tables of runs: titles, columns, main metric, differences, costs and notes."""

import re

import pytest

from graphrag_bench.errors import UserError
from graphrag_bench.report import tables
from graphrag_bench.report.comparisons import ScoredRun, comparisons
from graphrag_bench.report.notes import long_text_notes, run_notes
from graphrag_bench.report.rendering import MISSING
from graphrag_bench.report.rows import REFERENCE, best_run, in_table_order, selection_mark

MEAN = {"mean": 0.25, "low": 0.0, "high": 0.5, "n": 4}


def cost(usd=0.0):
    part = {"calls": 2, "prompt_tokens": 1200, "completion_tokens": 30, "usd": usd, "retries": 1}
    return {"steps": {"generate.0 x": {"paid": part, "cached": part, "truncated": 3}},
            "mixed": False}  # fmt: skip


def run(title="VanillaRAG", **fields):
    """The `metrics.json` of a run with four questions."""
    stored = {
        "title": title, "role": "", "profile": "default", "fidelity": "default",
        "dataset": "toy", "key": "0123456789ab", "limit": None, "method": title.lower(),
        "answer": "on", "n": 4, "selected": 4, "failed": 0, "answered": 4, "errors": [],
        "rates": {},
        "metrics": {"evidence_recall@2": MEAN, "accuracy": MEAN, "f1": MEAN, "exact_match": MEAN},
        "usage": {"tokens_per_question": 10.0, "context_tokens_per_question": 0.0},
        "cost": {"steps": {}, "mixed": False}, "estimate": {}, "settings": {}, "llm": "model",
        "llm_build": "", "embedder": "hashing", "extraction": "", "extraction_statistics": {},
        "commit": "abc", "tokenizer": "cl100k",
    }  # fmt: skip
    return stored | fields


def with_context(title, n_tokens, **fields):
    usage = {"tokens_per_question": 10.0, "context_tokens_per_question": n_tokens}
    return run(title, usage=usage, **fields)


def cells(result, head):
    return [row[result.heads.index(head)] for row in result.rows]


def damped(n, deep, **fields):
    return run("V", settings={"method.damping": n, "method.retrieve.1.damping": deep}, **fields)


def test_titles_have_the_settings_that_differ():
    for runs, wanted in (
        ([run("oracle", role="ceiling"), run("V"), run("V", dataset="sample")],
         ["toy: V", "toy: oracle", "sample: V"]),
        ([damped(0.3, 0.3), damped(0.5, 0.5)], ["V damping=0.3", "V damping=0.5"]),
        ([damped(0.3, 0.3), damped(0.3, 0.5)],
         ["V retrieve.1.damping=0.3", "V retrieve.1.damping=0.5"]),
        ([run("V", llm="a"), run("V", llm="b")], ["V llm=a", "V llm=b"]),
        ([run("V", key="aa"), run("V", key="bb")], ["V aa", "V bb"]),
        ([damped(0.3, 0.3, fill_context=one) for one in ("on", "off")],
         ["V fill_context=on", "V fill_context=off"]),
        ([run("HopRAG", verified="false"), run("IRCoT", verified="partly"), run("V")],
         ["HopRAG (?)", "IRCoT (?)", "V"]),
        ([run("A", varied="top_k=4"), run("V")], ["A top_k=4", "V (reference)"]),
    ):  # fmt: skip
        assert [one["title"] for one in in_table_order(runs)] == wanted


def test_the_caption_has_the_budgets_and_rows_are_grouped_by_budget():
    budgeted = with_context("B", 1.0, budget_context=2400)
    table = tables.run_table([with_context("A", 1.0), budgeted, with_context("C", 1.0)])
    assert "native, 2,400 tokens for all" in table.caption
    assert [row[0] for row in table.rows] == ["A", "C", "B"]
    mixed = tables.run_table([run("A"), run("B", regime="published")])
    assert mixed.caption == "toy (regime: house, published; limit: all)"
    assert cells(mixed, "regime") == ["house", "published"]


def test_a_column_is_shown_if_any_run_has_a_value():
    spread = {"accuracy": {**MEAN, "mean": 0.3, "spread": 0.0216, "values": [0.28, 0.31, 0.32]}}
    of_run = [
        (run(metrics={"accuracy": MEAN}), run(metrics={"accuracy": MEAN, "f1": MEAN}),
         {"F1 [95 %]": [MISSING, "0.250"], "EM [95 %]": None}),
        (run(role="floor"), with_context("packed", 1834.4, metrics={"evidence_cut": MEAN}),
         {"cut [95 %]": [MISSING, "0.250"], "context": [MISSING, "1834"]}),
        (run(repeats={"n": 3, "questions": 4, "changed": 2, "metrics": spread}), run(),
         {"accuracy [95 %]": ["0.300 ±0.022", "0.250"]}),
        (run(metrics={"answer_in_context": MEAN}), run(metrics={"accuracy": MEAN}),
         {"answer in context [95 %]": ["0.250", MISSING]}),
        (run(), run(metrics={"answer_in_context": MEAN}), {"answer in context [95 %]": None}),
        (run(), run(answers_cut=0.25), {"answers cut": ["0.0%", "25.0%"]}),
        (run(), run(answers_cut=0.0), {"answers cut": None, "context": None}),
    ]  # fmt: skip
    for one, other, columns in of_run:
        table = tables.run_table([one, {**other, "title": "other"}])
        for head, wanted in columns.items():
            assert (cells(table, head) if head in table.heads else None) == wanted


BASE, BETTER = [0.0, 0.0, 1.0, 0.0, 0.0, 1.0], [1.0, 1.0, 1.0, 0.0, 1.0, 0.0]


def of_six(title, values=BASE, **fields):
    """A run of six questions with these accuracies."""
    mean = {"mean": sum(values) / len(values), "low": 0.1, "high": 0.9, "n": 6}
    own = {"n": 6, "selected": 6, "answered": 6, "key": title, "values": values, "cost": cost(),
           "metrics": {"evidence_recall@5": mean, "accuracy": mean}}  # fmt: skip
    return with_context(title, 1834.4, **(own | fields))


def compared(runs):
    scored = [
        ScoredRun(one, {f"q{n}": {"accuracy": v, "f1": v} for n, v in enumerate(one["values"])})
        for one in runs
    ]
    return comparisons(scored, "vanilla")


def table(*runs, **settings):
    return tables.headline_table(runs, compared(runs), **settings)


def test_the_headline_table_has_metric_difference_p_context_and_cost():
    oracle = of_six("Oracle", [1.0] * 6, role="ceiling")
    result = table(oracle, of_six("Vanilla"), of_six("Better", BETTER), of_six("Same"))
    assert result.heads == (
        "method", "n", "accuracy [95 %]", "minus Vanilla", "p (Holm, 2 tests)", "context tokens",
        "cost, tokens",
    )  # fmt: skip
    assert result.rows[0] == ("Vanilla", "6", "0.333", MISSING, MISSING, "1,834", "2,460")
    assert cells(result, "minus Vanilla") == [MISSING, "+0.333", "+0.000", MISSING]
    dear = table(of_six("Vanilla"), of_six("Dear", cost=cost(0.25)))
    assert cells(dear, "cost, USD") == ["0.0000", "0.5000"]


def test_the_main_metric_is_that_of_most_questions():
    cuts = {f"evidence_recall@{k}": MEAN for k in (2, 10, 3)}
    inside = {"answer_in_context": MEAN}
    every = ({"accuracy": MEAN, **inside}, cuts | inside, inside, {})
    found = [tables.main_metric([of_six("A", metrics=of)]) for of in every]
    assert found == ["accuracy", "evidence_recall@10", "answer_in_context", "accuracy"]
    recall = {"mean": 0.939, "low": 0.9, "high": 0.97, "n": 60}
    sizes = {"n": 70, "selected": 70, "answered": 5}
    part = of_six("Part", metrics={"accuracy": MEAN, "evidence_recall@5": recall}, **sizes)
    assert cells(table(part), "evidence_recall@5 [95 %]") == ["0.939 [0.90, 0.97] (60 of 70)"]
    whole = of_six("Whole", metrics={"accuracy": {**MEAN, "n": 70}}, **sizes)
    assert tables.main_metric([part, whole]) == "accuracy"
    shown = cells(table(part, whole, metric="accuracy"), "accuracy [95 %]")
    assert shown == ["0.250 (4 of 70)", "0.250 [0.00, 0.50]"]


def test_failed_questions_have_a_column_a_mark_and_a_warning():
    result = table(of_six("Vanilla"), of_six("Failing", failed=2, errors=["2 x a.0: no"]))
    assert cells(result, "failed") == ["0", "2"]
    assert cells(result, "accuracy [95 %]")[1] == "0.333!"
    assert "2 failed" in result.notes[1] and "2 x a.0: no" in result.notes[1]
    errors = [f"{n} x {name}" for n, name in ((3, "a"), (2, "b"), (1, "c"), (1, "d"), (1, "e"))]
    for n, failed, shown in ((2, 5, "3 x a; 2 x b"), (5, 8, "3 x a; 2 x b; 1 x c; and other")):
        note = table(of_six("Failing", failed=failed, errors=errors[:n])).notes[1]
        assert note.startswith(f"! {failed} failed, run again: {shown}")


def test_all_columns_gives_every_table():
    runs = [of_six("Vanilla"), of_six("Better", [1.0] * 6)]
    main, differences, costs = tables.select_tables(runs, compared(runs), columns="all")
    assert "evidence@5 [95 %]" in main.heads and len(differences.rows) == 2
    assert costs.rows[0][:2] == ("Vanilla", "generate.0 x")
    assert "1,200 + 30" in costs.rows[0]
    assert len(tables.select_tables(runs, compared(runs))) == 1
    with pytest.raises(UserError, match="'all'"):
        tables.checked_columns("al")


METRIC = "evidence_recall@5"


def scored(mean, **fields):
    """The fields of `metrics.json` that a selection reads."""
    stored = {"role": "", "failed": 0, "split": "dev", "dev_share": 0.5, "limit": None}
    return {**stored, "metrics": {METRIC: {"mean": mean}}, **fields}


def test_the_best_run_is_the_first_with_the_highest_mean():
    for runs, expected in (
        ([scored(0.4), scored(0.6), scored(0.6), scored(0.5)], (1, 1, 4)),
        ([scored(0.1), scored(1.0, role="ceiling"), scored(0.2)], (2, 0, 2)),
        ([scored(0.9, failed=1), scored(0.2)], (1, 0, 2)),
    ):
        best, selection = best_run(runs, METRIC)
        assert (best, selection["n_equal"], selection["n_configurations"]) == expected
    for left, metric in (([scored(0.9, failed=1)], METRIC), (runs, "evidence_recal@5")):
        with pytest.raises(UserError, match=METRIC):
            best_run(left, metric)


def test_a_run_scored_on_its_selection_split_is_marked():
    """Parts of different divisions share questions."""
    on_dev = {"split": "dev", "dev_share": 0.5, "n_configurations": 50}
    for split, share, n in (("dev", 0.5, "50"), ("test", 0.5, ""), ("all", 0.5, "50"),
                            ("test", 0.3, "50")):  # fmt: skip
        stored = scored(0.5, split=split, dev_share=share, selections=[on_dev])
        assert re.findall(r"\d+", selection_mark(stored)) == [n] * bool(n)
        assert selection_mark({**stored, "selections": [{**on_dev, "n_configurations": 1}]}) == ""


def notes(*runs, about):
    return [note for note in run_notes(runs) if note.about == about]


def priced(title, prices):
    return run(title, prices={"m:1": prices})


def repeated(changed):
    return run("A", repeats={"n": 3, "questions": 4, "changed": changed, "metrics": {}})


FAULTY = {"chunks": 200, "failed_chunks": 1, "malformed_chunks": 0, "cut_chunks": 2,
          "faulty_chunks": 3}  # fmt: skip
SHORT, LONG = with_context("BM25", 600.0), with_context("HippoRAG", 661.0)
BUDGET = {"budget_context": 2400}


def test_a_warning_names_runs_and_numbers_in_the_headline_table():
    for runs, about, named in (
        ([run("One", extraction_statistics=FAULTY), run("B")], "extraction",
         ["1.5% of 200", "1 failed", "0 malformed", "2 cut", ": One"]),
        ([priced("A", "1 / 2"), priced("B", "2 / 4")], "prices", ["1 / 2: A; 2 / 4: B"]),
        ([run("A"), run("B", regime="published")], "regimes", ["house: A; published: B"]),
        ([run("A", flags=["names everything"])], "answers", ["A: names everything"]),
        ([run("A", failed=2)], "failed", []),
        ([run("A", whole_corpus=True)], "whole corpus", ["budget_context"]),
        ([repeated(0)], "repeats", ["A: all 3"]),
        ([SHORT, LONG], "contexts", ["BM25 600", "HippoRAG 66", "budget_context=N"]),
        ([SHORT | BUDGET, LONG | BUDGET], "contexts", ["fill 2,400"]),
        ([SHORT | {"regime": "published"}, LONG], "contexts", ["own k"]),
    ):  # fmt: skip
        found = [note for note in notes(*runs, about=about) if note.warns]
        assert len(found) == 1 and all(words in found[0].text for words in named), found
        assert about == "failed" or str(found[0]) in tables.headline_table(runs).notes


def test_no_warning_without_a_fault():
    for runs, about in (
        ([run("A", extraction_statistics={**FAULTY, "faulty_chunks": 0})], "extraction"),
        ([priced("A", "1 / 2"), priced("B", "1 / 2")], "prices"),
        ([run("A"), run("B")], "regimes"),
        ([SHORT, with_context("HippoRAG", 660.0)], "contexts"),
        ([SHORT, with_context("oracle", 900.0, role="ceiling")], "contexts"),
        ([SHORT, with_context("HippoRAG", 900.0, dataset="sample")], "contexts"),
        ([SHORT, with_context("HippoRAG", 900.0, budget_context=1000)], "contexts"),
        ([run("A", varied="top_k=4", method="a")], REFERENCE),
        ([run("A", method="bm25", verified="true")], "verified"),
    ):
        assert notes(*runs, about=about) == []


def test_equal_contexts_name_the_setting_without_effect():
    def same(title, digest, **settings):
        paths = {f"method.{name}": value for name, value in settings.items()}
        contexts = {"digest": digest, "room": {"path": 7.9}}
        return run(title, contexts=contexts, settings={"method.name": "paths", **paths})

    cells = [same("P", "ab", top_k=k, **{"retrieve.0.top_k": k}) for k in (10, 20, 40)]
    (note,) = notes(*cells, same("Q", "cd", top_k=5), about="same contexts")
    assert all(words in note.text for words in ("3 runs", "method.top_k", "8 paths", ": P"))
    runs = [same("A", "ab"), {**same("B", "ab"), "llm": "other"}, same("C", "ab", prompt="mine.j2")]
    assert notes(*runs, run("D"), about="same contexts") == []


def test_few_scopes_unverified_methods_and_changed_repeats_are_noted():
    for clusters, few in ((8, True), (80, False)):
        scoped = run("A", metrics={"accuracy": {**MEAN, "clusters": clusters}})
        (note,) = notes(scoped, about="intervals")
        assert f"scopes ({clusters}" in note.text and ("few" in note.text) == few
    doubted = run("HopRAG", method="hoprag", verified="false")
    (note,) = notes(doubted, run("IRCoT", method="ircot", verified="partly"), about="verified")
    assert "ircot" in note.text and "hoprag" in note.text
    assert not any(note.warns for note in notes(repeated(2), about="repeats"))
    assert notes(run("A", varied="top_k=4", method="a"), run("B", method="b"), about=REFERENCE)


def test_long_texts_are_one_note_and_cut_texts_a_warning():
    def embedded(title, mode="windows", n_long=37):
        row = {"what": "chunks", "window": 256, "long_texts": mode, "n_texts": 61,
               "n_long": n_long, "longest": 900}  # fmt: skip
        return {"title": title, "dataset": "mix", "long_texts": [row]}

    (note,) = long_text_notes([embedded("A"), embedded("B"), {"title": "C"}])
    assert all(words in note.text for words in ("mix: 37 of 61", "256", "900")) and not note.warns
    assert list(long_text_notes([embedded("A", n_long=0)])) == []
    mixed = long_text_notes([embedded("A"), embedded("B", "cut")])
    assert [note.warns for note in mixed] == [False, True]
