"""Every case against the released engine: only with ENGINES=FOLDER (make test-parity)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from parity.comparison import cases  # noqa: E402

pytestmark = pytest.mark.skipif(
    not os.environ.get("ENGINES"), reason="ENGINES names no folder with the released engines"
)


@pytest.mark.parametrize("case", list(cases()))
def test_every_first_difference_from_the_engine_has_a_reason(case: str, tmp_path: Path) -> None:
    home = os.environ.get("PARITY_HOME", str(tmp_path))
    command = [
        sys.executable, str(ROOT / "scripts" / "parity.py"), "--engines", os.environ["ENGINES"],
        "--cases", case, "--home", home,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1200)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert f"{case}: " in done.stdout
