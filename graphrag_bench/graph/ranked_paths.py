"""Paths in ranked order: the value that path operators write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graphrag_bench.values import Path, unique, value


@value("paths")
@dataclass(frozen=True)
class RankedPaths:
    """Paths with their scores, the best first; an operator that orders otherwise says so."""

    paths: tuple[Path, ...] = ()

    def __len__(self) -> int:
        return len(self.paths)

    @classmethod
    def joined(cls, parts: Sequence[RankedPaths]) -> RankedPaths:
        """The paths of several values, each once, in order of first appearance."""
        return cls(unique([path for part in parts for path in part.paths]))
