"""The notes under a table: subjects, runs and numbers."""

from test_tables import MEAN, run, with_context

from graphrag_bench.report.notes import long_text_notes, run_notes
from graphrag_bench.report.rows import REFERENCE
from graphrag_bench.report.tables import headline_table


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
        assert about == "failed" or str(found[0]) in headline_table(runs).notes


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
