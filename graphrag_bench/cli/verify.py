"""`graphrag-bench verify`: a bundle checked, and its tables recomputed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from graphrag_bench.analysis.bundling.verifying import Verified, verified
from graphrag_bench.cli.parsing import command_parser

_ABOUT = """
Checks every byte of a bundle, scores the answers of its runs again, and makes every table again
from the scores: all from the file alone, with no model, key or network. Whatever differs is named,
and the exit code is 1.

A bundle whose content and hashes were all changed fits itself again: compare the sha256 that is
printed with the one in the paper, or give it as --sha256.

examples
  graphrag-bench verify paper.zip
  graphrag-bench verify paper.zip --sha256 5b1f...
"""


def main(arguments: Sequence[str]) -> int:
    """Print what was checked; 1 where something differs."""
    parser = command_parser("verify", _ABOUT, "FILE.zip [OPTIONS]")
    parser.add_argument("file", metavar="FILE", type=Path, help="of `graphrag-bench bundle`")
    parser.option(
        "--sha256", "DIGEST", "what the bundle must state: all of it, or its beginning", ""
    )
    asked = parser.read(arguments)
    found = verified(asked.file)
    if asked.sha256 and not found.sha256.startswith(asked.sha256.lower()):
        found.faults.append(f"{asked.file} has the sha256 {found.sha256}, not {asked.sha256}")
    for fault in found.faults:
        sys.stdout.write(f"DIFFERS  {fault}\n")
    if not found.faults:
        for line in _said(found):
            sys.stdout.write(f"ok       {line}\n")
    for note in found.notes:
        sys.stdout.write(f"note     {note}\n")
    sys.stdout.write(f"sha256: {found.sha256}\n")
    return 1 if found.faults else 0


def _said(found: Verified) -> list[str]:
    """What was checked and is as it was packed, in lines."""
    scored = f"{found.n_scored} of {found.n_runs} runs scored again from answers and gold"
    return [
        f"{found.n_files} files hold the bytes that were packed",
        *([f"{found.n_artifacts} artifacts fit their manifests"] if found.n_artifacts else []),
        scored,
        *(f"{name} recomputed" for name in found.tables),
    ]
