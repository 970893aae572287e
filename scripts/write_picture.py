"""Draw docs/img/stages-light.svg and stages-dark.svg: the four stages and the operators of Table 3.

Usage: python scripts/write_picture.py
"""

from collections.abc import Iterator
from html import escape
from itertools import pairwise

from graphrag_bench.contract import TABLE3
from scripts.markdown import ROOT, write_pages

COLOURS = {
    "light": ("#1f2328", "#59636e", "#8c959f", "#f6f8fa"),
    "dark": ("#f0f6fc", "#9198a1", "#6e7681", "#151b23"),
}
"""Colours of texts, muted texts, lines and boxes."""
HUES = {
    "node": "#4c78a8", "relationship": "#d9822b", "chunk": "#3a9b72",
    "subgraph": "#a55bb0", "community": "#c2525a",
}  # fmt: skip
STAGES = (
    ("1  Graph building", 8, 142, "chunks|tree|passage graph|KG, TKG, RKG"),
    ("2  Index construction", 172, 152, "node vectors|fact vectors|chunk vectors|BM25|communities"),
    ("3  Operator configuration", 346, 480, ""),
    ("4  Retrieval & generation", 848, 164,
     "convert question|retrieve, step by step|pack context|answer"),
)  # fmt: skip
BOLD = 'font-weight="600"'
WIDTH, HEIGHT, TOP, ROW = 1020, 268, 36, 27
BOTTOM = HEIGHT - TOP - 8


def text(x: float, y: float, words: str, colour: str, style: str = "") -> str:
    """Return one centred line of text."""
    return f'<text x="{x:g}" y="{y:g}" fill="{colour}" {style}>{escape(words)}</text>'


def box(x: float, y: float, width: float, height: float, line: str, fill: str) -> str:
    """Return a rounded rectangle."""
    size = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
    return f'<rect {size} rx="6" stroke="{line}" fill="{fill}"/>'


def drawing(colour: str, muted: str, line: str, fill: str) -> Iterator[str]:
    """Yield the lines of the picture in these colours."""
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'font-family="system-ui, sans-serif" font-size="12.5" text-anchor="middle" '
        'aria-label="A method in four stages, with the 19 operators of Zhou et al. 2025">'
    )
    for title, x, width, lines in STAGES:
        yield box(x, TOP, width, BOTTOM, line, fill)
        yield text(x + width / 2, TOP - 12, title, colour, BOLD)
        for row, words in enumerate(filter(None, lines.split("|"))):
            yield text(x + width / 2, TOP + 44 + row * 38, words, muted)
    for (_, x, width, _), (_, end, _, _) in pairwise(STAGES):
        arrow = f"M{x + width + 3} {TOP + BOTTOM / 2}H{end - 4}m-5 -4l5 4l-5 4"
        yield f'<path d="{arrow}" stroke="{line}" fill="none"/>'
    _, x, width, _ = STAGES[2]
    column = (width - 12) / len(TABLE3)
    for place, (family, names) in enumerate(TABLE3.items()):
        left = x + 6 + place * column
        yield text(left + column / 2, TOP + 22, family, HUES[family], BOLD)
        for row, name in enumerate(names):
            y = TOP + 32 + row * ROW
            yield box(left + 4, y, column - 8, ROW - 5, HUES[family], "none")
            yield text(left + column / 2, y + 15, name, colour)
    yield "</svg>\n"


if __name__ == "__main__":
    drawings = {theme: "\n".join(drawing(*colours)) for theme, colours in COLOURS.items()}
    write_pages({ROOT / f"docs/img/stages-{theme}.svg": text for theme, text in drawings.items()})
