"""Format an answer with its context, steps and model calls as text for the terminal."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from graphrag_bench.text import counted, short

MAX_ROWS = 10
"""Maximum number of rows that are printed for one output of a step."""
MAX_PIECES = 5
"""Maximum number of context items that are printed without --details."""
PACKAGED = "SmolLM2-135M"
_LINE_WIDTH, _TEXT_WIDTH = 80, 60
Plain = Mapping[str, Any]


def answer_lines(plain: Plain, *, whole: bool = False) -> Iterator[str]:
    """Yield the lines of an `explanation`; if `whole` is true, with full texts."""
    yield str(plain["answer"]) if plain["answer"] is not None else "(not answered)"
    yield from (f"fallback: {reason}" for reason in plain["fallbacks"])
    yield ""
    n_tokens = sum(piece["tokens"] for piece in plain["context"])
    yield f"context: {counted(len(plain['context']), 'piece')}, {counted(n_tokens, 'token')}"
    for piece in plain["context"]:
        yield from _piece(piece, whole)
    if cut := plain.get("cut"):
        yield f"  cut by the budget: {', '.join(' '.join(map(str, item)) for item in cut)}"
    yield from ("", "steps") if plain["steps"] else ("", "steps", "  not stored (trace=off)")
    for step in plain["steps"]:
        seconds = f"  {step['seconds']:.3f} s" if "seconds" in step else ""
        usage = f"  {usage}" if (usage := usage_text(step.get("usage", {}))) else ""
        yield f"  {step['step']}{seconds}{usage}"
        if step.get("reads"):
            yield f"    reads: {', '.join(one.replace('_', ' ') for one in step['reads'])}"
        for slot, value in step["wrote"].items():
            yield from (f"    {line}" for line in _slot(slot, value))


def short_answer_lines(plain: Plain, model: str) -> Iterator[str]:
    """Yield the answer, its model, and the first items of its context."""
    yield str(plain["answer"]) or "(an empty answer)"
    yield ""
    note = ": a small model that often invents answers; choose another with llm="
    yield f"answered by {model}" + (note if PACKAGED in model else "")
    yield from (f"fallback: {reason}" for reason in plain["fallbacks"])
    rows = plain["context"]
    first = ", the first:" if rows[MAX_PIECES:] else ":"
    yield f"from {counted(len(rows), 'piece')} of context{first}"
    for piece in rows[:MAX_PIECES]:
        yield from _piece(piece, whole=False)


def _piece(piece: Plain, whole: bool) -> Iterator[str]:
    head, text = f"  {piece['score']:.3f}  {piece['kind']} {piece['id']}", piece.get("text")
    if documents := piece.get("documents"):
        head += f" (of {', '.join(documents)})"
    if not whole:
        yield head if text is None else f"{head}  {short(text, _TEXT_WIDTH)!r}"
        return
    yield f"{head}  {counted(piece['tokens'], 'token')}"
    text = "(unknown: the data set is missing or has changed)" if text is None else str(text)
    yield from (f"    {line}" for line in text.splitlines())


def usage_text(usage: Plain) -> str:
    """Return the number of LLM calls and tokens as text; "" if there were no calls."""
    n_prompt, n_reply = (usage.get(f"{name}_tokens", 0) for name in ("prompt", "completion"))
    calls = counted(usage.get("calls", 0), "LLM call")
    return f"{calls}, {n_prompt:,} + {n_reply:,} tokens" if usage.get("calls") else ""


def _slot(name: str, value: Any) -> Iterator[str]:
    name = name.replace("_", " ")
    if name == "context":
        yield f"{name}: {counted(len(value['pieces']), 'piece')}, {len(value['cut'])} cut"
    elif isinstance(value, dict):
        for part, inner in value.items():
            yield from _slot(f"{name}, {part}", inner) if inner else ()
    elif not isinstance(value, list):
        yield f"{name}: {short(str(value), _LINE_WIDTH)}"
    elif value and isinstance(value[0], dict):
        yield f"{name}: {len(value)}" + (f", the first {MAX_ROWS}" if len(value) > MAX_ROWS else "")
        yield from (f"  {row_text(row)}" for row in value[:MAX_ROWS])
    elif value and isinstance(value[0], list):
        for number, rows in enumerate(value, 1):
            yield from _slot(f"{name}, {number}", rows)
    else:
        yield f"{name}: {short('; '.join(map(str, value)) or 'none', _LINE_WIDTH)}"


def row_text(row: Any) -> str:
    """Return a node, relationship, chunk or other row as one line that starts with its score.

    >>> row_text({"head": "Ada", "relation": "founded", "tail": "Norvik", "score": 0.5})
    '0.500  Ada —founded→ Norvik'
    """
    if not isinstance(row, dict):
        return str(row)
    if "nodes" in row:
        names = [str(node.get("name", f"row {node['id']}")) for node in row["nodes"]]
        text = "".join(names[:1])
        hops = row.get("relationships") or [{}] * (len(names) - 1)
        for before, after, hop in zip(names, names[1:], hops, strict=False):
            relation = hop.get("relation", "")
            forward = hop.get("head") in (None, before)
            arrow = f"—{relation}→" if forward else f"←{relation}—"
            text += f" {arrow if relation else '–'} {after}"
    elif "sentence" in row:
        text = f"{row_text(row['parent'])} → {row_text(row['child'])}: {row['sentence']}"
    elif "head" in row:
        text = f"{row['head']} —{row['relation']}→ {row['tail']}"
    elif "documents" in row:
        documents = ", ".join(row["documents"])
        text = f"{row['title']} ({documents})" if row["title"] else documents
    elif "name" in row:
        text = str(row["name"]) + (f" ({row['type']})" if row.get("type") else "")
    elif "title" in row:
        text = str(row["title"])
    elif isinstance(row.get("node"), dict):
        arrow = "→" if row.get("forward", True) else "←"
        text = f"{row_text(row['node'])} {arrow} {row['relation']}"
    elif set(row) <= {"id", "score", "step"}:
        text = f"row {row.get('id')}"
    else:
        return short(json.dumps(row, ensure_ascii=False), _LINE_WIDTH)
    scored = isinstance(row.get("score"), int | float)
    return f"{row['score']:.3f}  {text}" if scored else text


def call_lines(calls: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield lines for each model call: step, model, tokens, time, messages and reply."""
    yield f"calls: {len(calls)}"
    for call in calls:
        tokens = f"{call.get('prompt_tokens', 0):,} + {call.get('completion_tokens', 0):,} tokens"
        took = "cached" if call.get("cached") else f"{call.get('seconds', 0.0):.3f} s"
        parts = (call["step"], call.get("model", ""), tokens, took, call["outcome"])
        yield f"  {'  '.join(part for part in parts if part)}"
        if "prompt" not in call:
            yield "    (prompt and reply are not in the cache)"
            continue
        for message in [*call["prompt"], {"role": "reply", "content": call["reply"]}]:
            yield f"    {message['role']}:"
            yield from (f"      {line}" for line in message["content"].splitlines() or [""])
