"""Write the packaged demo: three methods on the sample set without answers, as the data of a page.

Usage: python scripts/write_demo.py; it needs the extras `local` and `nlp` and calls no language
model. Runs and artifacts stay in build/demo; `graphrag-bench view --demo` shows the result.
"""

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from graphrag_bench.run.stored import find_run, stored_runs
from graphrag_bench.view.page import DEMO, FOLDER, write_page

HOME = Path("build", "demo")
METHODS = ("entitypassage", "hipporag", "pathrag")
WORDS = ("dataset=sample", f"method={','.join(METHODS)}", "answer=off", "reference_rows=off",
         "limit=20", f"paths.home={HOME}")  # fmt: skip


def plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
    """An entry of an archive without owner and time."""
    info.mtime = info.uid = info.gid = 0
    info.uname = info.gname = ""
    return info


def main() -> None:
    """Run the methods, write their page, and pack its data."""
    shutil.rmtree(HOME / "runs", ignore_errors=True)
    subprocess.run([sys.executable, "-m", "graphrag_bench", "run", "-m", *WORDS], check=True)
    keys = {run.metrics["method"]: str(run.folder.path) for run in stored_runs(HOME)}
    page = write_page([find_run(keys[name], HOME) for name in METHODS], HOME / "page", HOME)
    with tarfile.open(DEMO, "w:xz", preset=9) as archive:
        for file in sorted((page.parent / FOLDER).rglob("*.js")):
            archive.add(file, file.relative_to(page.parent / FOLDER), filter=plain)
    print(DEMO, f"{DEMO.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
