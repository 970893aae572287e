"""Ours beside the paper's: differences where they mean something, and gaps."""

from dataclasses import replace
from pathlib import Path

import pytest

from graphrag_bench.papers.printed import PaperTable, Printed, load_table
from graphrag_bench.tables.figures import Figure, Filled, difference
from graphrag_bench.tables.grading import Grade
from graphrag_bench.tables.paper_tables import comparison_tables, long_table

A = Grade()
B = Grade((), ("questions: 200, not 1,172", "damping: 0.5, not 0.1"))
C = Grade(("data: sample, not PopQA",), ("prompts: in this project's words",))
METRICS = {"failed": 0, "dataset": "sample", "llm": "smollm@1:2", "embedder": "minilm",
           "profile": "default", "fidelity": "default"}  # fmt: skip
FIGURE = Figure(50.0, 40.0, 60.0, 10, METRICS, "runs/x", C)
TABLE5 = load_table("zhou2025/table5")


def popqa() -> PaperTable:
    """Table 5 with its PopQA cells alone, of three methods."""
    three = ("ZeroShot", "VanillaRAG", "DALK")
    cells = [c for c in TABLE5.cells if c.dataset == "PopQA" and c.method in three]
    return replace(TABLE5, cells=tuple(cells))


def filled(table: PaperTable, **figures: Figure) -> dict[Printed, Filled]:
    gap = Filled(runs=(("dataset=popqa", "method=x"),))
    return {c: Filled(figures[c.method]) if c.method in figures else gap for c in table.cells}


def test_for_grade_c_there_is_no_difference_and_no_column_for_one() -> None:
    table = popqa()
    (shown,) = comparison_tables(table, filled(table, ZeroShot=FIGURE))
    assert shown.heads == ("method", "Accuracy", "Accuracy, ours [95 %]", "Recall",
                           "Recall, ours [95 %]", "n", "model", "profile",
                           "regime", "grade")  # fmt: skip
    assert shown.rows[0] == ("ZeroShot", "28.592", "50.0 [40.0, 60.0]", "8.263",
                             "50.0 [40.0, 60.0]", "10", "smollm", "default",
                             "house", "C (sample)")  # fmt: skip
    assert not any("−" in head for head in shown.heads)


@pytest.mark.parametrize("grade", [A, B])
def test_for_grades_a_and_b_the_difference_is_printed(grade: Grade) -> None:
    table = popqa()
    cells = filled(table, ZeroShot=replace(FIGURE, value=30.0, grade=grade), DALK=FIGURE)
    (shown,) = comparison_tables(table, cells)
    at = shown.heads.index("Accuracy, ours − paper")
    assert shown.rows[0][at] == "+1.4"  # 30.0 - 28.592
    assert shown.rows[2][at] == "–"
    assert [difference(c, cells) for c in table.cells if c.method == "DALK"] == ["–", "–"]


def test_rows_of_several_regimes_are_warned_of_and_each_has_its_own() -> None:
    table = popqa()
    published = replace(FIGURE, metrics={**METRICS, "regime": "published"})
    (shown,) = comparison_tables(table, filled(table, ZeroShot=FIGURE, DALK=published))
    at = shown.heads.index("regime")
    assert [row[at] for row in shown.rows] == ["house", "–", "published"]
    assert "! regimes differ: house, published" in shown.notes
    (alike,) = comparison_tables(table, filled(table, ZeroShot=FIGURE, DALK=FIGURE))
    assert not any("regimes differ" in note for note in alike.notes)


def test_what_differs_is_named_once_for_all_rows_and_then_for_each() -> None:
    table = popqa()
    other = replace(FIGURE, grade=Grade((), ("questions: 200, not 1,172", "top_k: 9, not 4")))
    cells = filled(table, ZeroShot=replace(FIGURE, grade=B), DALK=other)
    notes = comparison_tables(table, cells)[0].notes
    assert "grade B: questions: 200, not 1,172" in notes
    assert "grade, further, ZeroShot: damping: 0.5, not 0.1" in notes
    assert "grade, further, DALK: top_k: 9, not 4" in notes
    part = Grade(("documents: 1,890, not 29,898",), ("top_k: 9, not 4",))
    cells = filled(table, ZeroShot=replace(FIGURE, grade=part), DALK=FIGURE)
    notes = comparison_tables(table, cells)[0].notes
    assert "grade, further, ZeroShot: documents: 1,890, not 29,898" in notes


def test_what_a_trained_scorer_has_not_seen_is_said() -> None:
    part = {"triple_weights": {"trained_on": "40 of 300 questions", "whole": False}}
    figure = replace(FIGURE, metrics={**FIGURE.metrics, "training": part})
    notes = comparison_tables(popqa(), filled(popqa(), ZeroShot=figure))[0].notes
    assert any("40 of 300" in note for note in notes)


