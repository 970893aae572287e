"""Compare our methods with the authors' implementations, and write docs/parity.md.

The folder `--engines` has a Python environment for each implementation (lightrag-hku, hipporag,
...). A graph of the data set `sample`, built without a language model, is inserted into the stores
of the implementation. Both sides get the same vectors, recorded replies and questions. The exit
code is 1 if there is a difference that is not explained.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parent), str(ROOT)]

from parity.comparison import PAGE, Case, Ranking, Result, cases, compare, with_results  # noqa: E402
from parity.freezing import ours  # noqa: E402

from scripts.markdown import write_pages  # noqa: E402


def engine_lists(case: Case, engines: Path, frozen: Path, work: Path) -> dict[str, Any]:
    """Return the rankings of an implementation; raises SystemExit if its driver fails."""
    python = engines / case.distribution / "bin" / "python"
    if not python.is_file():
        raise SystemExit(f"'{python}' does not exist. docs/parity.md shows how to install it.")
    target = frozen / "engine.json"
    target.unlink(missing_ok=True)
    shutil.rmtree(work, ignore_errors=True)
    driver = ROOT / "scripts" / "parity" / "drivers" / f"drive_{case.engine}.py"
    settings = {**os.environ, "PYTHONHASHSEED": "0", "OPENAI_API_KEY": "none",
                "HF_HUB_OFFLINE": "1"}  # fmt: skip
    settings.pop("PYTHONPATH", None)
    done = subprocess.run(
        [python, driver, frozen, case.mode, target, work],
        capture_output=True, text=True, timeout=900, check=False, env=settings,
    )  # fmt: skip
    if done.returncode or not target.is_file():
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-25:])
        raise SystemExit(f"{case.name}: the engine failed.\n{tail}")
    return json.loads(target.read_text(encoding="utf-8"))


def run(case: Case, engines: Path, home: Path) -> Result:
    """Run a case: compute our rankings and theirs, and compare them."""
    lists, frozen = ours(case, home)
    theirs = engine_lists(case, engines, frozen, home / "engines" / case.name)

    def ranking(rows: list[tuple[int, list[float]]]) -> Ranking:
        keys = tuple(tuple(key) for _, key in rows)
        return Ranking(tuple(one for one, _ in rows), keys if all(keys) else ())

    differences = {}
    for question, mine in lists.items():
        found = theirs["answers"][question]
        others = {stage: ranking(found[stage][:n]) for stage, n in case.stages.items()}
        differences[question] = compare(question, mine, others)
    return Result(case, theirs["version"], differences)


def main() -> int:
    """Run the cases and write the page; return 1 if a difference is not explained."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engines", type=Path, required=True)
    parser.add_argument("--cases", default=",".join(cases()), help="comma-separated names")
    parser.add_argument("--home", type=Path)
    parser.add_argument("--page", action="store_true", help="write docs/parity.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        home = (options.home or Path(temporary)).resolve()
        results = []
        for name in options.cases.split(","):
            results.append(result := run(cases()[name], options.engines.resolve(), home))
            badge, counts = result.kinds()
            print(f"{name}: {badge}; {counts} of {len(result.differences)} questions", flush=True)
    if options.page:
        write_pages({PAGE: with_results(PAGE.read_text(encoding="utf-8"), results)})
    unexplained = [one for result in results for one in result.unexplained()]
    print(*(f"not explained: {one}\n" for one in unexplained), sep="", end="")
    return bool(unexplained)


if __name__ == "__main__":
    sys.exit(main())
