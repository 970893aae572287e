"""Print what a run would build, call and cost.

To plan a command, replace `run` by `plan`. The command reads the data set and stored results. It
writes nothing and calls no model, but it may ask your own model server for its context window. For
each cost, it prints the expected value, and the maximum under the limits on calls and tokens. For a
sweep, it also prints totals.

examples
  graphrag-bench plan dataset=sample method=hipporag
  graphrag-bench plan experiment=zhou2025/table5
  graphrag-bench plan -m dataset=sample method=hipporag method.damping=0.1,0.5 answer=off
"""

from collections.abc import Iterator, Sequence

from graphrag_bench.cli import run as application
from graphrag_bench.cli.parsing import Parser, wrapped
from graphrag_bench.cli.run import Results
from graphrag_bench.errors import UserError
from graphrag_bench.report.rendering import show_json
from graphrag_bench.run.command import Outcomes, cell_identity, methods_of
from graphrag_bench.run.estimates import Estimate, estimate_table, estimates
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.plan import describe, plan_values, remaining
from graphrag_bench.text import counted


def declare(parser: Parser) -> None:
    application.declare(parser)
    parser.add_json()


def run(arguments: Sequence[str]) -> int:
    """Print the plan of a run, or of each distinct cell of a sweep. Return the exit code."""
    words = [word for word in arguments if word != "--json"]
    form = [f"+{application.CALLBACK}.as_json=true"] * (len(words) < len(arguments))
    return application.run(words, f"{application.CALLBACK}._target_={__name__}.Plans", *form)


class Plans(Results):
    """Hydra callback that prints the plans of cells instead of running them."""

    name = "plan"

    def __init__(self, as_json: bool = False) -> None:
        super().__init__()
        self.as_json, self.command.sized = as_json, True

    def plan(self, outcomes: Outcomes) -> int:
        """Print the plans and their totals. Return 1 if a cell has an error, else 0."""
        n_failed = sum(isinstance(cell, UserError) for _, cell in outcomes)
        if self.as_json:
            show_json([
                {"overrides": list(overrides)}
                | ({"failed": str(cell)} if isinstance(cell, UserError) else plan_values(cell))
                for overrides, cell in outcomes
            ])  # fmt: skip
            return int(n_failed > 0)
        seen: dict[str, Experiment] = {}
        for overrides, outcome in outcomes:
            if isinstance(outcome, UserError):
                print(f"{' '.join(overrides)}\n  failed: {outcome}\n")
            elif (name := cell_identity(outcome)) not in seen:
                seen[name] = outcome
                print(wrapped([describe(outcome)]), end="\n\n")
        asked, runs = methods_of(outcomes), dict(seen)
        for cell in seen.values():
            references = self.command.reference_experiments(cell, asked)
            runs |= {cell_identity(one): one for one in references}
        n_same = len(outcomes) - n_failed - len(seen)
        titles = dict.fromkeys(runs[one].method.title for one in runs if one not in seen)
        counts = f"cells: {len(outcomes)}" + f", duplicates: {n_same}" * (n_same > 0)
        counts += f", failed: {n_failed}" * (n_failed > 0)
        counts += f"; runs with their reference rows: {len(runs)}"
        counts += f" ({', '.join(titles)})" * bool(titles)
        print(wrapped([counts, "", *_work_ahead(list(runs.values()))]))
        return int(n_failed > 0)


def _work_ahead(experiments: Sequence[Experiment]) -> Iterator[str]:
    builds: dict[str, Estimate] = {}
    questions: list[Estimate] = []
    for experiment in experiments:
        keys = {item.resource: item.key for item in experiment.plan}
        for row in estimates(experiment, *remaining(experiment)):
            if row.stage != "build":
                questions.append(row)
            elif row.most.calls:
                builds[keys[row.step]] = row
    built, n = [*builds.values()], counted(len(experiments), "run")
    parts = {counted(len(built), "artifact"): built, f"questions of {n}": questions}
    return estimate_table("remaining, expected", {**parts, "all": [*built, *questions]})
