"""Prints what a run with the same words would build, read, write and call.

It touches no model. Replace `run` by `plan` in any command.

examples
  graphrag-bench plan dataset=sample method=hipporag
  graphrag-bench plan experiment=zhou2025/table5
  graphrag-bench plan -m dataset=sample method=hipporag method.damping=0.1,0.5 answer=off
    every cell of the sweep, and the builds, calls, tokens and money of all, summed
"""

from collections.abc import Sequence

from graphrag_bench.cli import run as application
from graphrag_bench.errors import UserError
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.plan import Estimate, describe, estimates, remaining
from graphrag_bench.run.session import Identity, Outcomes, identity, session

_WIDTH = 44
declare = application.declare


def run(arguments: Sequence[str]) -> int:
    """Print the plan of a run, or of each cell of a sweep, equal ones once; 1 where one fails."""
    return application.run(arguments, _print)


def _print(outcomes: Outcomes) -> None:
    seen: dict[Identity, Experiment] = {}
    n_failed = 0
    for overrides, outcome in outcomes:
        if isinstance(outcome, UserError):
            n_failed += 1
            print(f"{' '.join(overrides)}\n  failed: {outcome}\n")
        elif identity(outcome) not in seen:
            seen[identity(outcome)] = outcome
            print(describe(outcome), end="\n\n")
    if seen and outcomes[0][0]:
        rows = [one for cell in seen.values() for one in session().with_references(cell)]
        print(_work_ahead(list({identity(one): one for one in rows}.values())))
        n_same = len(outcomes) - n_failed - len(seen)
        counts = f"{len(outcomes)}, different runs: {len(seen)}, same: {n_same}"
        print(f"cells: {counts}" + (f", failed: {n_failed}" if n_failed else ""))


def _work_ahead(experiments: Sequence[Experiment]) -> str:
    builds: dict[str, Estimate] = {}
    questions: list[Estimate] = []
    for experiment in experiments:
        keys = {item.resource: item.key for item in experiment.plan}
        for row in estimates(experiment, *remaining(experiment)):
            if row.stage != "build":
                questions.append(row)
            elif row.calls:
                builds[keys[row.step]] = row
    built = list(builds.values())
    head = f"left to do in {len(experiments)} runs, at most"
    text = f"{head:<{_WIDTH}} {'calls':>9} {'prompt':>12} {'completion':>12} {'USD':>10}\n"
    for name, rows in (
        (f"{len(built)} artifacts read by a language model", built),
        ("questions", questions),
        ("all", [*built, *questions]),
    ):
        calls, prompt = sum(row.calls for row in rows), sum(row.prompt_tokens for row in rows)
        completion, usd = sum(row.completion_tokens for row in rows), sum(row.usd for row in rows)
        text += f"  {name:<{_WIDTH - 2}} {calls:>9,} {prompt:>12,} {completion:>12,} {usd:>10.4f}\n"
    return text
