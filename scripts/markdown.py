"""Write pages and Markdown tables, and replace the part of a page between two markers."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def write_pages(pages: Mapping[Path, str]) -> None:
    """Write the text of each page, and print its path."""
    for path, text in pages.items():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    head, *lines = [f"| {' | '.join(cells)} |" for cells in (heads, *rows)]
    return [head, "|" + "---|" * len(heads), *lines]


def with_part(page: str, part: str, script: str, lines: Iterable[str]) -> str:
    """Return a page with new lines between `<!-- part: scripts/script -->` and the end marker."""
    begin, end = f"<!-- {part}: scripts/{script} -->", f"<!-- end of {part} -->"
    before, rest = page.split(begin)
    return "\n".join([f"{before}{begin}", *lines, f"{end}{rest.split(end)[1]}"])
