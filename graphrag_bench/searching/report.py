"""What a search found, as tables, a figure, and files: each winner as a method, ready to run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import yaml

from graphrag_bench.report.figures.lines import Mark
from graphrag_bench.report.figures.pareto import plot_pareto
from graphrag_bench.report.rendering import MISSING, Table, p_head, shown_p
from graphrag_bench.runs.folder import write_whole
from graphrag_bench.searching.search import Confirmed, Outcome

_ABOUT = (
    ("minus by hand", "test, minus the hand-written method that is best on dev"),
    ("luck", "dev minus test: how much of the score came from choosing by it"),
    ("ms", "median milliseconds before the answer, measured here, so that it decides nothing: the "
     "front is over the score, tokens and index MB"),
)  # fmt: skip


def front_table(outcome: Outcome, metric: str) -> Table:
    """The front on dev and test, then the hand-written methods."""
    rows = tuple(_row(one) for one in (*outcome.found, *outcome.by_hand))
    caption = f"{metric}, chosen on dev ({outcome.n_dev}), confirmed on test ({outcome.n_test})"
    notes = tuple(told(outcome))
    p = p_head([sum(one.p is not None for one in outcome.found)])
    heads = ("pipeline", "dev", "test [95 %]", "luck", "minus by hand", p, "tokens", "index MB",
             "ms")  # fmt: skip
    return Table(caption, heads, rows, notes, texts=("pipeline",), about=_ABOUT)


def _row(one: Confirmed) -> tuple[str, ...]:
    difference = one.difference
    return (
        one.name,
        f"{one.dev.value:.3f}",
        f"{one.test.mean:.3f} [{one.test.low:.2f}, {one.test.high:.2f}]",
        f"{one.luck:+.3f}",
        MISSING if difference is None else f"{difference.mean:+.3f}",
        MISSING if one.p is None else shown_p(one.p),
        f"{one.dev.tokens:,.0f}",
        f"{one.dev.size / 1e6:.2f}",
        f"{one.milliseconds:.1f}",
    )


def told(outcome: Outcome) -> Iterator[str]:
    """How the front came about, a line each."""
    rounds = ", ".join(f"{count} over {n} questions" for n, count in outcome.halved.scored)
    yield (
        f"{outcome.n_candidates:,} of {outcome.n_points:,} pipelines ({outcome.n_shapes:,} chains "
        f"of operators) were drawn; scored: {rounds}"
    )
    yield f"the best of the hand-written methods on dev: {outcome.baseline}"
    if outcome.rediscovered:
        yield f"among the candidates by run key: {', '.join(outcome.rediscovered)}"
    if outcome.halved.unscored:
        yield (
            f"time= ended it: {outcome.halved.unscored} candidates of the last round were not "
            "scored; the same command goes on"
        )
    for reason, count in outcome.refused.items():
        yield f"{count} not run: {reason}"
    yield (
        f"{outcome.computed:,} results of steps were computed, {outcome.taken:,} shared with other "
        "pipelines or kept from before; no call to a language model"
    )


def write(outcome: Outcome, command: str) -> list[Path]:
    """Each winner as a method's file, and the front as JSON; the files of the methods."""
    folder = outcome.folder / "methods"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.yaml"):
        old.unlink()
    paths = []
    for one in outcome.found:
        path = folder / f"{one.name}.yaml"
        write_whole(path, method_file(one, command))
        paths.append(path)
    rows = [
        {
            "name": one.name,
            "steps": one.title,
            "dev": asdict(one.dev),
            "test": asdict(one.test),
            "difference": None if one.difference is None else asdict(one.difference),
            "p_holm": one.p,
        }
        for one in (*outcome.found, *outcome.by_hand)
    ]
    write_whole(outcome.folder / "front.json", json.dumps(rows, indent=2) + "\n")
    return paths


def method_file(one: Confirmed, command: str) -> str:
    """The file of a winner: its parameters, its steps, and where it comes from."""
    assert one.candidate is not None
    parameters = "${method.n_retrieved}", "${method.top_k}"
    held = one.candidate.method(n_retrieved=parameters[0], top_k=parameters[1])
    head = (
        f"# {one.title}\n"
        f"# found by: {command}\n"
        f"# {one.dev.value:.3f} on {one.dev.n} questions of dev, by which it was chosen; "
        f"{one.test.mean:.3f} on {one.test.n} of test\n"
    )
    return head + yaml.safe_dump(held, sort_keys=False, allow_unicode=True, width=100)


def plot(path: Path, outcome: Outcome, metric: str, span: int) -> None:
    """Write the score on test against the tokens of the context, front and methods by hand."""
    marks = [
        Mark(one.name, one.dev.tokens, one.test.mean, one.test.low, one.test.high)
        for one in (*outcome.found, *outcome.by_hand)
    ]
    plot_pareto(path, marks, "context tokens", f"{metric} (test)", span=span)
