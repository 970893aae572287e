"""The paths of the project's own files: in the installed package, or in the checkout around it."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def project_folder(name: str) -> Path:
    """The absolute path of `configs` or `datasets`: the installed copy if there is one."""
    installed = _PACKAGE / name
    return installed if installed.is_dir() else _PACKAGE.parent / name


def checkout() -> Path | None:
    """The folder of the git checkout the package runs from, or None when it is installed."""
    root = _PACKAGE.parent
    return root if (root / "pyproject.toml").is_file() else None
