"""A stranger makes a method: from an empty folder to a row with a p, by the commands of the README.

The stranger has no operator, no method and no model to call: `new` writes a package, its test is
run, the body of its operator is replaced by the few lines below, and `run` compares it with a
reference. Printed are the lines that were the stranger's own, the seconds, and the calls that were
made to a language model, which must be none. Exit code 1 where one of the promises is not kept: 25
lines, 10 minutes, no call.

    python scripts/stranger.py dataset=sample
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_OWN = """\
    given = np.zeros(graph.n_nodes)
    given[nodes.ids] = nodes.scores
    rare = np.log1p(graph.n_chunks / np.maximum(np.diff(graph.node_chunk.indptr), 1))
    reached = given + near * ((graph.adjacency > 0) @ given) / np.maximum(graph.degree, 1)
    length = np.asarray(graph.node_chunk.sum(axis=0)).ravel()
    scores = graph.node_chunk.T @ (reached * rare) / np.sqrt(np.maximum(length, 1))
"""
_LINES, _SECONDS = 25, 600.0
_BEFORE, _AFTER = "    given = np.zeros", "    return Ranked"


@dataclass(frozen=True)
class Made:
    """What it came to: the folder of the run, the table, own lines, seconds, calls of a model."""

    folder: Path
    table: str
    n_lines: int
    seconds: float
    n_calls: int

    @property
    def kept(self) -> bool:
        """Whether the promises are kept."""
        return self.n_lines <= _LINES and self.seconds <= _SECONDS and self.n_calls == 0


def played(folder: Path, words: Sequence[str]) -> Made:
    """The stranger's way in an empty folder; `words` choose data set and models of the run."""
    began = time.monotonic()
    _command(folder, "-m", "graphrag_bench.cli.main", "new", "operator", "chunk.mine")
    path = folder / "mine" / "chunk_mine.py"
    text = path.read_text(encoding="utf-8")
    begin, end = text.index(_BEFORE), text.index(_AFTER)
    _command(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests")
    path.write_text(text[:begin] + _OWN + text[end:], encoding="utf-8")
    table = _command(
        folder, "-m", "graphrag_bench.cli.main", "run", "-m", *words, "method=mine,vanilla",
        "plugins=[mine]", "answer=off",
    )  # fmt: skip
    runs = [line.removeprefix("run: ") for line in table.splitlines() if line.startswith("run: ")]
    return Made(
        folder=Path(next(one for one in runs if "/mine/" in one)),
        table=table,
        n_lines=len(_OWN.splitlines()),
        seconds=time.monotonic() - began,
        n_calls=sum(_calls(Path(one)) for one in runs),
    )


def _calls(run: Path) -> int:
    """The calls to a language model that a run's ledger has."""
    ledger = run / "ledger.jsonl"
    lines = ledger.read_text(encoding="utf-8").splitlines() if ledger.is_file() else []
    return sum(json.loads(line)["kind"] == "chat" for line in lines if line)


def _command(folder: Path, *words: str) -> str:
    """The standard output of a command of this Python; its error ends the script."""
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> int:
    """Print the table and what it took."""
    with tempfile.TemporaryDirectory() as folder:
        made = played(Path(folder), sys.argv[1:] or ["dataset=sample"])
    print(made.table)
    print(f"{made.n_lines} lines of one's own, {made.seconds:.0f} s, {made.n_calls} calls")
    return 0 if made.kept else 1


if __name__ == "__main__":
    sys.exit(main())
