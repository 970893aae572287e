"""The released engines by name: version, lock and driver, and whether they are installed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import PositiveFloat, PositiveInt

from graphrag_bench.engines.environments import Environments
from graphrag_bench.engines.known import FOLDER, SHARED, Known
from graphrag_bench.errors import UserError
from graphrag_bench.fingerprint import digest, file_digest
from graphrag_bench.models.engine import Engine, Release
from graphrag_bench.models.engine_process import DriverProcess


def released(
    name: str,
    *,
    folder: str = FOLDER,
    seconds: PositiveFloat = 600.0,
    build_seconds: PositiveFloat = 86_400.0,
    max_tokens: PositiveInt = 4096,
    settings: Mapping[str, Any] | None = None,
) -> Engine:
    """The engine of that name, whose environment is in `folder`; nothing is started yet.

    Installed without its lock it is another release: its version says so, and the packages that it
    has identify it. Raises UserError with the nearest name for an unknown one.
    """
    there = Environments(Path(folder).expanduser())
    one = there.known(name)
    installed = there.installed(name)
    free = installed is not None and installed.lock is None
    held = installed.identity if installed is not None and free else there.lock(name)

    def start(log: Path) -> DriverProcess:
        if why := there.missing(name):
            raise UserError(why)
        return DriverProcess([str(there.python(name)), "-P", str(one.driver)], log)

    version = f"{one.version} without lock" if free else one.version
    return Engine(
        Release(
            name,
            version,
            digest(held, _code(one)),
            start,
            "" if free else one.differs,
            there.missing(name),
        ),  # fmt: skip
        seconds=seconds,
        build_seconds=build_seconds,
        max_tokens=max_tokens,
        settings=settings,
    )


def _code(one: Known) -> list[str]:
    """The digests of the driver and of what drivers share; none for an engine without a driver."""
    return [file_digest(path) for path in (one.driver, SHARED) if one.driver.is_file()]
