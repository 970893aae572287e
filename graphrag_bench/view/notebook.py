"""A run's table and the graph of one answer as HTML for a notebook; every text is escaped."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from graphrag_bench.report.rendering import Table

Plain = Mapping[str, Any]
WIDTH, HEIGHT, MARGIN = 760, 480, 60
SEED = 0
"""Of the layout: the same question is shapes the same each time."""
_COLOURS = {"seed": "#E69F00", "found": "#0072B2", "other": "#999999", "chunk": "#56B4E9"}
_GOLD, _LINE = "#009E73", "#8a9099"
_LEGEND = "◆ seed, ● node, ■ chunk; green border: gold evidence; dashed: not retrieved"


def tables_html(tables: Iterable[Table]) -> str:
    """Return tables with their captions and notes."""
    return "".join(map(_table, tables))


def _table(table: Table) -> str:
    heads = "".join(f"<th>{escape(head)}</th>" for head in table.heads)
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in table.rows
    )
    notes = "".join(f"<div><small>{escape(note)}</small></div>" for note in table.below)
    return (
        f"<table><caption>{escape(table.caption)}</caption><thead><tr>{heads}</tr></thead>"
        f"<tbody>{rows}</tbody></table>{notes}"
    )


def question_html(whole: Plain) -> str:
    """Return a question, its answer, gold and evidence, and the graph of the answer as SVG.

    `whole` is what `questions.question_whole` makes.
    """
    gold = whole["gold"].get("answers", ())
    answer = "(no answer)" if whole["answer"] is None else str(whole["answer"])
    evidence = "".join(
        f"<div><small>{escape(place)}: {escape(', '.join(names))}</small></div>"
        for place, names in whole["found"].items()
        if names
    )
    head = [f"<b>{escape(whole['question'])}</b>", f"→ {escape(answer)}"]
    head += [f"<small>gold: {escape(' | '.join(gold))}</small>"] if gold else []
    lines = "".join(f"<div>{line}</div>" for line in head)
    return f"<div>{lines}{evidence}{graph_svg(whole['graph'])}</div>"


def graph_svg(graph: Plain) -> str:
    """Return the drawing of `answer_graph` as inline SVG; names and texts show on hovering."""
    nodes: Sequence[Plain] = graph["nodes"]
    if not nodes:
        return "<div><small>The steps have kept no node of a graph and no chunk.</small></div>"
    at = _layout(nodes, graph["edges"])
    edges = "".join(_edge(edge, at) for edge in graph["edges"])
    shapes = "".join(_node(node, *at[node["id"]]) for node in nodes)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" style="max-width:100%" role="img" '
        f'font-family="sans-serif" font-size="10">{edges}{shapes}</svg>'
        f"<div><small>{_LEGEND}</small></div>"
    )


def _layout(nodes: Sequence[Plain], edges: Sequence[Plain]) -> dict[str, tuple[float, float]]:
    import random

    import igraph

    rows = {node["id"]: row for row, node in enumerate(nodes)}
    drawing = igraph.Graph(len(nodes), [(rows[edge["s"]], rows[edge["t"]]) for edge in edges])
    chance = random.Random(SEED)
    start = [(chance.random(), chance.random()) for _ in nodes]
    places = drawing.layout_kamada_kawai(seed=start)
    places.fit_into((MARGIN, MARGIN / 2, WIDTH - MARGIN, HEIGHT - MARGIN / 2), False)
    return {node["id"]: (x, y) for node, (x, y) in zip(nodes, places.coords, strict=True)}


def _edge(edge: Plain, at: Mapping[str, tuple[float, float]]) -> str:
    (x1, y1), (x2, y2) = at[edge["s"]], at[edge["t"]]
    colour, width = (_COLOURS["found"], 1.6) if edge.get("found") else (_LINE, 0.8)
    dashes = ' stroke-dasharray="3 3"' if edge.get("in") else ""
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
        f'stroke-width="{width}"{dashes}><title>{escape(edge.get("label", ""))}</title></line>'
    )


def _node(node: Plain, x: float, y: float) -> str:
    chunk, found = node["kind"] == "chunk", node.get("found")
    kind = "chunk" if chunk else "seed" if node.get("seed") else "found" if found else "other"
    border = f'stroke="{_GOLD}" stroke-width="3"' if node.get("gold") else 'stroke="none"'
    border += ' stroke-dasharray="3 2" fill-opacity="0.3"' if chunk and not found else ""
    paint = f'fill="{_COLOURS[kind]}" {border}'
    if chunk:
        shape = f'<rect x="{x - 8:.1f}" y="{y - 6:.1f}" width="16" height="12" rx="2" {paint}/>'
    elif kind == "seed":
        corners = f"{x:.1f},{y - 9:.1f} {x + 9:.1f},{y:.1f} {x:.1f},{y + 9:.1f} {x - 9:.1f},{y:.1f}"
        shape = f'<polygon points="{corners}" {paint}/>'
    else:
        shape = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="7" {paint}/>'
    place = f'x="{x:.1f}" y="{y + 19:.1f}" text-anchor="middle"'
    hover = f"{node['label']}\n{node.get('text', '')}".strip()
    label = f"<text {place}>{escape(node['label'])}</text>"
    return f"<g>{shape}{label}<title>{escape(hover)}</title></g>"
