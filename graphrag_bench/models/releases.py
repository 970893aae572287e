"""The released engines by name: version, lock and driver, and whether they are installed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import PositiveFloat, PositiveInt

from graphrag_bench.errors import UserError, unknown
from graphrag_bench.fingerprint import digest, file_digest
from graphrag_bench.models.engine import Engine, Release
from graphrag_bench.models.engine_process import DriverProcess

VERSIONS: Mapping[str, str] = {
    "fast-graphrag": "0.0.5",
    "gfmrag": "2.0.0",
    "graphrag": "3.3.0",
    "hipporag": "2.0.0a4",
    "lightrag-hku": "1.5.7",
    "nano-graphrag": "0.0.8.2",
}
"""The engines that there are, each with the version of its lock."""
_DRIVERS = Path(__file__).resolve().parents[1] / "engines" / "drivers"


def released(
    name: str,
    *,
    folder: str = "~/.cache/graphrag-bench/engines",
    seconds: PositiveFloat = 600.0,
    build_seconds: PositiveFloat = 86_400.0,
    max_tokens: PositiveInt = 4096,
    settings: Mapping[str, Any] | None = None,
) -> Engine:
    """The engine of that name, whose environment is in `folder`; nothing is started yet.

    Raises UserError with the nearest name for an unknown one.
    """
    if name not in VERSIONS:
        raise unknown("engine", name, VERSIONS)
    driver = _DRIVERS / f"{name.replace('-', '_')}.py"
    python = Path(folder).expanduser() / name / "bin" / "python"

    def start(log: Path) -> DriverProcess:
        if not python.is_file() or not driver.is_file():
            raise UserError(
                f"The engine '{name}' is not installed: graphrag-bench engines install {name}"
            )
        return DriverProcess([str(python), "-P", str(driver)], log)

    code = file_digest(driver) if driver.is_file() else ""
    release = Release(name, VERSIONS[name], digest(code), start)
    return Engine(
        release,
        seconds=seconds,
        build_seconds=build_seconds,
        max_tokens=max_tokens,
        settings=settings,
    )
