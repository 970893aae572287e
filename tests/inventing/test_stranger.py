"""The stranger of `scripts/stranger.py` keeps the promises: 25 lines, 10 minutes, no call."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from toy_runs import TOY

pytestmark = pytest.mark.slow

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from stranger import played  # noqa: E402


def test_from_an_empty_folder_to_a_row_with_a_p(tmp_path: Path) -> None:
    made = played(tmp_path, TOY)
    assert made.n_lines <= 25 and made.seconds <= 600 and made.n_calls == 0
    (row,) = [line for line in made.table.splitlines() if line.startswith("│ mine ")]
    cells = [cell.strip() for cell in row.strip("│").split("│")]
    n, recall, difference, p = int(cells[1]), cells[2], float(cells[3]), float(cells[4])
    assert n == 6 and 0.5 < float(recall.partition(" ")[0]) <= 1
    assert -1 <= difference <= 1 and 0 < p <= 1
