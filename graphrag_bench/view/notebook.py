"""A run's table and the graph of one answer as HTML for a notebook; every text is escaped."""

import random
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from graphrag_bench.report.rendering import Table

Plain = Mapping[str, Any]
_WIDTH, _HEIGHT, _MARGIN = 760, 480, 60
_COLOURS = {"gold": "#009E73", "seed": "#E69F00", "chunk": "#56B4E9", "node": "#0072B2"}
_STYLE = 'style="max-width:100%" font-family="sans-serif" font-size="10" text-anchor="middle"'


def tables_html(tables: Iterable[Table]) -> str:
    """Return tables with their captions and notes."""
    return "".join(map(_table, tables))


def _table(table: Table) -> str:
    notes = "".join(f"<div><small>{escape(note)}</small></div>" for note in table.notes)
    rows = _row(table.heads, "th") + "".join(map(_row, table.rows))
    return f"<table><caption>{escape(table.caption)}</caption>{rows}</table>{notes}"


def _row(cells: Iterable[str], tag: str = "td") -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"


def question_html(whole: Plain) -> str:
    """Return a question, its answer, gold and evidence, and the graph of the answer as SVG.

    `whole` is what `questions.question_whole` makes.
    """
    gold, answer = whole["gold"].get("answers", ()), whole["answer"]
    rows = [("answer", "(no answer)" if answer is None else str(answer))]
    rows += [("gold", " | ".join(gold))] if gold else []
    rows += [(place, ", ".join(names)) for place, names in whole["found"].items() if names]
    table = "".join(map(_row, rows))
    title = f"<caption>{escape(whole['question'])}</caption>"
    return f"<div><table>{title}{table}</table>{graph_svg(whole['graph'])}</div>"


def graph_svg(graph: Plain) -> str:
    """Return the drawing of `answer_graph` as inline SVG; texts show on hovering.

    The same graph is drawn the same each time.
    """
    import igraph

    nodes = graph["nodes"]
    if not nodes:
        return "<div><small>The steps have found no node of a graph and no chunk.</small></div>"
    rows = {node["id"]: row for row, node in enumerate(nodes)}
    ends = [(rows[edge["s"]], rows[edge["t"]]) for edge in graph["edges"]]
    chance = random.Random(0)
    start = [(chance.random(), chance.random()) for _ in nodes]
    layout = igraph.Graph(len(nodes), ends).layout_kamada_kawai(seed=start)
    layout.fit_into((_MARGIN, 20, _WIDTH - _MARGIN, _HEIGHT - 30), keep_aspect_ratio=False)
    places = [(round(x, 1), round(y, 1)) for x, y in layout.coords]
    lines = ""
    for edge, (source, target) in zip(graph["edges"], ends, strict=True):
        (x1, y1), (x2, y2) = places[source], places[target]
        title = f"<title>{escape(edge.get('label', ''))}</title>"
        lines += f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#999">{title}</line>'
    shapes = "".join(_node(node, *place) for node, place in zip(nodes, places, strict=True))
    legend = ", ".join(f'<tspan fill="{paint}">{role}</tspan>' for role, paint in _COLOURS.items())
    text = f'<text x="{_WIDTH // 2}" y="{_HEIGHT - 4}">{legend}</text>'
    box = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}"'
    return f"<svg {box} {_STYLE}>{lines}{shapes}{text}</svg>"


def _node(node: Plain, x: float, y: float) -> str:
    role = next((name for name in ("gold", "seed") if node.get(name)), node["kind"])
    hover = escape(f"{node['label']}\n{node.get('text', '')}".strip())
    circle = f'<circle cx="{x}" cy="{y}" r="7" fill="{_COLOURS[role]}"/>'
    label = f'<text x="{x}" y="{y + 17:.1f}">{escape(node["label"])}</text>'
    return f"<g>{circle}{label}<title>{hover}</title></g>"
