"""The stored row of a question, its timing and its context. Rows are reproducible byte by byte."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from graphrag_bench import values
from graphrag_bench.algorithms import path_values
from graphrag_bench.arrays import DECIMALS
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.fingerprint import digest
from graphrag_bench.pipeline.pipeline import QuestionResult
from graphrag_bench.pipeline.steps import Failure
from graphrag_bench.question_plan import Dependencies, Plan
from graphrag_bench.run.folder import Row, RunFolder, read_lines
from graphrag_bench.values import Answer, Context, Question, Ranked, RetrievalState


def record(finished: QuestionResult, chunk_table: ChunkTable, trace: str = "ids") -> Row:
    """Return the row to store for a question. `status` is answered, retrieved or failed."""
    outcome = finished.outcome
    row: Row = {"question": finished.question.id, "scope": finished.question.scope}
    if isinstance(outcome, Failure):
        error = {"step": outcome.step, "kind": outcome.kind, "message": outcome.message}
        row |= {"status": "failed", "error": error}
    else:
        row |= _answered(outcome, chunk_table)
    row |= {"fallbacks": list(finished.fallbacks)} if finished.fallbacks else {}
    steps: dict[str, Counter[str]] = {}
    for step in finished.trace:
        if step.calls.calls:
            steps.setdefault(step.step, Counter()).update(asdict(step.calls))
    total = sum(steps.values(), Counter[str]())
    row |= {name: total[name] for name in ("calls", "prompt_tokens", "completion_tokens")}
    row["steps"] = {name: {k: n for k, n in own.items() if n} for name, own in steps.items()}
    if trace != "off":
        row["trace"] = [
            {"step": step.step, "wrote": {s: summary(v) for s, v in step.wrote.items()}}
            for step in finished.trace
        ]
    return row


def _answered(state: RetrievalState, chunk_table: ChunkTable) -> Row:
    chunks, answer, context = state.get("chunks"), state.get("answer"), state.get("context")
    row: Row = {"status": "retrieved"}
    if isinstance(answer, Answer):
        row = {"status": "answered", "answer": answer.text}
        row |= {"answer_cut": True} if answer.cut else {}
    if isinstance(chunks, Ranked):
        ranks = chunk_table.ranked_documents(chunks.ids)
        row["documents"] = list(ranks)
        if len(set(ranks.values())) < len(ranks):
            row["ranks"] = list(ranks.values())
    if isinstance(context, Context):
        row["context"] = summary(context)
        for stored, piece in zip(row["context"]["pieces"], context.pieces, strict=True):
            if piece.kind != "chunk" and piece.chunks is not None:
                stored["documents"] = list(chunk_table.ranked_documents(np.array(piece.chunks)))
    return row


def documents_in(piece: Mapping[str, Any]) -> list[str] | None:
    """Return the documents whose text is in a stored piece of context, or None if unknown."""
    if piece["kind"] == "chunk":
        return [piece["id"], *piece.get("also", ())]
    return piece.get("documents")


def summary(value: Any) -> Any:
    """Return the output of a step for JSON: ids, names, texts, rounded scores, or a length."""
    match value:
        case Ranked():
            return {"ids": value.ids.tolist(), "scores": list(map(_short, value.scores))}
        case values.NodeScores() | values.RelationshipScores() | values.ChunkScores():
            return {"length": len(value)}
        case values.Mentions():
            return list(value.names)
        case values.Query():
            return list(value.texts)
        case values.Keywords():
            return {"low": list(value.low), "high": list(value.high)}
        case Answer() | Question():
            return value.text
        case values.Subgraph():
            lists = {name: list(of) for name, of in vars(value).items()}
            return lists | {"paths": [list(path.nodes) for path in value.paths]}
        case path_values.Exploration():
            chosen = [
                {"node": one.topic, "relation": one.relation, "forward": one.forward,
                 "score": _short(one.score)} for one in value.chosen
            ]  # fmt: skip
            rounds = [
                {"ids": [hop.relationship for hop in hops],
                 "scores": [_short(hop.score) for hop in hops]} for hops in value.rounds
            ]  # fmt: skip
            return {"chosen": chosen, "rounds": rounds}
        case Plan():
            rows = [
                {"id": one.id, "text": one.text, "kind": one.kind, "needs": list(one.dependencies)}
                for one in (*value.sub_questions, value.final)
            ]
            return {"sub_questions": rows, "fixes": list(value.fixes)}
        case path_values.RankedPaths():
            return [
                {"nodes": list(path.nodes), "relationships": list(path.relationships),
                 "score": _short(path.score), "transition": path.transition} for path in value.paths
            ]  # fmt: skip
        case path_values.ReasoningSteps():
            return [list(pair) for pair in zip(value.steps, map(list, value.queries), strict=True)]
        case path_values.Routes():
            return [vars(route) | {"score": _short(route.score)} for route in value.routes]
        case path_values.StepNodes():
            return {"ids": value.ids.tolist(), "steps": value.steps.tolist()}
        case Dependencies():
            return [list(pair) for pair in zip(value.questions, value.answers, strict=True)]
        case Context():
            pieces = [
                {"kind": p.kind, "id": p.id, "score": _short(p.score), "tokens": p.n_tokens}
                | ({"also": list(p.also)} if p.also else {})
                for p in value.pieces
            ]
            return {"pieces": pieces, "cut": [list(item) for item in value.cut]}
    return repr(value)


def _short(score: float) -> float:
    return round(float(score), DECIMALS)


def timing_rows(finished: QuestionResult, workers: int = 1) -> Iterator[Row]:
    """Yield a row for each step of a question, with the total seconds of all its executions."""
    seconds: dict[str, float] = {}
    for step in finished.trace:
        seconds[step.step] = seconds.get(step.step, 0.0) + step.seconds
    for name, total in seconds.items():
        row = {"step": name, "seconds": round(total, 6), "workers": workers}
        yield {"question": finished.question.id, **row}


def context_rows(finished: QuestionResult, chunk_table: ChunkTable) -> list[Row]:
    """Return a list with the row of the context, or []. The text of a whole document is None."""
    outcome = finished.outcome
    context = None if isinstance(outcome, Failure) else outcome.get("context")
    if not isinstance(context, Context):
        return []
    every, texts = [piece.text for piece in context.pieces], list[str | None]()
    for piece in context.pieces:
        rows = chunk_table.chunks_of(piece.id) if piece.kind == "chunk" else ()
        whole = len(rows) == 1 and chunk_table.passage(rows[0]) == piece.text
        texts.append(None if whole else piece.text)
    return [{"question": finished.question.id, "texts": texts, "of": _fingerprint(every)}]


def _fingerprint(texts: Sequence[str | None]) -> str:
    return digest([text and text.encode("utf-8", "replace").decode() for text in texts])


def context_texts(
    folder: RunFolder, rows: Mapping[str, Row], dataset: Dataset
) -> dict[str, Sequence[str | None]]:
    """Return the texts of the stored context of each question, by id.

    A question is left out if its texts were not stored (`trace=off`) or have changed in the data
    set. A text is None if its document is no longer in the data set.
    """
    passages = {document.id: document.passage for document in dataset.documents}
    stored = {row["question"]: row for row in read_lines(*folder.files("contexts"))}
    of_questions: dict[str, Sequence[str | None]] = {}
    for name, row in stored.items():
        pieces = (rows.get(name, {}).get("context") or {}).get("pieces", [])
        if len(pieces) == len(row["texts"]):
            pairs = zip(pieces, row["texts"], strict=True)
            texts = [passages.get(piece["id"]) if text is None else text for piece, text in pairs]
            if None in texts or row.get("of") == _fingerprint(texts):
                of_questions[name] = texts
    return of_questions
