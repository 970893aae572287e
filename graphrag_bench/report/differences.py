"""Two runs compared: differences, questions gained and lost, settings that differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphrag_bench.evaluation.metrics import UNDIRECTED
from graphrag_bench.evaluation.statistics import paired_difference
from graphrag_bench.report.rendering import MISSING, Table, shown_p

Scores = Mapping[str, Mapping[str, float]]
_HEADS = ("metric", "n", "A", "B", "B - A [95 %]", "p", "B higher", "same", "A higher")
_MOST_SHOWN = 20


def difference_table(
    caption: str, first: Scores, second: Scores, scopes: Mapping[str, str | None] | None = None
) -> Table:
    """A row for each metric that both runs have, over the questions that both have.

    Questions of one scope (`scopes`, by question) are drawn and swapped together.
    """
    of = scopes or {}
    names = list(dict.fromkeys(name for held in first.values() for name in held))
    rows = []
    for name in names:
        shared = [q for q in first if name in first[q] and name in second.get(q, {})]
        if shared:
            found = paired_difference(
                [first[q][name] for q in shared],
                [second[q][name] for q in shared],
                scopes=[of.get(q) for q in shared],
            )
            rows.append(
                (
                    name,
                    str(found.n),
                    f"{found.first:.3f}",
                    f"{found.second:.3f}",
                    f"{found.mean:+.3f} [{found.low:+.3f}, {found.high:+.3f}]",
                    shown_p(found.p),
                    str(found.wins),
                    str(found.ties),
                    str(found.losses),
                )
            )
    notes = (
        "over the questions that both runs have; interval: paired bootstrap; p: two-sided paired "
        "permutation test (mid-p), questions that share a scope together, of one metric at a time "
        "and not corrected for looking at several; of "
        f"{', '.join(UNDIRECTED)} more is not better",
    )
    return Table(caption, _HEADS, tuple(rows), notes, texts=("metric",))


def flipped(name: str, first: Scores, second: Scores) -> tuple[list[str], list[str]]:
    """The questions that the second run gains in a metric, and those that it loses, in order."""
    both = [q for q in first if name in first[q] and name in second.get(q, {})]
    gained = [q for q in both if second[q][name] > first[q][name]]
    return gained, [q for q in both if second[q][name] < first[q][name]]


def flipped_line(name: str, first: Scores, second: Scores) -> str:
    """`name: gained q1, q2; lost q3`, at most 20 of each."""
    said = []
    for word, found in zip(("gained", "lost"), flipped(name, first, second), strict=True):
        more = f" and {len(found) - _MOST_SHOWN} more" if len(found) > _MOST_SHOWN else ""
        said.append(f"{word} {', '.join(found[:_MOST_SHOWN]) or MISSING}{more}")
    return f"{name}: {'; '.join(said)}"


def settings_that_differ(
    first: Mapping[str, Any], second: Mapping[str, Any]
) -> list[tuple[str, str, str]]:
    """(path, value in A, value in B) of every setting that is not the same."""
    names = sorted({*first, *second})
    return [
        (name, str(first.get(name, MISSING)), str(second.get(name, MISSING)))
        for name in names
        if first.get(name) != second.get(name)
    ]
