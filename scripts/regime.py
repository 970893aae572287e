"""What reaches the prompt: the papers' own tokens per question, beside ours under their profiles.

Builds the graphs of each printed method by a scripted model with replies as dense as the released
examples (dense_reader.py), asks a few questions, and writes docs/results/regime.md: no weights, no
cost, tokens counted as cl100k. What is stored is not run again.

Usage: python scripts/regime.py ROOT [--limit 3] [--home FOLDER] [--methods a,b] [--documents 15]
                                [--page FILE]
  ROOT         the folder of the set ultradomain_mix (corpus.jsonl, questions.json)
  --documents  only the first so many documents
  --page       where the page goes, instead of docs/results/regime.md
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

from graphrag_bench.config.compose import composed
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.execute import execute
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.papers.printed import load_table
from graphrag_bench.progress import Progress

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "results" / "regime.md"
MODELS = ("llm=scripted", "llm._target_=dense_reader.reader", "embedder=hashing")
FACTOR = 1.5
PAPERS = (
    ("zhou2025/table10", "Mix", "token", "zhou2025", "prompt"),
    ("zhou2025/table6", "MultihopQA", "token", "zhou2025", "prompt"),
    ("pathrag/table6", "", "token cost", "paper", "prompt"),
    ("pathcorag/table4", "", "In-Context Tokens", "paper", "context"),
)
"""Printed tokens: table, data set, metric, its profile, and which of ours."""
_SHORTER = "four chunks are 4,800 tokens here, and 3,623 on MultihopQA (VanillaRAG)"
_BLOCKS = (
    "`profile=paper` has the paths and relationships of the text; the release adds blocks of nodes "
    "and sources, with which `profile=upstream` sends 19,626 tokens a question here (PathRAG)"
)
REASONS: dict[str, str] = {
    "zhou2025/table10 ggraphrag": "one map call for each of 1,369 reports of levels 0 to 2, about "
    "910 tokens a call; the printed tokens are those of twelve, and the paper names no choice",
    "zhou2025/table10 fastgraphrag": "fills the 7,500 tokens that the profile gives every method",
    "zhou2025/table6 gretriever": "the Steiner tree joins 26 nodes by 25 facts of ten tokens each; "
    "nodes of a knowledge graph have no description",
    "zhou2025/table6 tog": "13 calls of 270 tokens a question: a node of the scripted graph offers "
    "few relations to choose from",
    "zhou2025/table6 dalk": "the scripted graph joins few entities of these questions: evidence of "
    "35 tokens",
    "zhou2025/table6 hipporag": _SHORTER,
    "zhou2025/table6 raptor": _SHORTER,
    "pathrag/table6 hlightrag": "fills the 30,000 tokens of the release of today; that of the "
    "paper's time had 4,000 for each block",
    "pathrag/table6 pathrag": _BLOCKS,
    "pathrag/table6 pathrag_lt": _BLOCKS,
    "pathcorag/table4 pathcorag": "15 paths over all transitions, where the release has 15 for each"
    "; `profile=upstream` sends 8,055 tokens here",
}
"""Why a figure is off by more than the factor, by table and method."""
HEAD = """# What reaches the prompt

Written by `python scripts/regime.py ROOT`; ROOT holds the texts and the 125 abstract questions of
UltraDomain Mix (61 documents, 611,602 tokens{documents}).
{limit} questions a method, chunks of 1,200 tokens, each paper's profile with `fidelity=paper`, the
hashing embedder (no vector decides a length), and a scripted model in the place of every language
model. Its replies are as dense as the released examples: records take twice the tokens of their
chunk, and are made of its own words. Its window is not known: a profile without a number of its own
is not bounded. The one limit that cuts replies is RAPTOR's own, summaries of 100 tokens. Tokens are
cl100k. What long texts do to vectors is in [windows.md](windows.md).

## The papers' tokens per question and ours

`prompt`: prompt tokens of all calls per question; `context`: tokens of the last prompt's context.
The sets of Table 6 of Zhou et al. and of the tables of PathRAG and PathCoRAG are not this one.

| table | set | method | profile | of | paper | ours | factor | reason, beyond a factor of 1.5 |
|---|---|---|---|---|---|---|---|---|"""
BUILDS = """
## Replies that were cut

Per artifact that a model read: its calls, and the share of them that its token limit cut.

