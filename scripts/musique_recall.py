"""Evidence recall of every method that returns passages, on 100 MuSiQue questions with OpenIE.

Runs what is not stored, a process for each row, and writes the table of
docs/results/musique_train100.md; what the page says about it is written by hand.

Usage: python scripts/musique_recall.py FOLDER [--home FOLDER]
  FOLDER  corpus.json, questions.json and openie*.json in HippoRAG's layout
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from llm_free import COMPARED, Row, run_alone

from graphrag_bench.evaluation.statistics import paired_difference

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "results" / "musique_train100.md"
BEGIN, END = "<!-- table: scripts/musique_recall.py -->", "<!-- end of table -->"
HEADS = (
    "method", "graph", "linking", "@2", "@5", "@10", "@5 minus VanillaRAG [95 %]", "p",
    "better / same / worse",
)  # fmt: skip
FIRST = "VanillaRAG"
OPENIE, ABOUT, TKG, RKG = "OpenIE", "OpenIE, titles=about", "TKG (spaCy)", "RKG (spaCy)"
NONE, ONE, TWO, ALL = "–", "vectors", "dictionary, mentions", "dictionary, mentions, vectors"
UNLINKED, VECTORS = "method.linking=[]", "method.linking=[vectors]"
NAMES = "method.linking=[dictionary,mentions,vectors]"
TITLES = "build.graph.titles=about"
Told = tuple[str, str, str, tuple[str, ...]]
ROWS: Sequence[Told] = (
    (FIRST, "none", NONE, ("method=vanilla",)),
    ("BM25", "none", NONE, ("method=bm25",)),
    ("hybrid (BM25 + dense)", "none", NONE, ("method=hybrid",)),
    ("entity-passage graph", "names and titles (spaCy)", TWO, ("method=entitypassage",)),
    ("HippoRAG", OPENIE, ALL, ("method=hipporag",)),
    ("HippoRAG", OPENIE, ONE, ("method=hipporag", VECTORS)),
    ("HippoRAG 2", OPENIE, "none", ("method=hipporag2", UNLINKED)),
    ("HippoRAG 2", OPENIE, ONE, ("method=hipporag2", VECTORS)),
    ("HippoRAG 2", OPENIE, ALL, ("method=hipporag2", NAMES)),
    ("HippoRAG 2", ABOUT, "none", ("method=hipporag2", TITLES, UNLINKED)),
    ("HippoRAG 2", ABOUT, ONE, ("method=hipporag2", TITLES, VECTORS)),
    ("HippoRAG 2", ABOUT, ALL, ("method=hipporag2", TITLES, NAMES)),
    ("HippoRAG 2 (NER to node)", OPENIE, ALL, ("method=hipporag2_ner",)),
    ("HippoRAG 2 (NER to node)", OPENIE, ONE, ("method=hipporag2_ner", VECTORS)),
    ("LinearRAG", "entities (spaCy)", ONE, ("method=linearrag",)),
    ("LinearRAG", "entities (spaCy)", ALL, ("method=linearrag", NAMES)),
    ("NodeRAG", "seven types of nodes (spaCy)", "mentions", ("method=noderag",)),
    ("Youtu-GraphRAG", "types, attributes (spaCy)", TWO, ("method=youtugraphrag",)),
    ("HopRAG", "questions passages raise (spaCy)", NONE, ("method=hoprag",)),
    ("KET-RAG", "TKG of core passages (spaCy)", NONE, ("method=ketrag",)),
    ("DRIFT", TKG, NONE, ("method=drift_nlp",)),
    ("FastGraphRAG", TKG, ALL, ("method=fastgraphrag",)),
    ("FastGraphRAG", TKG, ONE, ("method=fastgraphrag", VECTORS)),
    ("LGraphRAG", TKG, NONE, ("method=lgraphrag",)),
    ("VGraphRAG", TKG, NONE, ("method=vgraphrag",)),
    ("GraphRAG-CC", TKG, NONE, ("method=graphrag_cc",)),
    ("VGraphRAG-CC", TKG, NONE, ("method=vgraphrag_cc",)),
    ("CheapRAG", TKG, NONE, ("method=cheaprag",)),
    ("LLightRAG", RKG, TWO, ("method=llightrag",)),
    ("LLightRAG", RKG, "none", ("method=llightrag", UNLINKED)),
    ("GLightRAG", RKG, NONE, ("method=glightrag",)),
    ("HLightRAG", RKG, TWO, ("method=hlightrag",)),
    ("HLightRAG", RKG, "none", ("method=hlightrag", UNLINKED)),
    ("LightRAG mix", RKG, TWO, ("method=lightrag_mix",)),
    ("LightRAG mix", RKG, "none", ("method=lightrag_mix", UNLINKED)),
    ("PathRAG", RKG, NONE, ("method=pathrag",)),
    ("PathRAG-lt", RKG, NONE, ("method=pathrag_lt",)),
    ("PathCoRAG", RKG, NONE, ("method=pathcorag",)),
    ("example (themes + PageRank + dense)", RKG, NONE, ("method=example_new_method",)),
    ("RAPTOR", "tree", NONE, ("method=raptor",)),
    ("RAPTOR-K", "tree (k-means)", NONE, ("method=raptor_kmeans",)),
)  # fmt: skip


def cells(told: Told, row: Row, first: Row) -> list[str]:
    """The cells of a row, with its difference from the first."""
    means = [f"{row.means[at]:.3f}" for at in range(3)]
    if row is first:
        return [*told[:3], *means, NONE, NONE, NONE]
    pairs = [
        (row.scores[one].get(COMPARED, 0.0), held[COMPARED]) for one, held in first.scores.items()
    ]
    found = paired_difference([other for _, other in pairs], [own for own, _ in pairs])
    better = sum(own > other for own, other in pairs)
    worse = sum(own < other for own, other in pairs)
    counts = f"{better} / {len(pairs) - better - worse} / {worse}"
    interval = f"{found.mean:+.3f} [{found.low:+.3f}, {found.high:+.3f}]"
    return [*told[:3], *means, interval, f"{found.p:.3f}", counts]


def main() -> int:
    """Run what is missing and write the table into the page; the exit code is 0."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--home", default=".")
    asked = parser.parse_args()
    words = ("dataset=musique", f"dataset.root={asked.folder}", "budget_context=native")
    held = [run_alone(told[0], (*words, *told[3]), asked.home) for told in ROWS]
    lines = [cells(told, row, held[0]) for told, row in zip(ROWS, held, strict=True)]
    lines.sort(key=lambda line: (-float(line[4]), line[:3]))
    table = [HEADS, ["---"] * len(HEADS), *lines]
    text = "\n".join(f"| {' | '.join(line)} |" for line in table)
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}", encoding="utf-8")
    print(PAGE.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
