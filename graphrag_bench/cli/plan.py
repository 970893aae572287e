"""`graphrag-bench plan`: what a run or a sweep would do; touches no model."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from hydra.types import RunMode

from graphrag_bench.cli.parsing import settings_parser
from graphrag_bench.config.compose import PRIMARY, cells, composed, composition, parsed
from graphrag_bench.errors import UserError
from graphrag_bench.run.checking import refuse_unused
from graphrag_bench.run.describe import describe
from graphrag_bench.run.estimate import Estimate, estimates
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.session import Identity, Session, identity

_WIDTH = 44
_ABOUT = """
Prints what a run with the same words would build, read, write and call; touches no model. Replace
`run` by `plan` in any command.

examples
  graphrag-bench plan dataset=sample method=hipporag
  graphrag-bench plan experiment=zhou2025/table5
  graphrag-bench plan -m dataset=sample method=hipporag method.damping=0.1,0.5 answer=off
    every cell of the sweep, and the builds, calls, tokens and money of all, summed
"""


def main(arguments: Sequence[str]) -> int:
    """Print the plan of a run, or of each cell of a sweep, equal ones once; 1 where one fails."""
    parser = settings_parser("plan", _ABOUT, "[-m] [GROUP=NAME ...] [SETTING=VALUE ...]")
    parser.add_argument("words", nargs="*", metavar="WORD", help="groups and settings, as of a run")
    parser.option("--config-name", "NAME", "your own primary configuration", PRIMARY)
    parser.flag("--multirun", "plan a sweep: see run --help", "-m")
    options = parser.read(arguments, alone=True)
    words = parsed(options.words)
    plain = [str(one.input_line) for one in words if not one.is_sweep_override()]
    config = composition(plain, options.config_name)
    plans = Session()
    if not options.multirun and config.hydra.mode != RunMode.MULTIRUN:
        experiment = plans.experiment(
            composed(options.words, name=options.config_name), swept=False
        )
        sys.stdout.write(describe(experiment) + "\n\n")
        refuse_unused(options.words, [experiment])
        return 0
    own = [str(one.input_line) for one in words if not one.is_hydra_override()]
    every = cells(config, own)
    seen: dict[Identity, Experiment] = {}
    n_failed = 0
    for overrides, outcome in plans.prepared(every or [plain], options.config_name):
        if isinstance(outcome, UserError):
            n_failed += 1
            sys.stdout.write(f"{' '.join(overrides)}\n  failed: {outcome}\n\n")
        elif identity(outcome) not in seen:
            seen[identity(outcome)] = outcome
            sys.stdout.write(describe(outcome) + "\n\n")
    if seen and not n_failed:
        refuse_unused([word for cell in every or [plain] for word in cell], list(seen.values()))
    if seen:
        rows = [one for cell in seen.values() for one in plans.with_references(cell)]
        sys.stdout.write(_work_left(list({identity(one): one for one in rows}.values())))
        text = f"{config.hydra.sweeper.get('n_trials')}, each as this one but for what the sweeper "
        text += "chooses"
        if every:
            text = f"{len(every)}, different runs: {len(seen)}, "
            text += f"same: {len(every) - n_failed - len(seen)}"
            text += f", failed: {n_failed}" if n_failed else ""
        sys.stdout.write(f"cells: {text}\n")
    return 1 if n_failed else 0


def _work_left(experiments: Sequence[Experiment]) -> str:
    builds: dict[str, Estimate] = {}
    questions: list[Estimate] = []
    for experiment in experiments:
        keys = {item.resource: item.key for item in experiment.plan}
        selected, to_answer = experiment.selection()
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
    for name, rows in (
        (f"{len(built)} artifacts read by a language model", built),
        ("questions", questions),
        ("all", [*built, *questions]),
    ):
        calls, prompt = sum(row.calls for row in rows), sum(row.prompt_tokens for row in rows)
        completion, usd = sum(row.completion_tokens for row in rows), sum(row.usd for row in rows)
        costs = f"{calls:>9,} {prompt:>12,} {completion:>12,} {usd:>10.4f}"
        lines.append(f"  {name:<{_WIDTH - 2}} {costs}")
    return "\n".join(lines) + "\n\n"
