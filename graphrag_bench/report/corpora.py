"""Runs over different versions of a corpus: which ones, and what a table says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphrag_bench.errors import UserError

SHOWN = 8
"""Signs of a corpus' fingerprint that are shown."""
Run = Mapping[str, Any]


def versions(runs: Sequence[Run]) -> dict[str, list[str]]:
    """The fingerprints of each data set's corpora, where its runs are over more than one.

    In the order of the runs, shortened. A run from before corpora were kept has none. Runs are what
    `metrics.json` holds.
    """
    found: dict[str, dict[str, None]] = {}
    for run in runs:
        if run.get("corpus"):
            found.setdefault(str(run["dataset"]), {})[str(run["corpus"])[:SHOWN]] = None
    return {dataset: list(held) for dataset, held in found.items() if len(held) > 1}


def differ(first: Run, second: Run) -> bool:
    """Whether two runs are known to be over different corpora."""
    held = first.get("corpus"), second.get("corpus")
    return None not in held and held[0] != held[1]


def corpus_notes(runs: Sequence[Run]) -> list[str]:
    """A warning for each data set whose runs are over different versions of its corpus."""
    return [
        f"! {dataset}: these runs are over different versions of its corpus "
        f"({', '.join(held)}), and their differences are those of the texts too"
        for dataset, held in versions(runs).items()
    ]


def refuse_across(runs: Sequence[Run]) -> None:
    """Raise UserError where runs of one data set are over different versions of its corpus."""
    for dataset, held in versions(runs).items():
        mine = [run for run in runs if run["dataset"] == dataset]
        raise _refused(
            f"The runs of '{dataset}' are over different versions of its corpus", mine, held
        )


def refuse_pair(first: Run, second: Run) -> None:
    """Raise UserError for two runs over different corpora, of one data set or of two."""
    if differ(first, second):
        held = [str(run["corpus"])[:SHOWN] for run in (first, second)]
        raise _refused("The two runs are over different corpora", (first, second), held)


def _refused(what: str, runs: Sequence[Run], held: Sequence[str]) -> UserError:
    said = []
    for version in held:
        over = [run for run in runs if str(run.get("corpus")).startswith(version)]
        names = [f"{run['title']} {run['key']} on {run['dataset']}" for run in over]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        said.append(f"corpus {version}: {', '.join(names[:3])}{more}")
    return UserError(
        f"{what}, and are not paired: {'; '.join(said)}. Name runs over one corpus, or add "
        "--across-corpora."
    )
