"""Measure what each step of a method contributes.

The method is changed in one place at a time: a step is left out, a setting between 0 and 1 is set
to 0, a switch is fixed to one of its cases, or one list of steps of a branch is removed. Each row
of the table shows the metric after one change, its paired difference from the full method, the
interval and the p-value. --set and --drop make all given changes together and compare all metrics.

Give a stored run or the settings of a run. The retrieval of its questions is repeated without
answers. Stored artifacts, vectors and replies are reused, and no model is called unless you add
--calls. A step is named by its operator (node.ppr) or by its position in the output of `plan`
(retrieve.1.cases.otherwise.0).

examples
  graphrag-bench ablate 0a1b2c
  graphrag-bench ablate 0a1b2c --set node.ppr.damping=0.85
  graphrag-bench ablate 0a1b2c --drop node.link --metric all_evidence@5
  graphrag-bench ablate dataset=sample method=entitypassage split=dev
"""

from argparse import Namespace

from graphrag_bench.cli.parsing import RUN, Parser, add_settings_help, runs_and_settings, wrapped
from graphrag_bench.config.compose import compose_settings
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.errors import UserError
from graphrag_bench.explain import ablation
from graphrag_bench.explain.ablation import Change, MethodVariants
from graphrag_bench.report.comparisons import difference_table, flipped_line
from graphrag_bench.report.rendering import show_tables
from graphrag_bench.run.command import refuse_unused
from graphrag_bench.run.stored import find_run


def declare(parser: Parser) -> None:
    add_settings_help(parser, "RUN [OPTIONS]\n[GROUP=NAME ...] [SETTING=VALUE ...] [OPTIONS]")
    parser.add_word("words", "RUN", f"{RUN}; or the settings of a run", "+")
    meaning = "change a setting of a step (repeatable)"
    parser.add_option("--set", "STEP.SETTING=VALUE", meaning, [], action="append")
    parser.add_option("--drop", "STEP", "leave a step out (repeatable)", [], action="append")
    metric = "evidence_recall@5"
    parser.add_option("--metric", "NAME", f"the metric to compare (default: {metric})", metric)
    parser.add_flag("--calls", "allow model calls for replies that are not stored")
    parser.add_home()
    parser.add_json()


def main(options: Namespace) -> None:
    changes = [ablation.parse_change(text) for text in options.set]
    changes += [Change("drop", step) for step in options.drop]
    named, settings = runs_and_settings(options.words)
    if named[1:] or (named and settings):
        given = " ".join(options.words)
        raise UserError(f"`ablate` needs one RUN or the settings of a run, but got '{given}'.")
    if named:
        load_plugins()
        run = find_run(named[0], options.home)
        variants = MethodVariants.of_run(run, options.home, calls=options.calls)
    else:
        words = [*settings, f"paths.home={options.home}"]
        variants = MethodVariants.of_settings(compose_settings(words), calls=options.calls)
        refuse_unused(words, [variants.experiment])
    if not changes:
        show_tables([ablation.ablation(variants, options.metric)], as_json=options.json)
        return
    before = variants.whole(options.metric)
    after, failures = variants.retrieve(variants.make(*changes))
    caption = f"A: {variants.experiment.method.title}, B: {', '.join(map(str, changes))}"
    show_tables([difference_table(caption, before, after, variants.scopes)], as_json=options.json)
    if not options.json:
        flipped = flipped_line(options.metric, before, after)
        print(wrapped([flipped, *(f"! {line}" for line in failures)]))
