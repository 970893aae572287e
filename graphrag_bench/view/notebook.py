"""A run and one of its questions as tables for a notebook; every text is escaped."""

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from graphrag_bench.report.rendering import Table

Plain = Mapping[str, Any]
_ROLES = ("seed", "gold")


def tables_html(tables: Iterable[Table]) -> str:
    """Return tables with their captions and notes."""
    return "".join(map(_table, tables))


def _table(table: Table) -> str:
    notes = "".join(
        f"<div><small>{escape(note)}</small></div>" for note in (*table.notes, *table.advice)
    )
    rows = _row(table.heads, "th") + "".join(map(_row, table.rows))
    return f"<table><caption>{escape(table.caption)}</caption>{rows}</table>{notes}"


def _row(cells: Iterable[str], tag: str = "td") -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"


def question_html(whole: Plain) -> str:
    """Return a question, its answer, gold and evidence, and the edges of the answer's graph.

    `whole` is what `questions.question_whole` makes.
    """
    gold, answer = whole["gold"].get("answers", ()), whole["answer"]
    facts = [("answer", "(no answer)" if answer is None else str(answer))]
    facts += [("gold", " | ".join(gold))] if gold else []
    facts += [(place, ", ".join(names)) for place, names in whole["found"].items() if names]
    names = {
        node["id"]: node["label"] + "".join(f" ({role})" for role in _ROLES if node.get(role))
        for node in whole["graph"]["nodes"]
    }
    edges = [
        (names[edge["s"]], edge.get("label", "is in"), names[edge["t"]])
        for edge in whole["graph"]["edges"]
        if edge.get("found") or edge.get("in")
    ]
    return tables_html([
        Table(whole["question"], ("", ""), tuple(facts), ()),
        Table("graph of the answer", ("from", "relationship", "to"), tuple(edges), ()),
    ])  # fmt: skip
