"""Metrics that are named before a run: what a run comes to have is known by then."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_runs import TOY, metrics, ran

from graphrag_bench.config.compose import composed
from graphrag_bench.config.settings import check_settings
from graphrag_bench.errors import UserError
from graphrag_bench.evaluation.metrics import UNDIRECTED
from graphrag_bench.experiment.objectives import check_compared, check_objective


def test_every_metric_of_a_run_could_have_been_named_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More of some is not better: they are compared, and no sweep looks for them."""
    monkeypatch.chdir(tmp_path)
    values = composed(["dataset=toy", "method=bm25"])
    held = metrics(ran(*TOY, "reference_rows=off", "method=bm25").folder)["metrics"]
    assert {"evidence_recall@5", "mrr", "f1", "answer_words"} <= set(held)
    for name in held:
        check_compared(check_settings({**values, "evaluation": {"compared": [name]}}))
        asked = check_settings({**values, "objective": name})
        if name in UNDIRECTED:
            with pytest.raises(UserError, match="more is not better"):
                check_objective(asked)
        else:
            check_objective(asked)