def test_a_figure_that_was_chosen_on_its_own_questions_says_so() -> None:
    mark = "(selected on this split, 8 configurations)"
    selected = [{"split": "all", "dev_share": 0.5, "n_configurations": 8}]
    table = popqa()
    best = replace(FIGURE, metrics={**METRICS, "selections": selected})
    chosen = filled(table, ZeroShot=FIGURE, DALK=best)
    notes = comparison_tables(table, chosen)[0].notes
    assert f"chosen, DALK: {mark}" in notes
    assert any("its value is too high" in note for note in notes)
    free = comparison_tables(table, filled(table, ZeroShot=FIGURE, DALK=FIGURE))[0].notes
    assert not any("chosen" in note or "selected" in note for note in free)


def test_a_table_ends_with_one_command_where_a_run_is_missing() -> None:
    table = popqa()
    (shown,) = comparison_tables(table, filled(table, ZeroShot=FIGURE))
    assert shown.rows[1][2] == "–"
    commands = [note for note in shown.advice if "graphrag-bench " in note]
    assert commands == [shown.advice[-1]]
    assert commands[0].endswith("graphrag-bench run experiment=zhou2025/table5")
    assert "missing: 1 run" in shown.notes
    three = dict.fromkeys(("ZeroShot", "VanillaRAG", "DALK"), FIGURE)
    (whole,) = comparison_tables(table, filled(table, **three))
    assert not whole.advice


@pytest.mark.parametrize(
    ("name", "methods"),
    [
        ("pathrag/table6", {"PathRAG", "PathRAG-lt"}),
        ("pathcorag/table4", {"PathCoRAG", "LightRAG"}),
        ("zhou2025/table6", {"ToG", "DALK"}),
        ("zhou2025/table10", {"GGraphRAG"}),
    ],
)
def test_tokens_far_from_the_printed_ones_have_a_note(name: str, methods: set[str]) -> None:
    table = load_table(name)
    for shown in comparison_tables(table, filled(table)):
        noted = {note.partition(":")[0] for note in shown.notes if "results/regime.md" in note}
        assert noted == methods


def test_the_page_of_tokens_has_every_printed_figure_and_a_reason_for_each_far_one() -> None:
    text = Path("docs/results/regime.md").read_text("utf-8").partition("<!-- end of tokens")[0]
    lines = [line.split(" | ") for line in text.splitlines() if line.startswith("| `")]
    as_published = [line for line in lines if "profile=upstream" not in line[0]]
    printed = []
    for name, dataset in (("zhou2025/table10", "Mix"), ("zhou2025/table6", "MultihopQA"),
                          ("pathrag/table6", ""), ("pathcorag/table4", "")):  # fmt: skip
        cells = [c for c in load_table(name).cells if (c.dataset, c.unit) == (dataset, "tokens")]
        printed += [f"{cell.value:,.0f}" for cell in cells]
    assert [line[2] for line in as_published] == printed
    for line in as_published:
        paper, ours = (float(text.replace(",", "")) for text in line[2:4])
        assert float(line[4]) == pytest.approx(ours / paper, abs=0.01)
        assert bool(line[-1].strip(" |")) == (not 1 / 1.5 <= ours / paper <= 1.5), line[0]


def test_a_doubtful_cell_has_a_dagger_with_its_note() -> None:
    table = replace(TABLE5, cells=tuple(c for c in TABLE5.cells if c.dataset == "HotpotQA"))
    (shown,) = comparison_tables(table, filled(table))
    (dalk,) = [row for row in shown.rows if row[0] == "DALK"]
    assert dalk[2:4] == ("–", "47.232†")
    assert [note for note in shown.notes if note.startswith("† DALK, Recall: equals DALK")]


def test_the_long_table_has_a_row_for_every_printed_cell_with_all_that_is_known() -> None:
    table = popqa()
    shown = long_table(table, filled(table, ZeroShot=FIGURE))
    assert len(shown.rows) == len(table.cells) == 6
    row = dict(zip(shown.heads, shown.rows[0], strict=True))
    assert (row["paper"], row["ours"], row["grade"], row["difference"]) == ("28.592", "50", "C", "")
    assert row["differs in"] == "data: sample, not PopQA; prompts: in this project's words"
    lacking = dict(zip(shown.heads, shown.rows[-1], strict=True))
    assert lacking["missing"] == "1 run"


def test_the_lines_of_a_figure_without_numbers_are_cells_beside_the_printed_ones() -> None:
    """Three steps and four queries by four criteria against HyDE; the text states one setting."""
    table = load_table("pathcorag/fig4")
    swept = [cell for cell in table.cells if cell.value is None]
    assert (len(table.cells), len(swept)) == (4 + 28, 28)
    assert {(cell.versus, cell.unit) for cell in swept} == {("HyDE", "score")}
    for name, n in (("pankrag/fig3", 288), ("pankrag/fig4", 24), ("zhou2025tr/fig28", 60)):
        assert len(load_table(name).cells) == n
    fig5 = load_table("pathpooling/fig5")  # of 12 settings by two metrics three are printed
    assert sum(cell.value is None for cell in fig5.cells) == 24 - 3
    gaps = dict.fromkeys(table.cells, Filled(runs=(("method=hyde",),)))
    (shown,) = comparison_tables(table, gaps)
    names = [row[0] for row in shown.rows]
    assert names[:2] == ["PathCoRAG, query expansions per step=3", "PathCoRAG > HyDE, n_steps=2"]
    assert any("names no baseline" in note for note in shown.notes)
