"""`--plot` of the commands: a figure of what they print, asked for before any work is done."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from toy_runs import TOY, command, refused, run_folder

from graphrag_bench.report import figures

QUIET = [*TOY, "answer=off"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts of every figure that is written."""
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    found: list[str] = []
    saved = Figure.savefig

    def keeping(figure: Figure, *given: Any, **named: Any) -> None:
        saved(figure, *given, **named)
        found.extend(text for one in figure.findobj(Text) if (text := one.get_text()))

    monkeypatch.setattr(Figure, "savefig", keeping)
    return found


def plotted(*words: str) -> Path:
    """The figure that a command says it has written."""
    ended = command(*words)
    assert ended.code == 0, ended.err
    (line,) = [line for line in ended.out.splitlines() if line.startswith("plot: ")]
    path = Path(line.removeprefix("plot: "))
    assert path.stat().st_size > 1000
    return path


def test_a_sweep_over_two_settings_is_a_heat_map(texts: list[str]) -> None:
    for damping, top_k in product((0.1, 0.5), (2, 5)):
        run_folder(*QUIET, "method=hipporag", f"method.damping={damping}", f"method.top_k={top_k}")
    layout = ["rows=method.damping", "cols=method.top_k", "values=evidence_recall@2"]
    plotted("table", "runs/toy", *layout, "--plot", "heat.pdf")
    assert {"method.damping", "method.top_k", "0.1", "0.5", "2", "5"} <= set(texts)


def test_runs_are_bars_or_a_pareto_front(texts: list[str]) -> None:
    for name in ("bm25", "vanilla"):
        run_folder(*QUIET, f"method={name}")
    plotted("table", "runs/toy", "--plot", "bars.pdf")
    assert {"BM25", "VanillaRAG", "evidence_recall@5"} <= set(texts)
    texts.clear()
    plotted("table", "runs/toy", "--plot", "front.pdf", "--kind", "pareto", "--span", "2")
    assert {"tokens of context", "BM25", "VanillaRAG"} <= set(texts)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["--plot", "a.pdff"], ".pdf"),
        (["--plot", "a.pdf", "--span", "3"], "--span"),
        (["--span", "2"], "--plot"),
        (["--plot", "a.pdf", "--kind", "paret"], "pareto"),
    ],
)
def test_a_figure_that_cannot_be_is_refused_before_any_work(words: list[str], name: str) -> None:
    assert name in refused(*words, name="curve")


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "find_spec", lambda name: None)
    assert "graphrag-bench[figures]" in refused("--plot", "a.pdf", name="curve")
