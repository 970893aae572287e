"""Linking and merging of names: evidence recall of their parts, dev and test apart.

Runs methods that link names on graphs by spaCy with the parts of `method.linking`, the rules of
`method.single_words` and thresholds, and the entity-passage graph with the rules of
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
HIPPORAG2 = ("method=hipporag2", "build.extraction=nlp")
LINEARRAG, PASSAGES = ("method=linearrag",), ("method=entitypassage",)
LIGHTRAG, FASTGRAPHRAG = ("method=hlightrag",), ("method=fastgraphrag",)
TWO, ALL = "dictionary,mentions", "dictionary,mentions,vectors"
TRIED = ("vectors", "mentions,vectors", "dictionary,vectors", ALL)
THRESHOLDS = ("method.min_score=0.6", "method.min_score=0.8", "method.min_score=0.95")
SINGLE = tuple(f"method.single_words={rule}" for rule in ("proper", "any", "none"))
ROWS: Sequence[tuple[str, str, str, tuple[str, ...]]] = (
    *(("HippoRAG", parts, "", HIPPORAG) for parts in TRIED),
    *(("HippoRAG", ALL, more, HIPPORAG) for more in (*SINGLE, *THRESHOLDS)),
    *(("HippoRAG 2", parts, "", HIPPORAG2) for parts in ("", "vectors", TWO, ALL)),
    *(("LinearRAG", parts, "", LINEARRAG) for parts in TRIED),
    *(("FastGraphRAG", parts, "", FASTGRAPHRAG) for parts in ("vectors", ALL)),
    *(("LightRAG, hybrid", parts, "", LIGHTRAG) for parts in ("", TWO, ALL)),
    *(("entity-passage graph", parts, "", PASSAGES) for parts in ("mentions", "dictionary", TWO)),
    *(("entity-passage graph", TWO, more, PASSAGES) for more in SINGLE),
)
"""Method, parts, another setting and words of the command."""
MERGED = ((), RULES, *((rule,) for rule in RULES), (*RULES, "also_known"))
ABOUT = """\
# Linking and merging of names

Written by `python scripts/linking.py --musique FOLDER`: evidence recall@5 without a language model
(all-MiniLM-L6-v2, graphs by spaCy), as dev half / test half of the questions (`split=dev|test`).
`linking` are the parts of `method.linking` in their order: the longest node names that the question
has (`dictionary`), the tagger's names (`mentions`), the nearest node by vector for each that is
left (`vectors`); `none` links nothing, so that HippoRAG 2 starts at facts and LightRAG at the nodes
nearest to its keywords. `besides`: another setting than the default.
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
    heads = ("method", "linking", "besides", *SETS)
    lines = [*ABOUT.splitlines(), "", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for method, parts, more, words in ROWS:
        own = (*words, f"method.linking=[{parts}]", *([more] if more else []))
        cells = [told(run(method, (*known[name], *own), home)) for name in SETS]
        said = (method, parts.replace(",", ", ") or "none", f"`{more}`" if more else "")
        lines.append(f"| {' | '.join((*said, *cells))} |")
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
