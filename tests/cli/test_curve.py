"""Curves and figures of stored runs: printed, drawn, and refused before any work is done."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from toy_runs import TOY, asked, command, refused, run_folder

from graphrag_bench.cli.curve import points_along
from graphrag_bench.errors import UserError
from graphrag_bench.report import figures
from graphrag_bench.report.curves import BUDGET, Point, check_metric, curve_table

pytestmark = pytest.mark.slow

QUIET = [*TOY, "reference_rows=off", "answer=off"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with four budgets of vanilla, and two settings of HippoRAG."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        for budget in (90, 40, 200, "native"):
            run_folder(*QUIET, "method=vanilla", f"budget_context={budget}")
        for damping, k in product((0.3, 0.1), (2, 5)):
            run_folder(*QUIET, "method=hipporag", f"method.damping={damping}", f"method.top_k={k}")
    return home


@pytest.fixture(autouse=True)
def home(runs: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.chdir(runs)
    return runs


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


def test_a_curve_reads_stored_runs_and_asks_no_model() -> None:
    asked.clear()
    shown = command("curve", "--dataset", "toy")
    assert shown.code == 0 and "toy: VanillaRAG" in shown.out
    assert asked == []
    points = points_along(BUDGET, dataset="toy")[1]
    rows = [row for row in curve_table(points).rows if row[0] == "toy: VanillaRAG"]
    assert [row[1] for row in rows] == ["40", "90", "200"]
    tokens = [int(row[3]) for row in rows]
    assert tokens == sorted(tokens)
    assert all(used <= budget for used, budget in zip(tokens, (40, 90, 200), strict=True))
    evidence = [float(row[4].split(" ")[0]) for row in rows]
    assert evidence == sorted(evidence) and evidence[0] < evidence[-1]
    with pytest.raises(UserError, match="on sample"):
        points_along(BUDGET, dataset="sample")
    with pytest.raises(UserError, match="evidence_recall@5"):
        check_metric([point.metrics for point in points], "evidence_recal@5")


def test_a_curve_is_along_any_setting_that_is_a_number() -> None:
    for name in ("method.damping", "damping"):
        path, points = points_along(name)
        assert path == "method.damping"
        assert [row[:2] for row in curve_table(points, along=path).rows] == [
            (f"toy: HippoRAG top_k={top_k}", value) for top_k in (2, 5) for value in ("0.1", "0.3")
        ]
    with pytest.raises(UserError, match="method.damping"):
        points_along("method.dampin")


def test_a_bar_sign_is_a_tenth_of_the_last_mean() -> None:
    def point(title: str, tokens: int, accuracy: float) -> Point:
        fields = {"title": title, "dataset": "toy", "llm": "model", "n": 4, "settings": {}}
        usage = {"context_tokens_per_question": tokens}
        evidence = {"mean": 0.5, "low": 0.25, "high": 0.75, "n": 4}
        answers = {"mean": accuracy, "low": 0.1, "high": 0.9, "n": 4}
        metrics = {"accuracy": answers, "evidence_in_context": evidence}
        return Point({**fields, "budget_context": tokens, "usage": usage, "metrics": metrics})

    table = curve_table([point("b", 2000, 0.75), point("a", 500, 0.25), point("b", 900, 0.5)])
    assert [(row[0], row[1], len(row[-1])) for row in table.rows] == [
        ("toy: a", "500", 2), ("toy: b", "900", 5), ("toy: b", "2,000", 8),
    ]  # fmt: skip
    assert table.rows[0][4:6] == ("0.500 [0.25, 0.75]", "0.250 [0.10, 0.90]")


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["runs/toy/hipporag", "rows=method.damping", "cols=method.top_k",
          "values=evidence_recall@2"],
         {"method.damping", "method.top_k", "0.1", "0.3", "2", "5"}),
        (["runs/toy"], {"evidence_recall@5", "HippoRAG"}),
        (["runs/toy", "--kind", "pareto", "--span", "2"], {"tokens of context", "HippoRAG"}),
    ],
    ids=["heat", "bars", "pareto"],
)  # fmt: skip
def test_a_table_is_drawn(texts: list[str], words: list[str], parts: set[str]) -> None:
    ended = command("table", *words, "--plot", "drawn.pdf")
    assert ended.out.endswith("plot: drawn.pdf\n"), ended.err
    assert Path("drawn.pdf").stat().st_size > 1000
    assert [part for part in parts if not any(text.startswith(part) for text in texts)] == []


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
