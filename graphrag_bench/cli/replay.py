"""Repeats the retrieval of a run with one or more steps changed.

Prints the paired differences and the questions that flipped. Artifacts, vectors and replies are
those of the run; no answers are generated, and no model is called without --calls.

A step is named by its operator (node.ppr) or by its position as `plan` and `show` print it
(retrieve.1.cases.otherwise.0).

examples
  graphrag-bench replay 0a1b2c --set node.ppr.damping=0.85
  graphrag-bench replay 0a1b2c --drop node.link --metric all_evidence@5
"""

from argparse import Namespace
from pathlib import Path

from graphrag_bench.cli.parsing import RUN, Parser
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.errors import UserError
from graphrag_bench.explain.changes import Change, setting_of
from graphrag_bench.explain.replay import Player, check_metric, failures
from graphrag_bench.progress import Progress
from graphrag_bench.report.comparisons import difference_table, flipped_line
from graphrag_bench.report.rendering import show
from graphrag_bench.run.stored import find_run


def declare(parser: Parser) -> None:
    parser.takes("RUN --set STEP.SETTING=VALUE [OPTIONS]")
    parser.word("run", "RUN", RUN)
    for name, shown, meaning in (
        ("--set", "STEP.SETTING=VALUE", "change a setting of a step; may be repeated"),
        ("--drop", "STEP", "leave a step out; may be repeated"),
    ):
        parser.add_argument(name, action="append", default=[], metavar=shown, help=meaning)
    parser.option("--metric", "NAME", "a metric of evidence or context", "evidence_recall@5")
    parser.flag("--calls", "let steps ask a model for replies that are not stored")
    parser.home()


def main(options: Namespace) -> None:
    changes = [*map(setting_of, options.set), *(Change("drop", step) for step in options.drop)]
    if not changes:
        raise UserError("Nothing is changed: --set or --drop.")
    load_plugins()
    run, home = find_run(options.run, options.home), Path(options.home)
    player = Player.of_run(run, home, Progress(), calls=options.calls)
    before, after = player.as_it_is(), player.with_changes(changes)
    check_metric(options.metric, before, "The run has no metric")
    scopes = {question.id: question.scope for question in player.questions}
    caption = f"A: {player.experiment.method.title}, B: {', '.join(map(str, changes))}"
    show(difference_table(caption, before.scores, after.scores, scopes))
    print(flipped_line(options.metric, before.scores, after.scores))
    for line in failures(after.retrieval):
        print(f"! {line}")
