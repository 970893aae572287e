"""Version of the package, and the environment of a run: commit, packages and hardware."""

import os
import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

__version__ = "0.2.0"
_ROOT = Path(__file__).resolve().parent.parent
_PACKAGES = (
    "graphrag-bench", "numpy", "scipy", "torch", "sentence-transformers", "transformers",
    "faiss-cpu", "igraph", "leidenalg", "spacy", "bm25s", "xllamacpp", "urllib3", "hydra-core",
)  # fmt: skip


@cache
def commit() -> str:
    """Return the short commit, with `+` for uncommitted changes, or the version of the package."""
    if not all((_ROOT / name).exists() for name in ("pyproject.toml", ".git")):
        return f"v{_version('graphrag-bench')}"
    try:
        status = subprocess.check_output(
            ["git", "--no-optional-locks", "status", "--porcelain=v2", "--branch"],
            cwd=_ROOT, text=True, stderr=subprocess.PIPE,
        ).splitlines()  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    name = next(line.split()[-1] for line in status if line.startswith("# branch.oid "))
    changed = "+" * any(not line.startswith("#") for line in status)
    return "unknown" if name == "(initial)" else name[:10] + changed  # initial: without commits


@cache
def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def environment(seed: int) -> dict[str, Any]:
    """Return commit, package versions, platform and seed, without the host name."""
    return {
        "commit": commit(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "packages": {name: _version(name) for name in _PACKAGES if _version(name)},
        "seed": seed,
    }
