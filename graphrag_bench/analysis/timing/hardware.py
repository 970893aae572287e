"""The hardware that seconds were measured on: processor, cores, memory, threads, and load."""

from __future__ import annotations

import os
import platform
import re
import sys
from pathlib import Path
from typing import Any

_THREADS = (
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS",
    "CUDA_VISIBLE_DEVICES",
)  # fmt: skip
BUSY = 0.5
"""A machine is busy when its load average, divided by its cores, is above this."""


def hardware() -> dict[str, Any]:
    """Processor model, cores, memory in GiB, threads of the libraries in use, and graphics card.

    What the system does not tell is None. Names no host and no user.
    """
    found: dict[str, Any] = {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "cores_allowed": cores(),
        "memory_gib": _memory(),
        "threads": {name: os.environ[name] for name in _THREADS if name in os.environ},
    }
    torch = sys.modules.get("torch")
    if torch is not None:
        found["threads"]["torch"] = torch.get_num_threads()
        cards = range(torch.cuda.device_count()) if torch.cuda.is_available() else ()
        found["graphics"] = [torch.cuda.get_device_name(card) for card in cards]
    return found


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def load() -> float | None:
    """The load average of the last minute; None where the system has none."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def _processor() -> str | None:
    """The model name of the processor."""
    path = Path("/proc/cpuinfo")
    told = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    if model := re.search(r"^model name\s*:(.*)$", told, re.MULTILINE):
        return model[1].strip()
    return platform.processor() or platform.machine() or None


def _memory() -> float | None:
    """All memory of the machine in GiB."""
    names = getattr(os, "sysconf_names", {})
    if "SC_PHYS_PAGES" not in names or "SC_PAGE_SIZE" not in names:
        return None
    return round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1)
