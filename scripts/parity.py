"""Compare our methods with the authors' implementations, and write docs/parity.md.

python scripts/parity.py --engines FOLDER [--cases NAME,...] [--home FOLDER] [--page]

FOLDER has a Python environment for each implementation (lightrag-hku, hipporag, ...). A graph of
the data set `sample`, built without a language model, is inserted into the stores of the
implementation. Both sides get the same vectors, recorded replies and questions. The exit code is 1
if there is a difference that is not explained.
"""

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

from parity.comparison import Case, Ranking, cases, compare  # noqa: E402
from parity.freezing import ours  # noqa: E402
from parity.page import PAGE, Result, unexplained, with_results  # noqa: E402

DRIVERS = ROOT / "scripts" / "parity" / "drivers"
SECONDS = 900


def engine_lists(case: Case, engines: Path, frozen: Path, work: Path) -> dict[str, object]:
    """Return the rankings of an implementation; raises SystemExit if its driver fails."""
    python = engines / case.distribution / "bin" / "python"
    if not python.is_file():
        raise SystemExit(f"'{python}' does not exist. docs/parity.md shows how to install it.")
    target = frozen / "engine.json"
    target.unlink(missing_ok=True)
    shutil.rmtree(work, ignore_errors=True)
    command = [
        str(python), str(DRIVERS / f"drive_{case.engine}.py"), str(frozen), case.mode,
        str(target), str(work),
    ]  # fmt: skip
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    settings = {**clean, "PYTHONHASHSEED": "0", "OPENAI_API_KEY": "none", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=SECONDS, check=False, env=settings
    )
    if done.returncode or not target.is_file():
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-25:])
        raise SystemExit(f"{case.name}: the engine failed.\n{tail}")
    answers: dict[str, object] = json.loads(target.read_text(encoding="utf-8"))
    return answers


def ranking(rows: list[list[object]]) -> Ranking:
    """Convert rows of ids and keys, as written by a driver, into a ranking."""
    keys = tuple(tuple(key) for _, key in rows)  # type: ignore[call-overload]
    return Ranking(tuple(one for one, _ in rows), keys if all(keys) else ())  # type: ignore[misc]


def run(case: Case, engines: Path, home: Path) -> Result:
    """Run a case: compute our rankings and theirs, and compare them."""
    lists, frozen = ours(case, home)
    theirs = engine_lists(case, engines, frozen, home / "engines" / case.name)
    differences = {}
    for question, mine in lists.items():
        rows = theirs["answers"][question]  # type: ignore[index]
        others = {stage: ranking(rows[stage]).head(most) for stage, most in case.stages.items()}
        differences[question] = compare(question, mine, others)
    return Result(case, str(theirs["version"]), differences)


def main() -> int:
    """Run the cases and write the page; return 1 if a difference is not explained."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engines", type=Path, required=True)
    parser.add_argument("--cases", default="", help="comma-separated names (default: all)")
    parser.add_argument("--home", type=Path)
    parser.add_argument("--page", action="store_true", help="write docs/parity.md")
    options = parser.parse_args()
    known = cases()
    names = options.cases.split(",") if options.cases else list(known)
    with tempfile.TemporaryDirectory() as temporary:
        home = (options.home or Path(temporary)).resolve()
        results = []
        for name in names:
            results.append(run(known[name], options.engines.resolve(), home))
            print(results[-1].line(), flush=True)  # noqa: T201
    if options.page:
        PAGE.write_text(with_results(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")
    for one in unexplained(results):
        print(f"not explained: {one}")  # noqa: T201
    return 1 if unexplained(results) else 0


if __name__ == "__main__":
    sys.exit(main())
