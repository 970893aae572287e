"""What a graph gains over vectors, by how names link a corpus, on sets with known gain.

Runs both methods of configs/expected_gain.yaml on worlds whose linkage is planted and on the sets
at hand, writes the shares and gains that `plan --corpus` predicts from, and the table of
docs/results/corpus.md with the error of each set predicted from the others.

Usage: python scripts/corpus_gain.py [--musique FOLDER] [--mix FOLDER --questions FOLDER]
  --musique    corpus.json and questions.json in HippoRAG's layout
  --mix        UltraDomain's corpus.jsonl; its questions are made by
               `graphrag-bench questions kind=specific wording=template`
  --home       where runs and artifacts are stored
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import fmean

import yaml

import graphrag_bench as gb
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.explain.corpus import NEAREST, Linkage, Measured, known, left_out, linkage
from scripts import markdown

ROOT = Path(__file__).resolve().parent.parent
TABLE, PAGE = ROOT / "configs" / "expected_gain.yaml", ROOT / "docs" / "results" / "corpus.md"
WORLDS: Sequence[Mapping[str, float]] = (
    {"hops": 1},
    {"hops": 2},
    {"hops": 3},
    {"hops": 4},
    {"hops": 2, "removed": 0.5},
    {"hops": 3, "removed": 0.3},
    {"hops": 3, "removed": 0.6},
    {"hops": 3, "alias_rate": 0.8},
    {"hops": 3, "noise": 0.5},
)
SIZE = 300
MIX_CHUNKS = {"variant": "token", "size": 300}
HEADS = ("set", "linked", "named", "pairs", "missed", "reachable", "gain")
LEFT_OUT = ("predicted by reachable", "by linked")


def sets(musique: str, mix: str, questions: str) -> dict[str, Dataset]:
    """The sets by name."""
    every = {
        f"world, {', '.join(f'{name} {value:g}' for name, value in world.items())}":
        gb.dataset("world", size=SIZE, **world)
        for world in WORLDS
    }  # fmt: skip
    every["sample"] = gb.dataset("sample")
    if musique:
        every["musique"] = gb.dataset("musique", root=musique)
    if mix:
        every["mix"] = gb.dataset("ultradomain_mix", root=mix, questions=questions)
    return every


def measured(name: str, data: Dataset, home: str) -> tuple[Linkage, Measured]:
    """Run both methods on a set; evidence recall alone is scored."""
    settings = {"answer": "off", "paths": {"home": home}, "evaluation": {"cuts": [NEAREST]}}
    if name == "mix":
        settings["chunking"] = MIX_CHUNKS
    runs = [gb.method(method).run(data, **settings) for method in (known().vectors, known().graph)]
    recalls = [run.metrics["metrics"][f"evidence_recall@{NEAREST}"]["mean"] for run in runs]
    links = linkage(runs[0].experiment, runs[1].experiment)
    gain = round(recalls[1] - recalls[0], 4)
    shares = (round(links.linked, 4), round(links.reachable or 0.0, 4))
    return links, Measured(name, *shares, gain)


def table(rows: Sequence[tuple[Linkage, Measured]]) -> list[str]:
    """The shares of each set, its gain, and the gain predicted from the other sets."""
    gains = [one.gain for _, one in rows]
    misses = {
        of: left_out([getattr(one, of) for _, one in rows], gains) for of in ("reachable", "linked")
    }
    lines = []
    for row, (links, one) in enumerate(rows):
        shares = (links.linked, links.named, links.pairs, links.missed, links.reachable)
        cells = ["–" if share is None else f"{share:.3f}" for share in shares]
        predicted = [f"{one.gain - misses[of][row]:+.3f}" for of in misses]
        lines.append([one.name, *cells, f"{one.gain:+.3f}", *predicted])
    errors = [f"{fmean(miss**2 for miss in of) ** 0.5:.3f}" for of in misses.values()]
    last = ["root mean square error", *[" "] * (len(HEADS) - 1), *errors]
    return markdown.table((*HEADS, *LEFT_OUT), [*lines, last])


def main() -> int:
    """Run what is missing, write the YAML file and the table of the page; the exit code is 0."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name in ("musique", "mix", "questions"):
        parser.add_argument(f"--{name}", default="")
    parser.add_argument("--home", default=".")
    options = parser.parse_args()
    every = sets(options.musique, options.mix, options.questions)
    rows = [measured(name, data, options.home) for name, data in every.items()]
    content = {
        "vectors": known().vectors,
        "graph": known().graph,
        "sets": [asdict(one) for _, one in rows],
    }
    TABLE.write_text(
        "# Written by scripts/corpus_gain.py, read by `plan --corpus`: docs/results/corpus.md\n"
        + yaml.safe_dump(content, sort_keys=False)
    )
    text = PAGE.read_text(encoding="utf-8")
    text = markdown.with_part(text, "table", "corpus_gain.py", table(rows))
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
