"""The explanation of one answer as text: fallbacks, context, and every step by names."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from graphrag_bench.text import short

SHOWN = 10
"""Rows of a slot that are shown; the rest is counted."""
_WIDE, _TEXT = 110, 90
Told = Mapping[str, Any]


def explained_lines(told: Told, *, whole: bool = False) -> Iterator[str]:
    """The answer, what was fallen back on, the context with its scores, and the steps.

    `told` has `answer`, `fallbacks`, `context` and `steps`, as `own_question.told` makes them. The
    `whole` context has every text as it was sent.
    """
    yield str(told["answer"]) if told["answer"] is not None else "(no answer was asked for)"
    yield from (f"fallback: {reason}" for reason in told["fallbacks"])
    yield ""
    n_tokens = sum(piece["tokens"] for piece in told["context"])
    yield f"context: {len(told['context'])} rows, {n_tokens} tokens"
    for piece in told["context"]:
        yield from _piece(piece, whole)
    if cut := told.get("cut"):
        yield f"  cut by the budget: {', '.join(' '.join(map(str, item)) for item in cut)}"
    yield ""
    yield "steps"
    if not told["steps"]:
        yield "  none were kept (trace=off)"
    for step in told["steps"]:
        seconds = f"  {step['seconds']:.3f} s" if "seconds" in step else ""
        yield f"  {step['step']}{seconds}{_used(step.get('usage', {}))}"
        if step.get("reads"):
            yield f"    reads: {', '.join(one.replace('_', ' ') for one in step['reads'])}"
        for slot, value in step["wrote"].items():
            yield from (f"    {line}" for line in _slot(slot, value))
        for reply in step.get("replies", ()):
            yield "    reply:"
            yield from (f"      {line}" for line in str(reply).splitlines() or [""])


def _piece(piece: Told, whole: bool) -> Iterator[str]:
    head = f"  {piece['score']:.3f}  {piece['kind']} {piece['id']}"
    if documents := piece.get("documents"):
        head += f" (of {', '.join(documents)})"
    text = piece.get("text")
    if not whole:
        yield head if text is None else f"{head}  {short(text, _TEXT)!r}"
        return
    yield f"{head}  {piece['tokens']} tokens"
    if text is None:
        yield "    (its text is not known: the data set is not at hand, or has changed)"
    else:
        yield from (f"    {line}" for line in str(text).splitlines())


def _used(usage: Told) -> str:
    if not usage.get("calls"):
        return ""
    n_prompt, n_reply = (usage.get(f"{name}_tokens", 0) for name in ("prompt", "completion"))
    return f"  {usage['calls']} LLM calls, {n_prompt:,} + {n_reply:,} tokens"


def _slot(slot: str, value: Any) -> Iterator[str]:
    name = slot.replace("_", " ")
    if slot == "context":
        yield f"{name}: {len(value['pieces'])} rows, {len(value['cut'])} cut"
    elif isinstance(value, dict) and set(value) == {"length"}:
        yield f"{name}: one for each of {value['length']:,}"
    elif isinstance(value, dict) and {"low", "high"} == set(value):
        yield f"{name}: {', '.join(value['low'])}; themes: {', '.join(value['high'])}"
    elif isinstance(value, dict) and {"nodes", "relationships", "paths"} <= set(value):
        for part, rows in value.items():
            if rows:
                yield from _rows(f"{name}, {part}", rows)
    elif isinstance(value, dict) and "rounds" in value:
        yield from _rows(f"{name}, chosen", value["chosen"])
        for number, rows in enumerate(value["rounds"], 1):
            yield from _rows(f"{name}, round {number}", rows)
    elif isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        yield from _rows(name, value)
    elif isinstance(value, list):
        yield f"{name}: {'; '.join(map(str, value)) or 'none'}"
    else:
        said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield f"{name}: {short(said, _WIDE)}"


def _rows(name: str, rows: Sequence[Any]) -> Iterator[str]:
    more = f", the first {SHOWN}" if len(rows) > SHOWN else ""
    yield f"{name}: {len(rows)}{more}"
    yield from (f"  {said(row)}" for row in rows[:SHOWN])


def said(row: Any) -> str:
    """One node, relationship, chunk, community, path or other row in words, its score first."""
    if not isinstance(row, dict):
        return str(row)
    score = f"{row['score']:.3f}  " if isinstance(row.get("score"), int | float) else ""
    if "nodes" in row:
        return score + walked(row)
    if "head" in row:
        return f"{score}{row['head']} —{row['relation']}→ {row['tail']}"
    if "documents" in row:
        documents = ", ".join(row["documents"])
        return score + (f"{row['title']} ({documents})" if row["title"] else documents)
    if "name" in row:
        return score + str(row["name"]) + (f" ({row['type']})" if row.get("type") else "")
    if "title" in row:
        return score + str(row["title"])
    if isinstance(row.get("node"), dict):
        arrow = "→" if row.get("forward", True) else "←"
        return f"{score}{said(row['node'])} {arrow} {row['relation']}"
    if set(row) <= {"id", "score", "step"}:
        return f"{score}row {row.get('id')}"
    return short(json.dumps(row, ensure_ascii=False), _WIDE)


def walked(path: Told) -> str:
    """A path from its first node to its last: `a —r→ b ←s— c`, arrows as the relationships have."""
    names = [str(node.get("name", f"row {node['id']}")) for node in path["nodes"]]
    line = names[0] if names else ""
    hops = path.get("relationships") or [{}] * (len(names) - 1)
    for before, after, hop in zip(names, names[1:], hops, strict=False):
        relation = hop.get("relation", "")
        forward = hop.get("head") in (None, before)
        arrow = f"—{relation}→" if forward else f"←{relation}—"
        line += f" {arrow if relation else '–'} {after}"
    return line
