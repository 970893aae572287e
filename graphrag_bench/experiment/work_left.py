"""What the runs of a sweep still have to do: calls, tokens and money, summed over its cells."""

from __future__ import annotations

from collections.abc import Sequence

from graphrag_bench.experiment.estimate import Estimate, estimates
from graphrag_bench.experiment.execute import selection
from graphrag_bench.experiment.experiment import Experiment

_WIDTH = 44


def work_left(experiments: Sequence[Experiment]) -> str:
    """Return a table of the expected cost of runs; an artifact that several need counts once.

    Calls of questions are summed run by run: those whose prompt is the same come from the cache, so
    that the sum is an upper bound.
    """
    builds: dict[str, Estimate] = {}
    questions: list[Estimate] = []
    for experiment in experiments:
        keys = {item.resource: item.key for item in experiment.plan}
        selected, to_answer = selection(experiment)
        done = {answering: experiment.folder.done(answering) for answering in (True, False)}
        left = [one.id for one in selected if one.id not in done[one.id in to_answer]]
        for row in estimates(experiment, len(left), sum(one in to_answer for one in left)):
            if row.stage != "build":
                questions.append(row)
            elif row.calls:
                builds[keys[row.step]] = row
    built = list(builds.values())
    head = f"left to do in {len(experiments)} runs, at most"
    lines = [f"{head:<{_WIDTH}} {'calls':>9} {'prompt':>12} {'completion':>12} {'USD':>10}"]
    lines += [
        _line(f"{len(built)} artifacts read by a language model", built),
        _line("questions", questions),
        _line("all", [*built, *questions]),
    ]
    return "\n".join(lines) + "\n\n"


def _line(name: str, rows: Sequence[Estimate]) -> str:
    calls, prompt = sum(row.calls for row in rows), sum(row.prompt_tokens for row in rows)
    completion, usd = sum(row.completion_tokens for row in rows), sum(row.usd for row in rows)
    return f"  {name:<{_WIDTH - 2}} {calls:>9,} {prompt:>12,} {completion:>12,} {usd:>10.4f}"
