"""Draw docs/img/stages-light.svg and stages-dark.svg: the four stages and the operators of Table 3.

Usage: python scripts/write_picture.py
"""

from collections.abc import Iterator
from html import escape
from pathlib import Path

from graphrag_bench.contract import TABLE3

ROOT = Path(__file__).resolve().parent.parent
COLOURS = {
    "light": {"text": "#1f2328", "muted": "#59636e", "line": "#8c959f", "fill": "#f6f8fa"},
    "dark": {"text": "#f0f6fc", "muted": "#9198a1", "line": "#6e7681", "fill": "#151b23"},
}
HUES = {
    "node": "#4c78a8", "relationship": "#d9822b", "chunk": "#3a9b72",
    "subgraph": "#a55bb0", "community": "#c2525a",
}  # fmt: skip
STAGES = (
    ("1  Graph building", 8, 142, ("chunks", "tree", "passage graph", "KG, TKG, RKG")),
    ("2  Index construction", 172, 152,
     ("node vectors", "fact vectors", "chunk vectors", "BM25", "communities")),
    ("3  Operator configuration", 346, 480, ()),
    ("4  Retrieval & generation", 848, 164,
     ("convert question", "retrieve, step by step", "pack context", "answer")),
)  # fmt: skip
WIDTH, HEIGHT, TOP, ROW = 1020, 268, 36, 27


def text(x: float, y: float, words: str, colour: str, style: str = "") -> str:
    """Return one centred line of text."""
    return f'<text x="{x:g}" y="{y:g}" fill="{colour}" {style}>{escape(words)}</text>'


def box(x: float, y: float, width: float, height: float, line: str, fill: str) -> str:
    """Return a rounded rectangle."""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6" '
        f'stroke="{line}" fill="{fill}"/>'
    )


def drawing(colours: dict[str, str]) -> Iterator[str]:
    """Yield the lines of the picture in these colours."""
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'font-family="system-ui, sans-serif" font-size="12.5" text-anchor="middle" '
        'aria-label="A method in four stages, with the 19 operators of Zhou et al. 2025">'
    )
    bottom = HEIGHT - TOP - 8
    for title, x, width, lines in STAGES:
        yield box(x, TOP, width, bottom, colours["line"], colours["fill"])
        yield text(x + width / 2, TOP - 12, title, colours["text"], 'font-weight="600"')
        for row, words in enumerate(lines):
            yield text(x + width / 2, TOP + 44 + row * 38, words, colours["muted"])
    for (_, x, width, _), (_, end, _, _) in zip(STAGES, STAGES[1:], strict=False):
        y, start = TOP + bottom / 2, x + width
        arrow = f"M{start + 3} {y}H{end - 4}m-5 -4l5 4l-5 4"
        yield f'<path d="{arrow}" stroke="{colours["line"]}" fill="none"/>'
    _, x, width, _ = STAGES[2]
    column = (width - 12) / len(TABLE3)
    for place, (family, names) in enumerate(TABLE3.items()):
        left = x + 6 + place * column
        yield text(left + column / 2, TOP + 22, family, HUES[family], 'font-weight="600"')
        for row, name in enumerate(names):
            y = TOP + 32 + row * ROW
            yield box(left + 4, y, column - 8, ROW - 5, HUES[family], "none")
            yield text(left + column / 2, y + 15, name, colours["text"])
    yield "</svg>\n"


if __name__ == "__main__":
    for theme, colours in COLOURS.items():
        path = ROOT / f"docs/img/stages-{theme}.svg"
        path.write_text("\n".join(drawing(colours)), encoding="utf-8")
        print(path.relative_to(ROOT))
