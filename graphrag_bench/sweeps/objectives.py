"""Metrics that settings name before any run has them: those a sweep looks for, those compared."""

from __future__ import annotations

from graphrag_bench.analysis.judging.measures import MEASURES
from graphrag_bench.config.settings import RunSettings
from graphrag_bench.errors import UserError, unknown
from graphrag_bench.evaluation.answer_metrics import ANSWER_METRICS
from graphrag_bench.report.selection import UNDIRECTED

_AT_CUTS = ("evidence_recall", "all_evidence", "ndcg")
_AT_TOKENS = ("evidence_at_tokens", "spans_at_tokens")
_OF_EVIDENCE = ("mrr", "answer_in_context", "spans_in_context")
_LISTED = ("hit@1", "hit", "list_precision", "list_recall", "list_f1")


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
    evidence, answers = _of_evidence(settings), _of_answers()
    if wanted in answers and settings.answer == "off":
        raise UserError(f"objective={wanted}: Metrics of answers need answer=on.")
    if wanted not in evidence | answers:
        known = evidence if settings.answer == "off" else evidence | answers
        raise UserError(f"objective={wanted}: {unknown('metric', wanted, known)}")


def check_compared(settings: RunSettings) -> None:
    """Raise UserError for a name in `evaluation.compared` that no run can have."""
    known = {*_of_evidence(settings), *_of_answers(), *UNDIRECTED}
    for name in settings.evaluation.compared:
        if name not in known:
            raise UserError(f"evaluation.compared: {unknown('metric', name, known)}")


def _of_evidence(settings: RunSettings) -> set[str]:
    evaluation = settings.evaluation
    at_cuts = {f"{stem}@{k}" for stem in _AT_CUTS for k in evaluation.cuts}
    at_tokens = {f"{stem}@{n}" for stem in _AT_TOKENS for n in evaluation.evidence_tokens}
    return at_cuts | at_tokens | {*_OF_EVIDENCE}


def _of_answers() -> set[str]:
    listed = {*_LISTED, *(f"{name}_in_graph" for name in _LISTED)}
    return {*ANSWER_METRICS, *MEASURES, *listed} - {"kgqa"}
