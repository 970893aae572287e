"""The workload: runs on the toy set that ask a server in every phase, and what they leave."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaos.serving import Scenario

_UNDETERMINED = ("recipe.json", "manifest.json", "ledger.jsonl")
_METRICS = (
    "metrics", "answered", "failed", "fell_back", "fallbacks", "errors", "key", "method", "dataset",
    "answer_forms", "limit", "extraction", "extraction_statistics", "llm", "embedder",
)  # fmt: skip
_COUNTS = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "steps")
_LLM = (
    "llm=openai_compatible",
    "llm.model=chaos",
    "llm.api_key_env=null",
    "llm.limits.concurrency=4",
    "llm.patience.first_pause=0.01",
    "llm.patience.longest_pause=0.02",
)
CONCURRENCY = 4


@dataclass(frozen=True)
class Work:
    """A run: its name, its own settings, and whether a server embeds."""

    name: str
    settings: Sequence[str]
    embeds: bool = False

    def arguments(self, home: Path, scenario: Scenario, patience: float = 6.0) -> list[str]:
        """The words of the command, for a home, a server and seconds of patience with it."""
        service = [
            "embedder=openai_compatible",
            "embedder.model=chaos",
            f"embedder.base_url={scenario.url}",
            "embedder.api_key_env=null",
            "embedder.dimension=32",
            f"embedder.patience.total={patience}",
            "embedder.patience.first_pause=0.01",
            "embedder.patience.read=1.0",
        ]
        return [
            "run",
            "dataset=toy",
            *self.settings,
            *(service if self.embeds else ["embedder=hashing"]),
            *_LLM,
            f"llm.base_url={scenario.url}",
            "llm.patience.read=1.0",
            f"llm.patience.total={patience}",
            "reference_rows=off",
            f"paths.home={home}",
        ]


HIPPORAG = Work("hipporag", ("method=hipporag", "method.conversion=llm", "build.extraction=llm"))
WORKS = (
    HIPPORAG,
    Work("graphrag", ("method=ggraphrag", "fidelity=paper")),
    Work(
        "raptor",
        (
            "method=raptor_kmeans",
            "fidelity=paper",
            "build.graph.cluster_size=3",
            "build.graph.reduction_dimension=2",
        ),
    ),
    Work("lightrag", ("method=hlightrag", "fidelity=paper")),
    Work("tog", ("method=tog", "fidelity=paper")),
    Work("embedding", ("method=hybrid",), embeds=True),
)


@dataclass(frozen=True)
class Left:
    """What a run left behind: rows, metrics without costs and times, columns of its artifacts."""

    records: bytes
    metrics: dict[str, Any]
    artifacts: dict[str, bytes]

    def differs(self, other: Left, *, counted: bool = True) -> str:
        """How another's result differs from this one; "" when it does not.

        Unless `counted`, tokens may differ: of a server that tells none they are estimated.
        """
        if self.records != other.records and (counted or self._rows() != other._rows()):
            return "records.jsonl differs"
        changed = [name for name in _METRICS if self.metrics.get(name) != other.metrics.get(name)]
        changed = [name for name in changed if counted or name != "metrics"]
        if changed:
            return f"metrics.json differs in {', '.join(changed)}"
        names = sorted(self.artifacts.keys() ^ other.artifacts.keys())
        names += [k for k, held in self.artifacts.items() if other.artifacts.get(k, held) != held]
        return f"artifacts differ: {', '.join(names[:3])}" if names else ""

    def _rows(self) -> list[dict[str, Any]]:
        """The rows without tokens of calls."""
        rows = [json.loads(line) for line in self.records.splitlines()]
        return [{name: row[name] for name in row if name not in _COUNTS} for row in rows]


def left(home: Path) -> Left:
    """What the one run of a home left behind; empty where it has not come so far."""
    rows = b"".join(path.read_bytes() for path in sorted(home.glob("runs/*/*/*/records.jsonl")))
    metrics: dict[str, Any] = {}
    for path in sorted(home.glob("runs/*/*/*/metrics.json")):
        metrics = json.loads(path.read_text())
    artifacts = {
        path.relative_to(home).as_posix(): path.read_bytes()
        for path in sorted(home.glob("artifacts/*/*/*/**/*"))
        if path.is_file() and path.name not in _UNDETERMINED and path.suffix != ".lock"
    }
    return Left(rows, metrics, artifacts)
