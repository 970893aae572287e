"""Evidence of every method that retrieves without a language model and ranks passages, on one set.

Runs what is not stored and writes the table of the set's page in docs/results; what the page says
about it is written by hand.

Usage: python scripts/evidence_recall.py musique FOLDER [--home FOLDER]
       python scripts/evidence_recall.py sample [--home FOLDER]
  FOLDER  corpus.json, questions.json and openie*.json in HippoRAG's layout
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from graphrag_bench.config.compose import composed
from graphrag_bench.evaluation.statistics import paired_difference
from graphrag_bench.progress import Progress
from graphrag_bench.run.execute import RunResult, execute
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.results import scores_over_repeats
from scripts.markdown import table, with_part

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results"
PAGES = {"musique": RESULTS / "musique_train100.md", "sample": RESULTS / "sample.md"}
HEADS = (
    "method", "graph", "linking", "in context", "tokens", "@2", "@5", "@10",
    "@5 minus VanillaRAG [95 %]", "p", "better / same / worse",
)  # fmt: skip
COMPARED, IN_CONTEXT = "evidence_recall@5", "evidence_in_context"
FIRST = "VanillaRAG"
OPENIE, ABOUT, TKG, RKG = "OpenIE", "OpenIE, titles=about", "TKG (spaCy)", "RKG (spaCy)"
FACTS = "facts (spaCy)"
NONE, ONE, TWO, ALL = "–", "vectors", "dictionary, mentions", "dictionary, mentions, vectors"
UNLINKED, VECTORS = "method.linking=[]", "method.linking=[vectors]"
NAMES = "method.linking=[dictionary,mentions,vectors]"
TITLES = "build.graph.titles=about"
ONLY = {OPENIE: "musique", ABOUT: "musique", FACTS: "sample"}
"""Graphs that the rows of one set alone have: an OpenIE file comes with MuSiQue."""
RowSpec = tuple[str, str, str, tuple[str, ...]]
ROWS: Sequence[RowSpec] = (
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
    ("HippoRAG", FACTS, ALL, ("method=hipporag",)),
    ("HippoRAG", FACTS, ONE, ("method=hipporag", VECTORS)),
    ("HippoRAG 2", FACTS, "none", ("method=hipporag2", UNLINKED)),
    ("HippoRAG 2", FACTS, ALL, ("method=hipporag2", NAMES)),
    ("HippoRAG 2 (NER to node)", FACTS, ALL, ("method=hipporag2_ner",)),
    ("LinearRAG", "entities (spaCy)", ONE, ("method=linearrag",)),
    ("LinearRAG", "entities (spaCy)", ALL, ("method=linearrag", NAMES)),
    ("NodeRAG", "seven types of nodes (spaCy)", "mentions", ("method=noderag",)),
    ("GFM-RAG", OPENIE, ALL, ("method=gfmrag",)),
    ("GFM-RAG", FACTS, ALL, ("method=gfmrag",)),
    ("GFM-RAG", OPENIE, ONE, ("method=gfmrag", VECTORS)),
    ("HyperGraphRAG", "facts with their entities (spaCy)", "vectors of names",
     ("method=hypergraphrag",)),
    ("PropRAG", "facts, entities, synonyms (spaCy)", NONE, ("method=proprag",)),
    ("Youtu-GraphRAG", "types, attributes (spaCy)", TWO, ("method=youtugraphrag",)),
    ("HopRAG", "questions passages raise (spaCy)", NONE, ("method=hoprag",)),
    ("KET-RAG", "TKG of core passages (spaCy)", NONE, ("method=ketrag",)),
    ("DRIFT", TKG, NONE, ("method=drift_nlp",)),
    ("HiRAG", "TKG in layers (spaCy)", NONE, ("method=hirag",)),
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


def cells(spec: RowSpec, run: RunResult, first: RunResult) -> list[str]:
    """The cells of a row, with its difference from the first."""
    stored, n_tokens = run.metrics["metrics"], run.metrics["usage"]["context_tokens_per_question"]
    scores, others = (scores_over_repeats(one.experiment) for one in (run, first))
    evidence = {name: of[COMPARED] for name, of in others.items() if COMPARED in of}
    shares = [of[IN_CONTEXT] for of in scores.values() if COMPARED in of]
    means = [f"{fmean(shares):.3f}", f"{n_tokens:,.0f}"]
    means += [f"{stored[f'evidence_recall@{at}']['mean']:.3f}" for at in (2, 5, 10)]
    if run is first:
        return [*spec[:3], *means, NONE, NONE, NONE]
    pairs = [(scores[name].get(COMPARED, 0.0), value) for name, value in evidence.items()]
    difference = paired_difference([other for _, other in pairs], [own for own, _ in pairs])
    better = sum(own > other for own, other in pairs)
    worse = sum(own < other for own, other in pairs)
    counts = f"{better} / {len(pairs) - better - worse} / {worse}"
    interval = f"{difference.mean:+.3f} [{difference.low:+.3f}, {difference.high:+.3f}]"
    return [*spec[:3], *means, interval, f"{difference.p:.3f}", counts]


def main() -> int:
    """Run what is missing and write the table into the page; the exit code is 0."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("set", choices=PAGES)
    parser.add_argument("folder", nargs="?", default="")
    parser.add_argument("--home", default=".")
    options = parser.parse_args()
    root = (f"dataset.root={options.folder}",) if options.folder else ()
    words = (
        f"dataset={options.set}", *root, "budget_context=native", "cache.mode=write", "answer=off",
        "reference_rows=off", "evaluation.cuts=[2,5,8,10]", f"paths.home={options.home}",
    )  # fmt: skip
    known = [spec for spec in ROWS if ONLY.get(spec[1], options.set) == options.set]
    runs = [execute(Experiment.prepare(composed((*words, *spec[3]))), Progress()) for spec in known]
    lines = [cells(spec, run, runs[0]) for spec, run in zip(known, runs, strict=True)]
    at = HEADS.index("@5")
    rows = sorted(lines, key=lambda line: (-float(line[at]), line[:3]))
    page = PAGES[options.set]
    text = page.read_text(encoding="utf-8")
    text = with_part(text, "table", "evidence_recall.py", table(HEADS, rows))
    page.write_text(text, encoding="utf-8")
    print(page.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
