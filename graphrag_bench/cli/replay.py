"""Repeats the retrieval of a run with one or more steps changed.

Only steps downstream of a change are recomputed. Prints the paired differences, the questions that
flipped, and for each of their gold passages the first step at which its rank rose or fell. No
answers are generated, and no model is called without --calls.

A step is named by its operator (node.ppr) or by its position as `plan` and `show` print it
(retrieve.1.cases.otherwise.0).

examples
  graphrag-bench replay 0a1b2c --set node.ppr.damping=0.85
  graphrag-bench replay 0a1b2c --drop node.link
  graphrag-bench replay 0a1b2c --swap node.link=node.match --metric all_evidence@5
"""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from graphrag_bench.cli.parsing import RUN, Parser
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.errors import UserError
from graphrag_bench.explain.changes import read_change
from graphrag_bench.explain.passages import EndStandings
from graphrag_bench.explain.replay import Moved, Player, check_metric, failures, moved
from graphrag_bench.progress import Progress
from graphrag_bench.report.comparisons import difference_table, flipped_line
from graphrag_bench.report.rendering import show
from graphrag_bench.run.stored import find_run

_CHANGES: Sequence[tuple[Literal["swap", "set", "drop"], str, str]] = (
    ("swap", "STEP=OPERATOR", "put another operator in a step's place; may be repeated"),
    ("set", "STEP.SETTING=VALUE", "change a setting of a step; may be repeated"),
    ("drop", "STEP", "leave a step out; may be repeated"),
)
"""In the order in which they are made."""
_MOST_SHOWN = 10


def declare(parser: Parser) -> None:
    parser.takes("RUN --set STEP.SETTING=VALUE [OPTIONS]")
    parser.word("run", "RUN", RUN)
    for name, shown, meaning in _CHANGES:
        parser.add_argument(f"--{name}", action="append", default=[], metavar=shown, help=meaning)
    parser.option("--metric", "NAME", "a metric of evidence or context", "evidence_recall@5")
    parser.flag("--calls", "let steps ask a model for replies that are not stored")
    parser.home()


def main(options: Namespace) -> None:
    changes = [read_change(name, word) for name, *_ in _CHANGES for word in getattr(options, name)]
    if not changes:
        raise UserError("Nothing is changed: --set, --drop or --swap.")
    load_plugins()
    run, home = find_run(options.run, options.home), Path(options.home)
    player = Player.of_run(run, home, Progress(), calls=options.calls)
    before, after = player.as_it_is(), player.with_changes(changes)
    check_metric(options.metric, before, "The run has no metric")
    scopes = {question.id: question.scope for question in player.questions}
    caption = f"A: {player.experiment.method.title}, B: {', '.join(map(str, changes))}"
    show(difference_table(caption, before.scores, after.scores, scopes))
    print(flipped_line(options.metric, before.scores, after.scores))
    for line in _why(moved(before, after, options.metric)):
        print(line)
    for line in failures(after.retrieval):
        print(f"! {line}")
    computed, reused = after.retrieval.computed, sum(after.retrieval.reused.values())
    labels = ", ".join(label for label, count in computed.items() if count) or "none"
    counts = f"computed {sum(computed.values()):,} results of steps ({labels})"
    print(f"\n{counts}; {reused:,} are those of the run")


def _why(passages: Sequence[Moved]) -> Iterator[str]:
    if passages:
        yield "\ngold passages of these questions that rose or fell, and the step that did it first"
    for one in passages[:_MOST_SHOWN]:
        yield f"  {one.question} {one.document}: {_ends(one.end)}"
        step = one.step[1] or one.step[0]
        if step is not None:
            by = f" ({step.rows[0][0]})" if step.rows else ""
            yield f"      {step.step}: {_ends(one.step)}{by}"
    if len(passages) > _MOST_SHOWN:
        yield f"  and {len(passages) - _MOST_SHOWN} more"


def _ends(pair: EndStandings) -> str:
    return " -> ".join(str(side) if side else "not ranked" for side in pair)
