"""Chaos: faults, outages, kills, damaged files and hostile inputs, and what became of each.

python scripts/chaos.py --json FILE [--seed N] [--short] [--only KIND ...]
       [--trials N] [--damage GROUP ...]

A server on 127.0.0.1 answers from the prompt alone. Every outcome is judged by an undisturbed run:
the same result, one clear error, or a fault. Exit code 1 when there is a fault.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parent), str(ROOT)]

from chaos.inputs import with_inputs  # noqa: E402
from chaos.kills import with_kills, with_signals  # noqa: E402
from chaos.lanes import Trials, in_lanes  # noqa: E402
from chaos.mutations import GROUPS, with_mutations  # noqa: E402
from chaos.outages import references, with_faults, with_outages  # noqa: E402
from chaos.outcomes import GOOD, Outcome, table  # noqa: E402
from chaos.serving import Server, serving  # noqa: E402
from chaos.trial import import_ahead  # noqa: E402
from chaos.world import HIPPORAG  # noqa: E402

KINDS = ("faults", "outage", "kills", "signals", "mutations", "inputs")
LONG = {"faults": 50, "outage": 40, "kills": 20, "mutations": 200, "inputs": 60}
SHORT = {"faults": 3, "outage": 3, "kills": 3, "mutations": 16, "inputs": 12}


def outcomes(server: Server, root: Path, asked: argparse.Namespace) -> Iterator[Outcome]:
    """Every outcome; those of a kind together, when the kind is done."""
    counts = dict(SHORT if asked.short else LONG)
    if asked.trials is not None:
        counts = dict.fromkeys(counts, asked.trials)
    seed = asked.seed
    home = root / "ahead"
    home.mkdir()
    import_ahead(HIPPORAG.arguments(home, server.scenario()), home)
    held = references(server, root, short=asked.short)
    trials: dict[str, Trials] = {
        "mutations": lambda: with_mutations(
            held, server, root, seed, counts["mutations"], asked.damage
        ),
        "faults": lambda: with_faults(held, server, root, seed, counts["faults"]),
        "outage": lambda: with_outages(held, server, root, counts["outage"]),
        "inputs": lambda: with_inputs(server, root, seed, counts["inputs"]),
        "kills": lambda: with_kills(held[0], server, root, seed, counts["kills"]),
        "signals": lambda: with_signals(held[0], server, root, seed),
    }
    if asked.short:
        del trials["signals"]
    chosen = [(kind, made) for kind, made in trials.items() if kind in asked.only]
    yield from in_lanes(chosen, asked.lanes, root)


def main() -> int:
    """Print the table, and each fault; 1 when there is one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_AS_WRITTEN)
    parser.add_argument("--json", type=Path, help="write every outcome to this file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--short", action="store_true", help="a sample, in under a minute")
    parser.add_argument("--only", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--trials", type=int, help="how many of each kind, others' turns included")
    parser.add_argument("--damage", nargs="+", choices=sorted(set(GROUPS)), default=(),
                        help="of the mutations, those of these files alone")  # fmt: skip
    parser.add_argument("--lanes", type=int, default=2, help="kinds tried at a time; default: 2")
    parser.add_argument("--verbose", action="store_true", help="print good outcomes too")
    asked = parser.parse_args()
    began, found = time.monotonic(), []
    os.environ["PYTHONPATH"] = str(ROOT)
    folder = Path(tempfile.mkdtemp(prefix="chaos-"))  # no finaliser: forked processes would run it
    try:
        with serving() as server:
            for outcome in outcomes(server, folder, asked):
                found.append(outcome)
                if asked.verbose or outcome.outcome not in GOOD:
                    _tell(outcome)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(table(found))
    seconds = round(time.monotonic() - began, 1)
    print(f"seed {asked.seed}, commit {_commit()}, {seconds} s")
    if asked.json:
        rows = [one.row for one in found]
        held = {"seed": asked.seed, "commit": _commit(), "seconds": seconds, "outcomes": rows}
        asked.json.write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")
    return int(any(one.outcome not in GOOD for one in found))


def _tell(outcome: Outcome) -> None:
    said = f"{outcome.kind}: {outcome.what}: {outcome.outcome} ({outcome.seconds} s) {outcome.why}"
    print("".join(sign if sign.isprintable() or sign == "\n" else "?" for sign in said), flush=True)


def _commit() -> str:
    command = ["git", "-C", str(ROOT), "rev-parse", "--short=10", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


_AS_WRITTEN = argparse.RawDescriptionHelpFormatter

if __name__ == "__main__":
    sys.exit(main())
