"""Write a run as a log that can be viewed with Inspect AI (`inspect view`)."""

from datetime import UTC, datetime
from pathlib import Path

from graphrag_bench.errors import UserError, extra_needed
from graphrag_bench.run.folder import METRICS
from graphrag_bench.run.record import context_texts
from graphrag_bench.run.stored import StoredRun, scored_questions
from graphrag_bench.tables.board import public

_OF_RUN = ("title", "profile", "fidelity", "regime", "limit", "embedder", "budget_context")
_OF_ROW = ("status", "documents", "fallbacks", "calls", "prompt_tokens", "completion_tokens")


def export_inspect(run: StoredRun, file: Path) -> int:
    """Write the scored questions of a run to an .eval or .json file; return their number.

    Context, ranked documents and gold evidence are metadata. Paths and addresses are removed.
    """
    if file.suffix not in (".eval", ".json"):
        raise UserError(f"'{file}' must end in .eval or .json.")
    with extra_needed("adapters"):
        from inspect_ai.log import EvalLog, write_eval_log
    dataset, metrics = run.require_dataset(), run.metrics
    texts, samples = context_texts(run.folder, run.rows, dataset), []
    names = [name for name in scored_questions(run) if name in run.rows]
    asked = {one.id: one.text for one in dataset.questions}
    model = str(public(metrics["llm"]) or "none")
    for name in names:
        row, gold = run.rows[name], dataset.gold[name]
        pieces = (row.get("context") or {}).get("pieces", [])
        known = zip(pieces, texts.get(name) or [None] * len(pieces), strict=True)
        message = {"role": "assistant", "content": row.get("answer")}
        choices = [{"message": message, "stop_reason": "stop"}] * (row.get("answer") is not None)
        error = public(": ".join(row.get("error", {}).values()))
        samples.append({
            "input": asked[name], "id": name, "epoch": 1, "target": list(gold.answers),
            "output": {"model": model, "choices": choices},
            "scores": {metric: {"value": v} for metric, v in run.scores.get(name, {}).items()},
            "metadata": {field: row[field] for field in _OF_ROW if field in row}
            | {"context": [{**piece, "text": text} for piece, text in known],
               "evidence": gold.graded, "type": gold.type},
            "error": {"message": error, "traceback": "", "traceback_ansi": ""} if error else None,
        })  # fmt: skip
    changed = datetime.fromtimestamp((run.folder.path / METRICS).stat().st_mtime, UTC)
    key, scores = metrics["key"], []
    for name, one in metrics["metrics"].items():
        values = {k: {"name": k, "value": one[k]} for k in ("mean", "low", "high")}
        scores.append({"name": name, "scorer": name, "scored_samples": one["n"], "metrics": values})
    about = {"task": f"{dataset.name}/{metrics['method']}", "created": changed.isoformat(),
             "eval_id": key, "run_id": key, "task_id": key, "config": {}, "model": model,
             "dataset": {"name": dataset.name, "samples": len(names), "sample_ids": names},
             "metadata": public({name: metrics.get(name) for name in _OF_RUN})}  # fmt: skip
    n = {"total_samples": len(names), "completed_samples": len(names) - metrics["failed"]}
    results = {**n, "scores": scores}
    log = {"status": "success", "eval": about, "results": results, "samples": samples}
    write_eval_log(EvalLog.model_validate(log), str(file))
    return len(names)
