"""What is stored for a question: one row that only the configuration determines, and a ledger.

Times, retries and cached flags stand in the ledger, so that the rows of the same configuration
are the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.models.llm import CallFailed, Completion
from graphrag_bench.pipeline.attempt import Failure
from graphrag_bench.pipeline.run import Finished
from graphrag_bench.values import (
    DECIMALS,
    Answer,
    Context,
    Keywords,
    Mentions,
    NodeScores,
    Query,
    Ranked,
    RelationshipScores,
    RetrievalState,
)

Trace = Literal["ids", "full", "off"]
Row = dict[str, Any]


def record(finished: Finished, chunk_table: ChunkTable | None, trace: Trace = "ids") -> Row:
    """The row of a finished question; `status` is answered, retrieved or failed."""
    outcome = finished.outcome
    row: Row = {"question": finished.question.id, "scope": finished.question.scope}
    if isinstance(outcome, Failure):
        row |= {
            "status": "failed",
            "error": {"step": outcome.step, "kind": outcome.kind, "message": outcome.message},
        }
    else:
        row |= _answered(outcome, chunk_table)
    done = [reply for step in finished.trace for reply in step.replies]
    completions = [reply for reply in done if isinstance(reply, Completion)]
    row["calls"] = len(done)
    row["prompt_tokens"] = sum(reply.prompt_tokens for reply in completions)
    row["completion_tokens"] = sum(reply.completion_tokens for reply in completions)
    if trace != "off":
        row["trace"] = [_step(step, trace) for step in finished.trace]
    return row


def _answered(state: RetrievalState, chunk_table: ChunkTable | None) -> Row:
    chunks, answer, context = state.get("chunks"), state.get("answer"), state.get("context")
    row: Row = {"status": "retrieved" if answer is None else "answered"}
    if isinstance(answer, Answer):
        row["answer"] = answer.text
    if isinstance(chunks, Ranked) and chunk_table is not None:
        row["documents"] = chunk_table.documents_in_order(chunks.ids)
    if isinstance(context, Context):
        row["context"] = summary(context)
    return row


def _step(step: Any, trace: Trace) -> Row:
    row: Row = {"step": step.step, "wrote": {s: summary(v) for s, v in step.wrote.items()}}
    if trace == "full":
        row["replies"] = [
            reply.text if isinstance(reply, Completion) else str(reply) for reply in step.replies
        ]
    return row


def summary(value: Any) -> Any:
    """A value as JSON: ids with rounded scores, names, texts; a score vector by its length."""
    if isinstance(value, Ranked):
        scores = [round(float(score), DECIMALS) for score in value.scores]
        return {"ids": value.ids.tolist(), "scores": scores}
    if isinstance(value, NodeScores | RelationshipScores):
        return {"length": len(value.values)}
    if isinstance(value, Mentions):
        return list(value.names)
    if isinstance(value, Query):
        return list(value.texts)
    if isinstance(value, Keywords):
        return {"low": list(value.low), "high": list(value.high)}
    if isinstance(value, Answer):
        return value.text
    if isinstance(value, Context):
        pieces = [
            {"kind": p.kind, "id": p.id, "score": round(p.score, DECIMALS), "tokens": p.n_tokens}
            for p in value.pieces
        ]
        return {"pieces": pieces, "cut": [list(item) for item in value.cut]}
    return repr(value)


def ledger_rows(finished: Finished) -> Iterator[Row]:
    """One row for each step with its seconds, and one for each LLM call."""
    question = finished.question.id
    for step in finished.trace:
        seconds = round(step.seconds, 6)
        yield {"kind": "step", "question": question, "step": step.step, "seconds": seconds}
        for reply in step.replies:
            yield {"kind": "call", "question": question, "step": step.step} | _call(reply)


def _call(reply: Completion | CallFailed) -> Row:
    if isinstance(reply, CallFailed):
        return {"failed": reply.reason, "retries": reply.retries, "seconds": reply.seconds}
    return {
        "model": reply.model,
        "fingerprint": reply.fingerprint,
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "reasoning_tokens": reply.reasoning_tokens,
        "finish": reply.finish,
        "cached": reply.cached,
        "retries": reply.retries,
        "seconds": round(reply.seconds, 6),
    }
