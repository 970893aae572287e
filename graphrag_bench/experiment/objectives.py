"""Metrics that settings name before any run has them: those a sweep looks for, those compared."""

from __future__ import annotations

from graphrag_bench.config.settings import RunSettings
from graphrag_bench.errors import UserError, unknown
from graphrag_bench.evaluation.metrics import UNDIRECTED, Source, metric_names


def check_objective(settings: RunSettings) -> None:
    """Raise UserError for an objective that no run with these settings has, or that has no better.

    Before a sweep, so that a misspelt name costs nothing. Whether the data set has what a metric
    needs is seen when a cell has been scored.
    """
    wanted = settings.objective
    if wanted is None:
        return
    if wanted in UNDIRECTED:
        raise UserError(f"objective={wanted}: of that metric more is not better; name another.")
    evidence = _named(settings, "retrieved", "context")
    answers = _named(settings, "answer", "judge")
    if wanted in answers and settings.answer == "off":
        raise UserError(f"objective={wanted}: Metrics of answers need answer=on.")
    if wanted not in (*evidence, *answers):
        known = evidence if settings.answer == "off" else [*evidence, *answers]
        raise UserError(f"objective={wanted}: {unknown('metric', wanted, known)}")


def check_compared(settings: RunSettings) -> None:
    """Raise UserError for a name in `evaluation.compared` that no run can have."""
    known = _named(settings, "retrieved", "context", "answer", "judge")
    for name in settings.evaluation.compared:
        if name not in known:
            raise UserError(f"evaluation.compared: {unknown('metric', name, known)}")


def _named(settings: RunSettings, *sources: Source) -> list[str]:
    evaluation = settings.evaluation
    return metric_names(sources, evaluation.cuts, evaluation.evidence_tokens)
