"""Linking and merging of names: evidence recall of their parts, dev and test apart.

Runs HippoRAG (spaCy graph), LinearRAG and the entity-passage graph with the parts of
`method.linking` and the rules of `method.single_words`, and the last one with the rules of
`build.graph.resolve`, without a language model, and writes docs/results/linking.md. What is stored
is not run again.

Usage: python scripts/linking.py --musique FOLDER [--home FOLDER]
  --musique  a folder with corpus.json and questions.json in HippoRAG's layout
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from llm_free import COMPARED, Row, run, sets

from graphrag_bench.data.splits import is_dev
from graphrag_bench.offline.entity_passage import RULES

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "results" / "linking.md"
SETS = ("musique", "sample", "world_1000")
HIPPORAG = ("method=hipporag", "build.extraction=nlp")
LINEARRAG, PASSAGES = ("method=linearrag",), ("method=entitypassage",)
ALL = "dictionary,mentions,vectors"
ROWS: Sequence[tuple[str, str, str, tuple[str, ...]]] = (
    *(("HippoRAG", parts, "titles", HIPPORAG)
      for parts in ("vectors", "mentions,vectors", "dictionary,vectors", ALL)),
    *(("HippoRAG", ALL, rule, HIPPORAG) for rule in ("proper", "any", "none")),
    *(("LinearRAG", parts, "titles", LINEARRAG)
      for parts in ("vectors", "mentions,vectors", "dictionary,vectors", ALL)),
    *(("entity-passage graph", parts, "titles", PASSAGES)
      for parts in ("mentions", "dictionary", "dictionary,mentions")),
    *(("entity-passage graph", "dictionary,mentions", rule, PASSAGES)
      for rule in ("proper", "any", "none")),
)  # fmt: skip
"""Method, parts, rule for single words, and words of the command."""
MERGED = ((), RULES, *((rule,) for rule in RULES), (*RULES, "also_known"))
ABOUT = """\
# Linking and merging of names

Written by `python scripts/linking.py --musique FOLDER`: evidence recall@5 without a language model
(all-MiniLM-L6-v2, graphs by spaCy), as dev half / test half of the questions (`split=dev|test`).
`linking` are the parts of `method.linking` in their order: the longest node names that the question
has (`dictionary`), the tagger's names (`mentions`), the nearest node by vector for each that is
left (`vectors`). `single words`: which names of one word the dictionary links.
"""
ABOUT_MERGED = """\
## Names that are merged

The entity-passage graph with the rules of `build.graph.resolve`.
"""


def told(row: Row) -> str:
    """Recall@5 of the dev half and of the test half."""
    parts: dict[bool, list[float]] = {True: [], False: []}
    for question, scores in row.scores.items():
        parts[is_dev(question)].append(scores[COMPARED])
    return " / ".join(f"{fmean(parts[dev]):.3f}" for dev in (True, False))


def page(known: Mapping[str, Sequence[str]], home: str) -> str:
    """The page; runs what is missing."""
    heads = ("method", "linking", "single words", *SETS)
    lines = [*ABOUT.splitlines(), "", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for method, parts, rule, words in ROWS:
        own = (*words, f"method.linking=[{parts}]", f"method.single_words={rule}")
        cells = [told(run(method, (*known[name], *own), home)) for name in SETS]
        lines.append(f"| {' | '.join((method, parts.replace(',', ', '), rule, *cells))} |")
    lines += ["", *ABOUT_MERGED.splitlines(), "", f"| rules | {' | '.join(SETS)} |"]
    lines.append("|---" * (1 + len(SETS)) + "|")
    for rules in MERGED:
        own = (*PASSAGES, f"build.graph.resolve=[{','.join(rules)}]")
        cells = [told(run(f"– {rules}", (*known[name], *own), home)) for name in SETS]
        lines.append(f"| {' | '.join((', '.join(rules) or 'none', *cells))} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run what is missing and write the page; the exit code is 0."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--musique", required=True)
    parser.add_argument("--home", default=".")
    asked = parser.parse_args()
    PAGE.write_text(page(sets(asked.musique, "", asked.home), asked.home), encoding="utf-8")
    print(PAGE.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
