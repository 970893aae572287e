"""What must not leave this machine: its paths are replaced, and a secret stops the packing."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from graphrag_bench.errors import UserError
from graphrag_bench.locations import checkout

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.I)
_SHORTEST = 8
"""Shorter values of such variables are words like `true`, and no secrets."""
_KEYS = re.compile(
    r"\b(sk-[A-Za-z0-9_-]{20,}|hf_[A-Za-z0-9]{30,}|gh[pousr]_[A-Za-z0-9]{30,}"
    r"|github_pat_\w{30,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|xox[abp]-[\w-]{20,})"
)
"""How keys of well-known services begin."""
_BEFORE, _AFTER = r"(?<![\w/.~-])", r"(?=[/\\\"'\s:,;)\]}>]|$)"


class Machine:
    """The folders of this machine, and the names that take their place in a bundle."""

    def __init__(self, home: Path) -> None:
        """Those of the process, and the folder that holds the runs."""
        here = {home: "<home>", Path.cwd(): "<folder>", Path(sys.prefix): "<python>"}
        if (root := checkout()) is not None:
            here[root] = "<project>"
        here[Path.home()] = "<user>"
        self.roots: dict[str, str] = {}
        for path, name in here.items():
            for one in (path.absolute(), path.resolve()):
                if one != Path(one.anchor):
                    self.roots.setdefault(str(one), name)
        longest = sorted(self.roots, key=len, reverse=True)
        self._any = re.compile(_BEFORE + f"({'|'.join(map(re.escape, longest))})" + _AFTER)

    def without_paths(self, held: Any) -> Any:
        """A JSON value whose texts name no folder of this machine."""
        if isinstance(held, str):
            return self._any.sub(lambda found: self.roots[found[1]], held)
        if isinstance(held, Mapping):
            return {self.without_paths(name): self.without_paths(one) for name, one in held.items()}
        if isinstance(held, list):
            return [self.without_paths(one) for one in held]
        return held

    def settings(self, held: Any) -> Any:
        """Settings without any absolute path: of one elsewhere the last part stays."""
        if isinstance(held, Mapping):
            return {name: self.settings(one) for name, one in held.items()}
        if isinstance(held, list):
            return [self.settings(one) for one in held]
        if not isinstance(held, str):
            return held
        found = self.without_paths(held)
        elsewhere = "\n" not in found and len(Path(found).parts) > 2 and Path(found).is_absolute()
        return f"<elsewhere>/{Path(found).name}" if elsewhere else found

    def named_in(self, text: str) -> str:
        """The first folder of this machine that a text names; "" for none."""
        found = self._any.search(text)
        return found[1] if found else ""


def secrets() -> dict[str, str]:
    """The values of environment variables that are named like secrets, by name."""
    return {
        name: value
        for name, value in os.environ.items()
        if _SECRET_NAME.search(name) and len(value) >= _SHORTEST and not Path(value).exists()
    }


def refuse_secrets_and_paths(folder: Path, machine: Machine, data: Sequence[str]) -> None:
    """Raise UserError for the first file below a folder that holds what must not leave.

    Below the folders `data` are the texts of corpora and models, which may name any path or key;
    only the values of this machine's own secrets are looked for there.
    """
    own = secrets()
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        name = path.relative_to(folder).as_posix()
        held = path.read_bytes()
        for variable, value in own.items():
            if value.encode() in held:
                raise UserError(
                    f"{name} holds the value of the environment variable {variable}; nothing was "
                    "packed. Remove it from the settings of the run, or run without it."
                )
        if name.startswith(tuple(data)) or path.name.startswith("contexts"):
            continue
        for what in _found(held.decode("utf-8", "replace"), machine):
            raise UserError(f"{name} holds {what}; nothing was packed.")


def _found(text: str, machine: Machine) -> Iterator[str]:
    if key := _KEYS.search(text):
        yield f"what looks like a key ({key[1][:6]}...)"
    if root := machine.named_in(text):
        yield f"the path of this machine '{root}'"
