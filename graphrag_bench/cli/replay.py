"""`graphrag-bench replay`: a finished run with a step changed, and which questions flipped."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from graphrag_bench.analysis.replaying.changes import Change, read_change
from graphrag_bench.analysis.replaying.replay import Moved, Player, Replayed, failures, moved
from graphrag_bench.analysis.replaying.standing import Pair
from graphrag_bench.cli.parsing import RUN, command_parser
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.progress import Progress
from graphrag_bench.report.comparisons import difference_table, flipped_line
from graphrag_bench.report.rendering import show
from graphrag_bench.runs.stored import find_run

_ABOUT = """
Takes the questions of a finished run through its steps again with one or more of them changed. Only
what comes after a change is computed again. It prints the paired differences, which questions
flipped, and for each gold passage of these the first step at which it rose or fell. Nothing is
answered, and no model is asked unless --calls is given.

A step is named by its operator (node.ppr), or by its place as `plan` and `show` print it
(retrieve.1.cases.otherwise.0).

examples
  graphrag-bench replay 0a1b2c --set node.ppr.damping=0.85
  graphrag-bench replay 0a1b2c --drop node.link
  graphrag-bench replay 0a1b2c --swap node.link=node.match --metric all_evidence@5
"""
_MOST_SHOWN = 10


def main(arguments: Sequence[str]) -> int:
    """Print differences, flips, and what was computed."""
    parser = command_parser("replay", _ABOUT, "RUN --set STEP.SETTING=VALUE [OPTIONS]")
    parser.add_argument("run", metavar="RUN", help=RUN)
    for option, shown, meaning in (
        ("--set", "STEP.SETTING=VALUE", "another value of a step's setting"),
        ("--drop", "STEP", "leave a step out"),
        ("--swap", "STEP=OPERATOR", "another operator in a step's place"),
    ):
        parser.add_argument(
            option, action="append", default=[], metavar=shown,
            help=f"{meaning}; may be given several times",
        )  # fmt: skip
    parser.option("--metric", "NAME", "a metric of evidence or context", "evidence_recall@5")
    parser.flag("--calls", "let steps ask a model for replies that are not stored")
    parser.home()
    asked = parser.read(arguments)
    changes = [
        *(read_change("swap", word) for word in asked.swap),
        *(read_change("set", word) for word in asked.set),
        *(read_change("drop", word) for word in asked.drop),
    ]
    if not changes:
        raise UserError("Nothing is changed: --set, --drop or --swap.")
    load_plugins()
    player = Player.of_run(find_run(asked.run, asked.home), Path(asked.home), Progress(),
                           calls=asked.calls)  # fmt: skip
    _show(player, changes, asked.metric)
    return 0


def _show(player: Player, changes: Sequence[Change], metric: str) -> None:
    before, after = player.as_it_is(), player.with_changes(changes)
    known = {name for held in before.scores.values() for name in held}
    if metric not in known:
        raise UserError(f"The run has no metric '{metric}'. {did_you_mean(metric, known)}")
    scopes = {question.id: question.scope for question in player.questions}
    caption = f"A: {player.experiment.method.title}, B: {', '.join(map(str, changes))}"
    show(difference_table(caption, before.scores, after.scores, scopes))
    sys.stdout.write(flipped_line(metric, before.scores, after.scores) + "\n")
    for line in _why(moved(before, after, metric)):
        sys.stdout.write(f"{line}\n")
    for said in failures(after.found):
        sys.stdout.write(f"! {said}\n")
    sys.stdout.write(_computed(after))


def _why(found: Sequence[Moved]) -> Iterator[str]:
    if found:
        yield "\ngold passages of these questions that rose or fell, and the step that did it first"
    for one in found[:_MOST_SHOWN]:
        yield f"  {one.question} {one.document}: {_ends(one.end)}"
        step = one.step[1] or one.step[0]
        if step is not None:
            by = f" ({step.rows[0][0]})" if step.rows else ""
            yield f"      {step.step}: {_ends(one.step)}{by}"
    if len(found) > _MOST_SHOWN:
        yield f"  and {len(found) - _MOST_SHOWN} more"


def _ends(pair: Pair) -> str:
    return " -> ".join(str(side) if side else "not ranked" for side in pair)


def _computed(after: Replayed) -> str:
    labels = [label for label, count in after.found.computed.items() if count]
    told = f": {', '.join(labels)}" if labels else ""
    return (
        f"\ncomputed {after.n_computed:,} results of steps{told}; "
        f"{after.n_taken:,} are those of the run\n"
    )