| method | profile | artifact | calls | cut |
|---|---|---|---|---|"""
sys.path.append(str(ROOT / "tests"))  # dense_reader answers with the reader of the tests


def beginning(asked: argparse.Namespace) -> Path:
    """A folder with the first documents of the set and all of its questions."""
    folder = Path(asked.home) / f"first-{asked.documents}"
    folder.mkdir(parents=True, exist_ok=True)
    lines = (Path(asked.root) / "corpus.jsonl").read_text(encoding="utf-8").splitlines(True)
    (folder / "corpus.jsonl").write_text("".join(lines[: asked.documents]), encoding="utf-8")
    shutil.copy(Path(asked.root) / "questions.json", folder)
    return folder


def run(asked: argparse.Namespace, root: Path, settings: tuple[str, ...], profile: str) -> Any:
    """The mean prompt and context tokens of a method, and its build rates; or why it is refused."""
    words = [
        "dataset=ultradomain_mix", f"dataset.root={root}", *settings, f"profile={profile}",
        "fidelity=paper", "chunking=token", "chunking.size=1200", *MODELS, f"limit={asked.limit}",
        "reference_rows=off", f"paths.home={asked.home}", "workers=1", "failures.limit=1",
    ]  # fmt: skip
    began = time.monotonic()
    try:
        ended = execute(Experiment.prepare(composed(words)), Progress(quiet=True))
    except UserError as error:
        return " ".join(str(error).split())
    rows = [row for row in ended.folder.rows().values() if "context" in row]
    print(f"{time.monotonic() - began:6.0f} s  {' '.join(settings)} {profile}", file=sys.stderr)
    pieces = [sum(piece["tokens"] for piece in row["context"]["pieces"]) for row in rows]
    tokens = {"prompt": fmean(row["prompt_tokens"] for row in rows), "context": fmean(pieces)}
    return tokens, ended.metrics["build_rates"]


def page(asked: argparse.Namespace) -> Iterator[str]:
    """The lines of the page, a run for each printed figure of a method that is asked for."""
    root = beginning(asked) if asked.documents else Path(asked.root)
    some = f"; here the first {asked.documents} documents" if asked.documents else ""
    yield HEAD.format(documents=some, limit=asked.limit)
    ran: dict[Any, Any] = {}
    for name, dataset, metric, profile, kind in PAPERS:
        table = load_table(name)
        for printed in table.cells:
            settings = table.settings_of(printed)
            if (printed.dataset, printed.metric) != (dataset, metric) or not settings:
                continue
            method = next(s.partition("=")[2] for s in settings if s.startswith("method="))
            if method == "zeroshot" or asked.methods and method not in asked.methods.split(","):
                continue
            # LightRAG's paper has no numbers: the others ran its release
            alone = method == "hlightrag" and profile == "paper"
            key = (settings, "upstream" if alone else profile)
            if key not in ran:
                ran[key] = run(asked, root, *key)
            before = (
                f"| {name} | {dataset or 'not named'} | {printed.method} | {key[1]} | {kind} | "
            )
            if isinstance(ran[key], str):
                yield f"{before}{printed.value:,.0f} | refused | | {ran[key]} |"
                continue
            value = ran[key][0][kind]
            factor = value / (printed.value or 1.0)
            off = not 1 / FACTOR <= factor <= FACTOR
            why = REASONS.get(f"{name} {method}", "**not explained**") if off else ""
            yield f"{before}{printed.value:,.0f} | {value:,.0f} | {factor:.2f} | {why} |"
    yield BUILDS
    for (settings, profile), held in ran.items():
        for artifact, rates in () if isinstance(held, str) else held[1].items():
            named = (
                f"| {settings[0].partition('=')[2]} | {profile} | {artifact[len('build ') :]} | "
            )
            yield f"{named}{rates['calls']:,.0f} | {rates['truncated']:.1%} |"


def main() -> int:
    """Run what is missing and write the page; the exit code is 0."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("root")
    parser.add_argument("--limit", type=int, default=3)
    parser.add_argument("--home", default=".")
    parser.add_argument("--methods", default="")
    parser.add_argument("--documents", type=int, default=0)
    parser.add_argument("--page", type=Path, default=PAGE)
    asked = parser.parse_args()
    asked.page.write_text("\n".join(page(asked)) + "\n", encoding="utf-8")
    print(asked.page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
