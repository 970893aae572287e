"""Parity: our methods beside the released engines, and the page docs/parity.md.

python scripts/parity.py --engines FOLDER [--cases NAME,...] [--home FOLDER] [--page FILE]

FOLDER holds one environment for each engine by its name (lightrag-hku, hipporag, …), each with its
own bin/python. One graph is made of the sample set without a language model and put into the
engine's own stores; both sides have the same vectors and the same recorded replies, and are asked
every question. Exit code 1 where a difference has no reason on the page.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parent), str(ROOT)]

from parity.cases import Case, chosen  # noqa: E402
from parity.comparison import Ranking, compare  # noqa: E402
from parity.freezing import ours  # noqa: E402
from parity.page import Result, page, unexplained  # noqa: E402

DRIVERS = ROOT / "scripts" / "parity" / "drivers"
SECONDS = 900


def python_of(engines: Path, engine: str) -> Path:
    """The Python of an engine's environment; raises SystemExit with how to make one."""
    found = engines / engine / "bin" / "python"
    if not found.is_file():
        raise SystemExit(
            f"There is no '{found}'. docs/parity.md says how each environment is made."
        )
    return found


def answered(case: Case, engines: Path, frozen: Path, work: Path) -> dict[str, object]:
    """What the engine's driver wrote; raises SystemExit with its last lines where it failed."""
    target = frozen / "engine.json"
    target.unlink(missing_ok=True)
    shutil.rmtree(work, ignore_errors=True)
    command = [
        str(python_of(engines, case.distribution)), str(DRIVERS / f"drive_{case.engine}.py"),
        str(frozen), case.mode, str(target), str(work),
    ]  # fmt: skip
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    settings = {**clean, "PYTHONHASHSEED": "0", "OPENAI_API_KEY": "none", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=SECONDS, check=False, env=settings
    )
    if done.returncode or not target.is_file():
        said = "\n".join((done.stdout + done.stderr).splitlines()[-25:])
        raise SystemExit(f"{case.name}: the engine failed.\n{said}")
    held: dict[str, object] = json.loads(target.read_text(encoding="utf-8"))
    return held


def ranking(rows: list[list[object]], most: int | None) -> Ranking:
    """A list as a driver writes it: rows of an id and its key."""
    cut = rows[:most] if most else rows
    keys = tuple(tuple(key) for _, key in cut)  # type: ignore[call-overload]
    return Ranking(tuple(one for one, _ in cut), keys if all(keys) else ())  # type: ignore[misc]


def run(case: Case, engines: Path, home: Path) -> Result:
    """One case: our lists, the engine's, and their differences."""
    side = ours(case, home)
    held = answered(case, engines, side.frozen, home / "engines" / case.name)
    differences = {}
    for question, mine in side.lists.items():
        rows = held["answers"][question]  # type: ignore[index]
        theirs = {stage: ranking(rows[stage], most) for stage, most in case.stages.items()}
        differences[question] = compare(question, mine, theirs)
    return Result(case, str(held["version"]), differences)


def main() -> int:
    """Run the cases, write the page; 1 where a difference has no reason."""
    read = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    read.add_argument("--engines", type=Path, required=True)
    read.add_argument("--cases", default="")
    read.add_argument("--home", type=Path)
    read.add_argument("--page", type=Path)
    given = read.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        home = (given.home or Path(temporary)).resolve()
        results = []
        for case in chosen(given.cases):
            result = run(case, given.engines.resolve(), home)
            print(result.line(), flush=True)  # noqa: T201
            results.append(result)
    if given.page:
        given.page.write_text(page(results), encoding="utf-8")
    left = unexplained(results)
    for one in left:
        print(f"no reason: {one}")  # noqa: T201
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
