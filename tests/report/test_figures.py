"""Figures for papers: right sizes, the same bytes, text that stays text, no formulas."""

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import pytest
from matplotlib.figure import Figure

from graphrag_bench.errors import UserError
from graphrag_bench.report import figures
from graphrag_bench.report.figures import (
    Bar,
    Grid,
    Mark,
    check_plot,
    front,
    plain,
    plot_bars,
    plot_grid,
    plot_lines,
    plot_pareto,
)

NASTY = r"a $\frac{1}{2}$ _b^c \undefined{ $x <script>"
BARS = [Bar(name, series, 0.5, 0.4, 0.7) for name in ("BM25", NASTY) for series in ("F1", "EM")]
MARKS = [
    Mark(name, x, x / 1000, x / 1100, x / 900) for name in ("A", NASTY) for x in (400.0, 800.0)
]
GRID = Grid("F1", NASTY, "top_k", ["0.1", "0.5"], ["2", "5"], [[0.2, 0.9], [None, 0.4]])
KINDS: dict[str, Callable[[Path, int], None]] = {
    "bars": lambda path, span: plot_bars(path, BARS, "F1", span=span),
    "lines": lambda path, span: plot_lines(path, MARKS, "tokens", "F1", span=span),
    "pareto": lambda path, span: plot_pareto(path, MARKS, "tokens", NASTY, span=span),
    "heat": lambda path, span: plot_grid(path, GRID, span=span),
}


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """Every figure that is saved."""
    found: list[Figure] = []
    saved = Figure.savefig

    def keeping(figure: Figure, *given: Any, **named: Any) -> None:
        found.append(figure)
        saved(figure, *given, **named)

    monkeypatch.setattr(Figure, "savefig", keeping)
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ending", ["pdf", "png", "svg"])
def test_the_same_figure_is_the_same_bytes_whatever_matplotlib_is_set_to(
    kind: str, ending: str, tmp_path: Path
) -> None:
    first, second = (tmp_path / f"{name}.{ending}" for name in "ab")
    KINDS[kind](first, 1)
    with matplotlib.rc_context({"font.size": 20, "axes.facecolor": "red", "svg.hashsalt": "z"}):
        KINDS[kind](second, 1)
    assert first.read_bytes() == second.read_bytes()
    assert b"CreationDate" not in first.read_bytes()
    assert b"<dc:date>" not in first.read_bytes()


def test_text_of_a_pdf_is_a_truetype_font(tmp_path: Path) -> None:
    KINDS["bars"](tmp_path / "a.pdf", 1)
    held = (tmp_path / "a.pdf").read_bytes()
    assert b"/CIDFontType2" in held or b"/Subtype /TrueType" in held
    assert b"/Type3" not in held


@pytest.mark.parametrize("kind", KINDS)
def test_no_text_is_read_as_a_formula_and_all_text_is_of_eight_points(
    kind: str, tmp_path: Path, drawn: list[Figure]
) -> None:
    KINDS[kind](tmp_path / "a.svg", 2)
    ElementTree.parse(tmp_path / "a.svg")
    assert b"<script" not in (tmp_path / "a.svg").read_bytes()
    texts = [one for one in drawn[0].findobj(matplotlib.text.Text) if one.get_text()]
    assert any(plain(NASTY) in one.get_text().replace("\n", " ") for one in texts)
    assert not any(one.get_parse_math() or one.get_usetex() for one in texts)
    assert {one.get_fontsize() for one in texts} == {8.0}


def test_nothing_that_is_drawn_lies_outside_of_the_figure(
    tmp_path: Path, drawn: list[Figure]
) -> None:
    long = [
        Bar(f"VanillaRAG answer=on, budget_context={n}", series, 0.5, 0.4, 0.6)
        for n in range(9)
        for series in ("1 hop", "2 hops")
    ]
    plot_bars(tmp_path / "a.png", long, "evidence_recall@5")
    (axes,) = drawn[0].axes
    width, height = drawn[0].get_size_inches() * drawn[0].dpi
    low, high = axes.get_xlim()
    below = [one for one in axes.get_xticklabels() if low <= one.get_position()[0] <= high]
    assert len(below) > 1
    for one in (*axes.get_yticklabels(), *below, *drawn[0].texts):
        box = one.get_window_extent()
        assert min(box.x0, box.y0) >= -1
        assert box.x1 <= width + 1
        assert box.y1 <= height + 1
    (legend,), (above,) = drawn[0].legends, drawn[0].texts
    for box in (legend.get_window_extent(), above.get_window_extent()):
        assert not box.overlaps(axes.get_tightbbox())
    assert not legend.get_window_extent().overlaps(above.get_window_extent())
    assert axes.get_position().width > 0.45


def test_bars_stand_at_their_means_with_their_intervals(
    tmp_path: Path, drawn: list[Figure]
) -> None:
    plot_bars(tmp_path / "a.pdf", [Bar("A", "", 0.5, 0.4, 0.7), Bar("B", "", 0.2, 0.2, 0.2)], "")
    (axes,) = drawn[0].axes
    assert [bar.get_width() for bar in axes.patches] == [0.5, 0.2]
    (whiskers,) = [one for one in axes.collections if len(one.get_paths()) == 2]
    ends = [path.vertices[:, 0].tolist() for path in whiskers.get_paths()]
    assert ends == [pytest.approx([0.4, 0.7]), pytest.approx([0.2, 0.2])]
    assert [one.get_text() for one in axes.get_yticklabels()] == ["A", "B"]


def test_the_front_is_what_nothing_beats_in_tokens_and_score() -> None:
    places = {
        "worse and longer": (300, 0.2), "short": (100, 0.3), "long": (400, 0.6),
        "equal to short": (100, 0.3), "as good as long": (500, 0.6), "oracle": (50, 1.0),
    }  # fmt: skip
    marks = [Mark(name, x, y, y, y, name == "oracle") for name, (x, y) in places.items()]
    assert [one.series for one in front(marks)] == ["short", "equal to short", "long"]


@pytest.mark.parametrize("plot", [plot_lines, plot_pareto])
def test_runs_without_a_mark_are_empty_axes(plot: Callable[..., None], tmp_path: Path) -> None:
    plot(tmp_path / "a.svg", [], "tokens", "F1")
    assert (tmp_path / "a.svg").is_file()


def test_a_heat_map_has_its_values_where_they_belong(tmp_path: Path, drawn: list[Figure]) -> None:
    plot_grid(tmp_path / "a.pdf", GRID)
    assert [one.get_text() for one in drawn[0].axes[0].texts] == ["0.200", "0.900", "–", "0.400"]


def test_a_file_that_cannot_be_written_and_a_missing_package_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path, span, said in (
        (tmp_path / "a.pgn", 1, "Did you mean '.png'"),
        (tmp_path / "no" / "a.pdf", 1, "there is no folder"),
        (tmp_path / "a.pdf", 3, "1 column"),
    ):
        with pytest.raises(UserError, match=re.escape(said)):
            check_plot(path, span)
    monkeypatch.setattr(figures, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=re.escape("graphrag-bench[figures]")):
        check_plot(tmp_path / "a.pdf", 1)
