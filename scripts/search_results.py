"""What searches over pipelines found on three sets: docs/results/search.md.

Runs `graphrag-bench search` for each set, or for those of --only; a search that is stored is not
run again. Writes the page's tables; what the page says about them is written by hand.

Usage: python scripts/search_results.py MUSIQUE [--home FOLDER] [--only NAME]
  MUSIQUE  corpus.json, questions.json and openie*.json in HippoRAG's layout
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "results" / "search.md"
BEGIN, END = "<!-- tables: scripts/search_results.py -->", "<!-- end of tables -->"
COMMON = ("answer=off", "best=5")
SETS = {
    "sample": ("dataset=sample", "cells=300", "max_steps=5"),
    "world": ("dataset=world", "limit=120", "cells=200", "max_steps=4"),
    "musique": (
        "dataset=musique",
        "dataset.root={musique}",
        "graphs=none,entities,kg,entity_passage",
        "cells=80",
        "max_steps=4",
    ),
}


def searched(name: str, musique: Path, home: Path) -> str:
    """The command of a search and what it printed, as markdown."""
    words = [word.format(musique=musique) for word in (*SETS[name], *COMMON)]
    done = subprocess.run(
        [sys.executable, "-m", "graphrag_bench.cli.main", "search", *words, f"paths.home={home}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{name}: {done.stderr}")
    shown = " ".join(word.replace(str(musique), "FOLDER") for word in words)
    lines = [line for line in done.stdout.splitlines() if not line.startswith("method: ")]
    return f"### {name}\n\n`graphrag-bench search {shown}`\n\n" + _table(lines) + "\n"


def _table(lines: list[str]) -> str:
    """The printed table and its notes as markdown."""
    rows = [
        [cell.strip() for cell in line.strip("│┃ \n").replace("┃", "│").split("│")]
        for line in lines
        if line.startswith(("│", "┃"))
    ]
    notes = [line for line in lines if line and line[0] not in "│┃┏┡└├"]
    made = ["| " + " | ".join(row) + " |" for row in rows]
    made.insert(1, "|" + "---|" * len(rows[0]))
    return "\n".join([f"*{notes[0]}*", "", *made, "", *(f"- {note}" for note in notes[1:]), ""])


def main() -> int:
    """Search, and write the page's tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("musique", type=Path)
    parser.add_argument("--home", type=Path, default=Path("."))
    parser.add_argument("--only", choices=list(SETS), action="append")
    asked = parser.parse_args()
    home = asked.home.resolve()
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    tables, _, after = rest.partition(END)
    held = {part.split("\n", 1)[0]: f"### {part}" for part in tables.strip().split("### ")[1:]}
    for name in asked.only or SETS:
        held[name] = searched(name, asked.musique.resolve(), home)
    parts = "\n\n".join(held[name].strip() for name in SETS if name in held)
    PAGE.write_text(f"{before}{BEGIN}\n\n{parts}\n\n{END}{after}", encoding="utf-8")
    print(f"wrote {PAGE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
