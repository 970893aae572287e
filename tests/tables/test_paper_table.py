"""A paper's table beside our figures: differences, notes and missing runs."""

from dataclasses import replace

from graphrag_bench.papers.printed import load_table
from graphrag_bench.tables.figures import CellEntry, Figure, difference
from graphrag_bench.tables.grading import Grade, Mismatch
from graphrag_bench.tables.paper_tables import comparison_tables, long_table

QUESTIONS, DAMPING = Mismatch("questions", "200", "1,172"), Mismatch("damping", "0.5", "0.1")
TOP_K, DATA = Mismatch("top_k", "9", "4"), Mismatch("data", "sample", "PopQA", major=True)
A, B, C = Grade(), Grade.of([QUESTIONS, DAMPING]), Grade.of([DATA, TOP_K])
METRICS = {"failed": 0, "dataset": "sample", "llm": "smollm@0123abcd:2", "embedder": "minilm",
           "profile": "default", "fidelity": "default"}  # fmt: skip
FIGURE = Figure(50.0, 40.0, 60.0, 10, METRICS, "runs/x", C)
TABLE5 = load_table("zhou2025/table5")


THREE = ("ZeroShot", "VanillaRAG", "DALK")
POPQA = replace(TABLE5, cells=tuple(c for c in TABLE5.cells
                                    if c.dataset == "PopQA" and c.method in THREE))  # fmt: skip


def filled(table, **figures):
    gap = CellEntry(runs=(("dataset=popqa", "method=x"),))
    return {c: CellEntry(figures[c.method]) if c.method in figures else gap for c in table.cells}


def shown(**figures):
    return comparison_tables(POPQA, filled(POPQA, **figures))[0]


def test_only_grades_a_and_b_have_a_difference():
    table = shown(ZeroShot=FIGURE)
    assert table.heads == ("method", "Accuracy", "Accuracy, ours [95 %]", "Recall",
                           "Recall, ours [95 %]", "n", "model", "profile", "regime",
                           "grade")  # fmt: skip
    ours = "50.0 [40.0, 60.0]"
    assert table.rows[0] == ("ZeroShot", "28.592", ours, "8.263", ours, "10", "smollm", "default",
                             "house", "C (sample)")  # fmt: skip
    for grade in (A, B):
        figures = {"ZeroShot": replace(FIGURE, value=30.0, grade=grade), "DALK": FIGURE}
        table, cells = shown(**figures), filled(POPQA, **figures)
        at = table.heads.index("Accuracy, ours − paper")
        assert [table.rows[row][at] for row in (0, 2)] == ["+1.4", "–"]  # 30.0 - 28.592
        assert {difference(c, cells) for c in POPQA.cells if c.method == "DALK"} == {"–"}


def test_shared_mismatches_are_named_once():
    published = {**METRICS, "regime": "published"}
    other = replace(FIGURE, grade=Grade.of([QUESTIONS, TOP_K]), metrics=published)
    table = shown(ZeroShot=replace(FIGURE, grade=B), DALK=other)
    grades = [note for note in table.notes if note.startswith(("grade", "also differs"))]
    assert [str(QUESTIONS) in note for note in grades].count(True) == 1
    for method, mismatch in (("ZeroShot", DAMPING), ("DALK", TOP_K)):
        assert any(method in note and str(mismatch) in note for note in grades)
    at = table.heads.index("regime")
    assert [row[at] for row in table.rows] == ["house", "–", "published"]
    assert any("house, published" in note for note in table.notes)


def test_partial_training_and_selection_on_the_same_questions_are_noted():
    part = {"triple_weights": {"trained_on": "40 of 300 questions", "whole": False}}
    selected = [{"split": "all", "dev_share": 0.5, "n_configurations": 8}]
    best = replace(FIGURE, metrics={**METRICS, "selections": selected, "training": part})
    notes = "".join(shown(DALK=best).notes)
    assert "40 of 300" in notes and "selected, DALK" in notes and "8 configurations" in notes


def test_missing_runs_have_a_command_and_suspicious_numbers_a_dagger():
    table = shown(ZeroShot=FIGURE)
    (command,) = table.advice
    assert table.rows[1][2] == "–" and "missing: 1 run" in table.notes
    assert command.endswith("graphrag-bench run experiment=zhou2025/table5")
    assert not shown(ZeroShot=FIGURE, VanillaRAG=FIGURE, DALK=FIGURE).advice
    hotpotqa = replace(TABLE5, cells=tuple(c for c in TABLE5.cells if c.dataset == "HotpotQA"))
    (doubted,) = comparison_tables(hotpotqa, filled(hotpotqa))
    (dalk,) = [row for row in doubted.rows if row[0] == "DALK"]
    assert dalk[2] == "47.232†"
    assert doubted.heads[:3] == ("method", "Accuracy", "Recall")
    assert any(note.startswith("† DALK, Recall") for note in doubted.notes)


def test_a_judge_command_for_several_data_sets_is_printed_once():
    """pathrag/table1 has six data sets; the same two stored runs fit each of them."""
    table = load_table("pathrag/table1")
    cells = dict.fromkeys(table.cells, CellEntry(unjudged=(("a", "b"),)))
    *first, last = comparison_tables(table, cells)
    assert len(first) == 5
    assert [line.split()[2:5] for line in last.advice] == [["judge", "a", "b"]]


def test_the_long_table_has_a_row_for_each_printed_cell():
    table = long_table(POPQA, filled(POPQA, ZeroShot=FIGURE))
    assert len(table.rows) == len(POPQA.cells) == 6
    row = dict(zip(table.heads, table.rows[0], strict=True))
    assert (row["paper"], row["ours"], row["grade"], row["difference"]) == ("28.592", "50", "C", "")
    assert row["differs in"] == C.sentence
    lacking = dict(zip(table.heads, table.rows[-1], strict=True))
    assert lacking["missing"] == "1 run"


def test_cells_without_numbers_follow_the_printed_ones():
    """pathcorag/fig4 has three steps and four queries, each by four criteria against HyDE."""
    table = load_table("pathcorag/fig4")
    unprinted = [cell for cell in table.cells if cell.value is None]
    assert (len(table.cells), len(unprinted)) == (4 + 28, 28)
    assert {(cell.versus, cell.unit) for cell in unprinted} == {("HyDE", "score")}
    (gaps,) = comparison_tables(table, dict.fromkeys(table.cells, CellEntry(runs=(("x=y",),))))
    expected = ["PathCoRAG, query expansions per step=3", "PathCoRAG > HyDE, n_steps=2"]
    assert [row[0] for row in gaps.rows][:2] == expected
