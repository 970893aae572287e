"""Measure what each step of a method contributes.

Without --set and --drop, each step is left out in turn. A setting from 0 to 1 is set to 0, a switch
is fixed to each case, and a branch loses each arm. Each row has the evidence retrieved, the paired
difference from the whole method, its interval and p. With --set or --drop, the changed method is
compared with the whole one on every metric.

The questions are those of a stored run, or of the run that the settings describe. No answer is
generated. Stored artifacts, vectors and replies are reused, and no model is called without --calls.
Name a step by its operator (node.ppr) or by its place, as `plan` prints it
(retrieve.1.cases.otherwise.0).

examples
  graphrag-bench ablate 0a1b2c
  graphrag-bench ablate 0a1b2c --set node.ppr.damping=0.85
  graphrag-bench ablate 0a1b2c --drop node.link --metric all_evidence@5
  graphrag-bench ablate dataset=sample method=entitypassage split=dev
"""

from argparse import Namespace
from pathlib import Path

from graphrag_bench.cli.parsing import RUN, Parser, add_settings_help, runs_and_settings, wrapped
from graphrag_bench.config.compose import compose_settings
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.errors import UserError
from graphrag_bench.explain.ablation import (
    Change,
    MethodVariants,
    ablation,
    check_metric,
    parse_change,
)
from graphrag_bench.progress import Progress
from graphrag_bench.report.comparisons import difference_table, flipped_line
from graphrag_bench.report.rendering import show_tables
from graphrag_bench.run.command import refuse_unused
from graphrag_bench.run.stored import find_run


def declare(parser: Parser) -> None:
    add_settings_help(parser, "RUN [OPTIONS]\n[GROUP=NAME ...] [SETTING=VALUE ...] [OPTIONS]")
    parser.add_word("words", "RUN", f"{RUN}; or the groups and settings of a run", "+")
    for name, shown, meaning in (
        ("--set", "STEP.SETTING=VALUE", "change a setting of a step (repeatable)"),
        ("--drop", "STEP", "leave a step out (repeatable)"),
    ):
        parser.add_option(name, shown, meaning, [], action="append")
    parser.add_option(
        "--metric",
        "NAME",
        "a metric of evidence or context; default: evidence_recall@5",
        "evidence_recall@5",
    )
    parser.add_flag("--calls", "allow model calls for replies that are not stored")
    parser.add_home()
    parser.add_json()


def main(options: Namespace) -> None:
    changes = [*map(parse_change, options.set), *(Change("drop", step) for step in options.drop)]
    variants = _variants(options)
    if not changes:
        show_tables([ablation(variants, options.metric)], as_json=options.json)
        return
    before, after = variants.variant(), variants.variant(changes)
    check_metric(options.metric, before)
    scopes = {question.id: question.scope for question in variants.questions}
    caption = f"A: {variants.experiment.method.title}, B: {', '.join(map(str, changes))}"
    table = difference_table(caption, before.scores, after.scores, scopes)
    show_tables([table], as_json=options.json)
    if not options.json:
        flipped = flipped_line(options.metric, before.scores, after.scores)
        print(wrapped([flipped, *(f"! {line}" for line in after.failures)]))


def _variants(options: Namespace) -> MethodVariants:
    named, settings = runs_and_settings(options.words)
    if not named:
        words = [*settings, f"paths.home={options.home}"]
        variants = MethodVariants.of_settings(
            compose_settings(words), Progress(), calls=options.calls
        )
        refuse_unused(words, [variants.experiment])
        return variants
    if named[1:] or settings:
        given = " ".join(options.words)
        raise UserError(f"`ablate` takes one RUN or the settings of a run, not '{given}'.")
    load_plugins()
    run = find_run(named[0], options.home)
    return MethodVariants.of_run(run, Path(options.home), Progress(), calls=options.calls)
