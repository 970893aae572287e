"""The study of a growing corpus: recall, cost and drift after each part of it.

Feeds the first fifth, two fifths, ... of a synthetic world to each method, in a home of its own
that keeps what was read before, and builds the same corpora cleanly, nothing stored, in an empty
one. Writes docs/results/growing.md and docs/img/growing.svg. No model is paid: the extractor is the
world's reader.

Usage: python scripts/growing.py [--size 1000] [--parts 5]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from graphrag_bench.analysis.drift import jaccard, members, reports_kept, share_kept
from graphrag_bench.config.compose import composed
from graphrag_bench.config.words import read_words
from graphrag_bench.experiment.execute import execute
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.models.ledger import read_ledger
from graphrag_bench.progress import Progress
from graphrag_bench.runs.stored import StoredRun

ROOT = Path(__file__).resolve().parent.parent
PAGE, PLOT = ROOT / "docs" / "results" / "growing.md", ROOT / "docs" / "img" / "growing.svg"
METHODS: Mapping[str, Sequence[str]] = {
    "BM25": ("method=bm25",),
    "VanillaRAG": ("method=vanilla",),
    "EntityPassage": ("method=entitypassage",),
    "HippoRAG, extraction by a model": ("method=hipporag", "build.extraction=llm"),
    "LGraphRAG, communities anew": ("method=lgraphrag",),
    "LGraphRAG, communities grown": ("method=lgraphrag", "build.communities=leiden_grown"),
}
COMMUNITIES = ("LGraphRAG, communities anew", "LGraphRAG, communities grown")
TOP, METRIC, SMALL, FINE = 10, "evidence_recall@5", 30, 20


@dataclass(frozen=True)
class Built:
    """One method over one part: what it took, and what it found."""

    experiment: Experiment
    seconds: float
    calls: int
    recall: float
    n: int
    found: Mapping[str, Sequence[str]]

    def resources(self, *names: str) -> dict[str, Any]:
        """Artifacts of the run, loaded."""
        experiment = self.experiment
        return experiment.store().resources(experiment.plan, set(names), experiment.models)


def built(words: Sequence[str], home: str, size: int, part: int, parts: int, cache: str) -> Built:
    """Run a method over a part; the seconds are those of building and retrieving."""
    experiment = Experiment.prepare(composed(read_words([
        "dataset=world", f"dataset.size={size}", f"dataset.n_questions={size // 2}", "answer=off",
        "llm=world_reader", f"dataset.part={part}", f"dataset.parts={parts}", f"paths.home={home}",
        f"cache.mode={cache}", "reference_rows=off", *words,
    ])))  # fmt: skip
    began = time.perf_counter()
    done = execute(experiment, Progress(quiet=True))
    seconds = time.perf_counter() - began
    store = experiment.store()
    paths = [path for item in experiment.plan for path in store.ledgers(item)]
    calls = sum(not line.cached for line in read_ledger(*paths))
    found = {
        name: [piece["id"] for piece in row["context"]["pieces"] if piece["kind"] == "chunk"][:TOP]
        for name, row in StoredRun(done.folder).rows.items()
    }
    recall = done.metrics["metrics"][METRIC]
    return Built(experiment, seconds, calls, recall["mean"], recall["n"], found)


def fed(
    words: Sequence[str], home: str, size: int, first: int, parts: int
) -> Iterator[tuple[int, Built, Built, Built | None]]:
    """Each part from the first on: built after the ones before it, cleanly, and the one before."""
    before = None
    for part in range(first, parts + 1):
        grown = built(words, home, size, part, parts, "write")
        with TemporaryDirectory() as empty:
            yield part, grown, built(words, empty, size, part, parts, "off"), before
        before = grown


def line(name: str, part: int, grown: Built, clean: Built, before: Built | None) -> str:
    """The row of a method and a part."""
    share = 100 * grown.seconds / clean.seconds
    cells = [
        name, str(part), f"{grown.recall:.3f}", f"{grown.seconds:.1f} of {clean.seconds:.1f}",
        f"{share:.0f} %", f"{grown.calls} of {clean.calls}" if clean.calls else "",
        f"{jaccard(before.found, grown.found):.2f}" if before else "",
        f"{jaccard(clean.found, grown.found):.2f}",
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def drift(name: str, part: int, grown: Built, clean: Built, before: Built) -> str:
    """The row of communities and reports of a part."""
    now, old, anew = (
        one.resources("graph", "communities", "reports") for one in (grown, before, clean)
    )
    groups = [members(one["graph"], one["communities"]) for one in (now, old, anew)]
    cells = [
        name, str(part), f"{len(groups[0]):,}", f"{share_kept(groups[1], groups[0]):.2f}",
        f"{reports_kept(old['reports'], now['reports']):.2f}",
        f"{share_kept(groups[2], groups[0]):.2f}",
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Feed the parts, and write the page and the plot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--parts", type=int, default=5)
    asked = parser.parse_args()
    n, rows, drifts, runs = 0, [], [], []
    with TemporaryDirectory() as made:
        for words in METHODS.values():
            built(words, made, SMALL, 1, 1, "off")  # loads and compiles what is timed later
        for number, (name, words) in enumerate(METHODS.items()):
            home = str(Path(made) / str(number))
            for part, grown, clean, before in fed(words, home, asked.size, 1, asked.parts):
                rows.append(line(name, part, grown, clean, before))
                runs += [str(grown.experiment.run_path)] if name != COMMUNITIES[1] else []
                n = grown.n
                sys.stderr.write(f"{rows[-1]}\n")
        for number, name in enumerate(COMMUNITIES):
            home = str(Path(made) / f"twentieths-{number}")
            for part, grown, clean, before in fed(METHODS[name], home, asked.size, FINE - 4, FINE):
                if before:
                    drifts.append(drift(name, part, grown, clean, before))
                    sys.stderr.write(f"{drifts[-1]}\n")
        command = [sys.executable, "-m", "graphrag_bench.cli.main", "curve", *runs]
        plot = ["x=dataset.part", "--home", made, "--metrics", METRIC, "--plot", str(PLOT)]
        subprocess.run([*command, *plot], check=True, stdout=subprocess.DEVNULL)
    PAGE.write_text(page(asked.size, asked.parts, n, rows, drifts), encoding="utf-8")


def page(size: int, parts: int, n: int, rows: Sequence[str], drifts: Sequence[str]) -> str:
    """The text of the page."""
    heads = ("method", "part", METRIC, "seconds of clean", "share", "calls of clean",
             "Jaccard before", "Jaccard clean")  # fmt: skip
    of_drift = ("method", "part", "communities", "kept", "reports kept", "as a clean build")
    return f"""# A growing corpus

`python scripts/growing.py --size {size} --parts {parts}`: a world of {size:,} entities comes in
{parts} equal parts. Every size is asked the {n} questions whose evidence is in the first part.
*seconds of clean*: of building and retrieving where what came before is kept, and of the same with
nothing stored; *calls*: to the model that extracts, likewise. *Jaccard*: of the first {TOP} chunks
of a question, against the part before and against a clean build.

![Evidence recall by part](../img/growing.svg)

| {" | ".join(heads)} |
{"|---" * len(heads)}|
{chr(10).join(rows)}

**Communities**, while the corpus grows from {FINE - 4} twentieths to all of it, a twentieth at a
time: the share of the communities of the part before that have the same members now, of its reports
that are the same word for word, and of the communities of a clean build that are there. LGraphRAG's
chunks do not depend on its communities.

| {" | ".join(of_drift)} |
{"|---" * len(of_drift)}|
{chr(10).join(drifts)}
"""


if __name__ == "__main__":
    main()
