"""Curves of stored runs, along the context budget and along any setting."""

from contextlib import chdir
from itertools import product
from pathlib import Path

import pytest
from toy_runs import TOY, asked, command, run_folder

from graphrag_bench.cli.curve import points_along
from graphrag_bench.errors import UserError
from graphrag_bench.report.curves import BUDGET, check_metric, curve_table

pytestmark = pytest.mark.slow

QUIET = [*TOY, "reference_rows=off", "answer=off"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with four budgets of vanilla, and two settings of HippoRAG."""
    home = tmp_path_factory.mktemp("home")
    with chdir(home):
        for budget in (90, 40, 200, "native"):
            run_folder(*QUIET, "method=vanilla", f"budget_context={budget}")
        for damping, k in product((0.3, 0.1), (2, 5)):
            run_folder(*QUIET, "method=hipporag", f"method.damping={damping}", f"method.top_k={k}")
    return home


@pytest.fixture(autouse=True)
def _there(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(runs)


def test_a_curve_reads_stored_runs_and_asks_no_model() -> None:
    asked.clear()
    shown = command("curve", "--dataset", "toy", "--metrics", "evidence_recall@5")
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
