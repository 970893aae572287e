"""Prints what a run with the same words would build, read, write and call.

It touches no model. Replace `run` by `plan` in any command.

examples
  graphrag-bench plan dataset=sample method=hipporag
  graphrag-bench plan experiment=zhou2025/table5
  graphrag-bench plan -m dataset=sample method=hipporag method.damping=0.1,0.5 answer=off
    every cell of the sweep, and the builds, calls, tokens and money of all, summed
"""

from argparse import Namespace
from collections.abc import Sequence

from hydra.types import RunMode

from graphrag_bench.cli.parsing import Parser, show_settings
from graphrag_bench.config.compose import PRIMARY, cells, composed, composition, parsed
from graphrag_bench.errors import UserError
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.plan import Estimate, describe, estimates, remaining
from graphrag_bench.run.session import Identity, Session, identity, refuse_unused

_WIDTH = 44


def declare(parser: Parser) -> None:
    """Take what a run takes."""
    show_settings(parser, "[-m] [GROUP=NAME ...] [SETTING=VALUE ...]")
    parser.words()
    parser.option("--config-name", "NAME", "your own primary configuration", PRIMARY)
    parser.flag("--multirun", "plan a sweep: see run --help", "-m")


def main(options: Namespace) -> int:
    """Print the plan of a run, or of each cell of a sweep, equal ones once; 1 where one fails."""
    words, name = parsed(options.words), options.config_name
    plain = [str(one.input_line) for one in words if not one.is_sweep_override()]
    config = composition(plain, name)
    plans = Session()
    if not options.multirun and config.hydra.mode != RunMode.MULTIRUN:
        experiment = plans.experiment(composed(options.words, name=name), swept=False)
        print(describe(experiment), end="\n\n")
        refuse_unused(options.words, [experiment])
        return 0
    chosen = cells(config, [str(one.input_line) for one in words if not one.is_hydra_override()])
    every = chosen or [plain]
    seen: dict[Identity, Experiment] = {}
    n_failed = 0
    for overrides, outcome in plans.prepared(every, name):
        if isinstance(outcome, UserError):
            n_failed += 1
            print(f"{' '.join(overrides)}\n  failed: {outcome}\n")
        elif identity(outcome) not in seen:
            seen[identity(outcome)] = outcome
            print(describe(outcome), end="\n\n")
    if not seen:
        return 1
    if not n_failed:
        refuse_unused([word for cell in every for word in cell], list(seen.values()))
    rows = [one for cell in seen.values() for one in plans.with_references(cell)]
    print(_work_ahead(list({identity(one): one for one in rows}.values())))
    text = f"{config.hydra.sweeper.get('n_trials')}, each as this one but for what the sweeper "
    text += "chooses"
    if chosen:
        n_same = len(every) - n_failed - len(seen)
        text = f"{len(every)}, different runs: {len(seen)}, same: {n_same}"
        text += f", failed: {n_failed}" if n_failed else ""
    print(f"cells: {text}")
    return 1 if n_failed else 0


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
