"""Write a run as a log that can be viewed with Inspect AI (`inspect view`)."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from graphrag_bench.data.dataset import Gold
from graphrag_bench.errors import UserError, extra_needed
from graphrag_bench.run.folder import METRICS
from graphrag_bench.run.record import context_texts
from graphrag_bench.run.stored import StoredRun, scored_questions
from graphrag_bench.tables.board import public

_OF_RUN = ("title", "profile", "fidelity", "regime", "limit", "embedder", "budget_context")
_OF_ROW = ("status", "documents", "fallbacks", "calls", "prompt_tokens", "completion_tokens")


def export_inspect(run: StoredRun, file: Path) -> int:
    """Write the scored questions of a run to an .eval or .json file; return their number.

    Each question becomes a sample with a score for each metric. The metadata of the sample are the
    context, the ranked documents and the gold evidence. If the question failed, the sample has an
    error. Paths and addresses are removed from settings and errors.
    """
    if file.suffix not in (".eval", ".json"):
        raise UserError(f"'{file}' must end in .eval or .json.")
    with extra_needed("adapters"):
        from inspect_ai.log import EvalLog, write_eval_log
    dataset, metrics = run.require_dataset(), run.metrics
    texts = context_texts(run.folder, run.rows, dataset)
    names = [name for name in scored_questions(run) if name in run.rows]
    asked = {one.id: one.text for one in dataset.questions}
    samples = [
        {"input": asked[name], **_sample(run, dataset.gold[name], name, texts.get(name))}
        for name in names
    ]
    changed = datetime.fromtimestamp((run.folder.path / METRICS).stat().st_mtime, UTC)
    key, scores = metrics["key"], []
    for name, one in metrics["metrics"].items():
        values = {k: {"name": k, "value": one[k]} for k in ("mean", "low", "high")}
        scores.append({"name": name, "scorer": name, "scored_samples": one["n"], "metrics": values})
    about = {"task": f"{dataset.name}/{metrics['method']}", "created": changed.isoformat(),
             "eval_id": key, "run_id": key, "task_id": key, "config": {}, "model": _model(run),
             "dataset": {"name": dataset.name, "samples": len(names), "sample_ids": names},
             "metadata": public({name: metrics.get(name) for name in _OF_RUN})}  # fmt: skip
    n = {"total_samples": len(names), "completed_samples": len(names) - metrics["failed"]}
    results = {**n, "scores": scores}
    log = {"status": "success", "eval": about, "results": results, "samples": samples}
    write_eval_log(EvalLog.model_validate(log), str(file))
    return len(names)


def _model(run: StoredRun) -> str:
    return str(public(run.metrics["llm"]) or "none")


def _sample(
    run: StoredRun, gold: Gold, name: str, texts: Sequence[str | None] | None
) -> dict[str, Any]:
    row = run.rows[name]
    pieces = (row.get("context") or {}).get("pieces", [])
    context = [{**p, "text": t} for p, t in zip(pieces, texts or [None] * len(pieces), strict=True)]
    message = {"role": "assistant", "content": row.get("answer")}
    choices = [{"message": message, "stop_reason": "stop"}] * (row.get("answer") is not None)
    error = public(": ".join(row.get("error", {}).values()))
    return {
        "id": name, "epoch": 1, "target": list(gold.answers),
        "output": {"model": _model(run), "choices": choices},
        "scores": {metric: {"value": v} for metric, v in run.scores.get(name, {}).items()},
        "metadata": {field: row[field] for field in _OF_ROW if field in row}
        | {"context": context, "evidence": gold.graded, "type": gold.type},
        "error": {"message": error, "traceback": "", "traceback_ansi": ""} if error else None,
    }  # fmt: skip
