"""A sample of `scripts/chaos.py`: all that is done to a run ends in its result or one error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).resolve().parents[1] / "scripts" / "chaos.py"
KINDS = {"faults", "outage", "kills", "artifacts", "run folders", "stores", "inputs"}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each trial is a fork")
def test_a_sample_of_faults_kills_damage_and_hostile_inputs_leaves_nothing_silently_wrong(
    tmp_path: Path,
) -> None:
    command = [sys.executable, str(SCRIPT), "--short", "--json", str(tmp_path / "chaos.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads((tmp_path / "chaos.json").read_text())["outcomes"]
    assert {row["kind"] for row in rows} == KINDS
    outcomes = Counter(row["outcome"] for row in rows)
    assert set(outcomes) == {"same result", "clear error"}, done.stdout
    assert min(outcomes.values()) >= 5
