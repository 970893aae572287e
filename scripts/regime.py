"""What reaches the prompt: every method, profile and chunk size, against the papers' own tokens.

Runs each method on a few questions of a set of long texts with a scripted reader, whose replies
cost nothing and whose tokens are counted as cl100k, and writes docs/results/regime.md. What is
stored is not run again.

Usage: python scripts/regime.py ROOT [--limit 5] [--home FOLDER] [--methods a,b] [--sizes 600,1200]
                                [--documents 15] [--json FILE] [--page FILE...]
  ROOT         the folder of the set ultradomain_mix (corpus.jsonl, questions.json)
  --documents  only the first so many documents
  --json       keep the figures in a file
  --page       run nothing; write the page out of such files
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from graphrag_bench.config.choices import names
from graphrag_bench.config.compose import composed
from graphrag_bench.config.words import read_words
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.execute import execute
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.progress import Progress

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "results" / "regime.md"
PROFILES = ("default", "zhou2025", "paper", "upstream")
SIZES = ("presplit", "600", "1200", "2400")
WITHOUT = {"zeroshot", "oracle", "example_new_method", "subgraphrag"}
"""Methods that the set says nothing of: no context, no gold, no knowledge graph of its own."""
MODELS = ("llm=scripted", "llm._target_=counting_reader.reader", "embedder=hashing")
sys.path.append(str(ROOT / "tests"))  # the reader is that of the tests of estimates


@dataclass(frozen=True)
class Cell:
    """What one run sent: means per question, and why a context is empty or without chunks."""

    method: str
    title: str
    profile: str
    size: str
    budget: int | None
    retrieved: float
    packed: float
    other: float
    cut: float
    context_tokens: float
    prompt_tokens: float
    calls: float
    reason: str


def cells(asked: argparse.Namespace) -> Iterator[Cell]:
    """Every cell in order; one that is refused has the refusal as its reason."""
    methods = asked.methods.split(",") if asked.methods else names("method")
    root = _beginning(asked) if asked.documents else asked.root
    for size in asked.sizes.split(","):
        cutting = ["chunking=presplit"] if size == "presplit" else [
            "chunking=token", f"chunking.size={size}"]  # fmt: skip
        for method in methods:
            for profile in PROFILES if method not in WITHOUT else ():
                words = [
                    "dataset=ultradomain_mix", f"dataset.root={root}", f"method={method}",
                    f"profile={profile}", *cutting, *MODELS, f"limit={asked.limit}",
                    "reference_rows=off", f"paths.home={asked.home}", "workers=1",
                    "failures.limit=1",
                ]  # fmt: skip
                yield _cell(words, method, profile, size)


def _beginning(asked: argparse.Namespace) -> Path:
    """A folder with the first documents of the set and all of its questions."""
    folder = Path(asked.home) / f"first-{asked.documents}"
    folder.mkdir(parents=True, exist_ok=True)
    lines = (Path(asked.root) / "corpus.jsonl").read_text(encoding="utf-8").splitlines(True)
    (folder / "corpus.jsonl").write_text("".join(lines[: asked.documents]), encoding="utf-8")
    shutil.copy(Path(asked.root) / "questions.json", folder)
    return folder


def _cell(words: Sequence[str], method: str, profile: str, size: str) -> Cell:
    print(f"{method} {profile} {size}", file=sys.stderr, flush=True)
    try:
        experiment = Experiment.prepare(composed(read_words(words)))
        folder = execute(experiment, Progress()).folder
    except UserError as error:
        reason = " ".join(str(error).split())
        return Cell(method, method, profile, size, None, 0, 0, 0, 0, 0, 0, 0, reason)
    rows = [row for row in folder.rows().values() if "context" in row]
    held = [_row(row) for row in rows]
    means = {name: fmean(row[name] for row in held) if held else 0.0 for name in _NAMES}
    reasons = dict.fromkeys(row["empty_context"] for row in rows if "empty_context" in row)
    steps = experiment.settings.method
    budgets = re.findall(
        r"'budget': (\d+)", repr({k: steps.get(k) for k in ("retrieve", "generate")})
    )
    return Cell(
        method, experiment.method.title, profile, size,
        max(map(int, budgets)) if budgets else None, **means, reason="; ".join(reasons),
    )  # fmt: skip


_NAMES = (
    "retrieved", "packed", "other", "cut", "context_tokens", "prompt_tokens", "calls",
)  # fmt: skip


def _row(row: Mapping[str, Any]) -> dict[str, float]:
    """The counts of one question."""
    pieces = row["context"]["pieces"]
    lists = [
        len(found["ids"])
        for step in row["trace"]
        for slot, found in step["wrote"].items()
        if slot == "chunks"
    ]
    n_packed = sum(piece["kind"] == "chunk" for piece in pieces)
    n_cut = sum(kind == "chunk" for kind, _ in row["context"]["cut"])
    return {  # what a branch merges is in no trace: what was packed and cut of it is
        "retrieved": float(max([n_packed + n_cut, *lists[-1:]])),
        "packed": float(n_packed),
        "other": float(len(pieces) - n_packed),
        "cut": float(n_cut),
        "context_tokens": float(sum(piece["tokens"] for piece in pieces)),
        "prompt_tokens": float(row["prompt_tokens"]),
        "calls": float(row["calls"]),
    }


def main() -> int:
    """Run what is missing and write the page; the exit code is 0."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("root")
    parser.add_argument("--limit", type=int, default=5)
    parser.add_argument("--home", default=".")
    parser.add_argument("--methods", default="")
    parser.add_argument("--sizes", default=",".join(SIZES))
    parser.add_argument("--documents", type=int, default=0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", type=Path, nargs="*", default=[])
    asked = parser.parse_args()
    if asked.page:
        kept = [json.loads(file.read_text(encoding="utf-8")) for file in asked.page]
        found = [Cell(**row) for rows in kept for row in rows]
    else:
        found = list(cells(asked))
    if asked.json:
        rows = [asdict(one) for one in found]
        asked.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    from regime_page import page

    PAGE.write_text(page(found, asked.limit), encoding="utf-8")
    print(PAGE.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
