"""Figures for papers: right sizes, the same bytes, text that stays text, no formulas."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import matplotlib
import pytest
from matplotlib.figure import Figure

from graphrag_bench.errors import UserError
from graphrag_bench.report import figures
from graphrag_bench.report.figures import Mark, check_plot, plain, plot_lines

NASTY = r"a $\frac{1}{2}$ _b^c \undefined{ $x <script>"
MARKS = [
    Mark(name, x, x / 1000, x / 1100, x / 900) for name in ("A", NASTY) for x in (400.0, 800.0)
]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """Every figure that is saved."""
    saved: list[Figure] = []
    save = Figure.savefig

    def saving(figure: Figure, *args: Any, **options: Any) -> None:
        saved.append(figure)
        save(figure, *args, **options)

    monkeypatch.setattr(Figure, "savefig", saving)
    return saved


@pytest.mark.parametrize("ending", ["pdf", "png", "svg"])
def test_the_same_figure_is_the_same_bytes_whatever_matplotlib_is_set_to(
    ending: str, tmp_path: Path
) -> None:
    first, second = (tmp_path / f"{name}.{ending}" for name in "ab")
    plot_lines(first, MARKS, "tokens", "F1")
    with matplotlib.rc_context({"font.size": 20, "axes.facecolor": "red", "svg.hashsalt": "z"}):
        plot_lines(second, MARKS, "tokens", "F1")
    content = first.read_bytes()
    assert content == second.read_bytes()
    assert (
        b"CreationDate" not in content and b"<dc:date>" not in content and b"/Type3" not in content
    )
    assert ending != "pdf" or b"/CIDFontType2" in content or b"/Subtype /TrueType" in content


def test_no_text_is_read_as_a_formula_and_all_text_is_of_eight_points(
    tmp_path: Path, drawn: list[Figure]
) -> None:
    plot_lines(tmp_path / "a.svg", MARKS, "tokens", NASTY, span=2)
    ElementTree.parse(tmp_path / "a.svg")
    assert b"<script" not in (tmp_path / "a.svg").read_bytes()
    texts = [one for one in drawn[0].findobj(matplotlib.text.Text) if one.get_text()]
    assert [one.get_text() for one in texts].count(plain(NASTY)) == 2
    assert not any(one.get_parse_math() or one.get_usetex() for one in texts)
    assert {one.get_fontsize() for one in texts} == {8.0}


def test_lines_are_in_the_order_of_x_with_bands_and_lie_within_the_figure(
    tmp_path: Path, drawn: list[Figure]
) -> None:
    series = [f"VanillaRAG answer=on, method.top_k={n}" for n in range(9)]
    marks = [Mark(name, x, x / 10, x / 20, x / 5) for name in series for x in (2.0, 1.0)]
    plot_lines(tmp_path / "a.png", [*marks, Mark("one", 1.5, 0.3, 0.2, 0.4)], "tokens", "accuracy")
    (axes,), (legend,) = drawn[0].axes, drawn[0].legends
    assert [[*line.get_xdata()] for line in axes.lines] == [[1.0, 2.0]] * 9 + [[1.5]]
    assert [*axes.lines[0].get_ydata()] == [0.1, 0.2]
    assert len(axes.collections) == 10
    assert [one.get_text() for one in legend.get_texts()] == [*series, "one"]
    width, height = drawn[0].get_size_inches() * drawn[0].dpi
    below, above = legend.get_window_extent(), axes.get_tightbbox()
    for box in (below, above):
        assert min(box.x0, box.y0) >= -1
        assert box.x1 <= width + 1 and box.y1 <= height + 1
    assert not below.overlaps(above)


def test_runs_without_a_mark_are_empty_axes(tmp_path: Path) -> None:
    plot_lines(tmp_path / "a.svg", [], "tokens", "F1")
    assert (tmp_path / "a.svg").is_file()


def test_a_file_that_cannot_be_written_and_a_missing_package_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path, span, message in (
        (tmp_path / "a.pgn", 1, "Did you mean '.png'"),
        (tmp_path / "no" / "a.pdf", 1, "there is no folder"),
        (tmp_path / "a.pdf", 3, "1 column"),
    ):
        with pytest.raises(UserError, match=re.escape(message)):
            check_plot(path, span)
    monkeypatch.setattr(figures, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=re.escape("graphrag-bench[figures]")):
        check_plot(tmp_path / "a.pdf", 1)
