"""Prints the contribution of each step of a method.

That is the evidence retrieved without it, with the paired difference, its interval and p. A
setting from 0 to 1 is set to 0, a switch fixed to each of its cases, a branch loses each of its
arms. No answers are generated, and no model is called without --calls.

examples
  graphrag-bench ablate dataset=sample method=hipporag
  graphrag-bench ablate dataset=sample method=entitypassage split=dev --metric all_evidence@5
"""

from argparse import Namespace

from graphrag_bench.cli.parsing import Parser, show_settings
from graphrag_bench.config.compose import composed
from graphrag_bench.explain.ablation import ablation
from graphrag_bench.explain.replay import Player
from graphrag_bench.progress import Progress
from graphrag_bench.report.rendering import show
from graphrag_bench.run.session import refuse_unused


def declare(parser: Parser) -> None:
    show_settings(parser, "[GROUP=NAME ...] [SETTING=VALUE ...] [OPTIONS]")
    parser.word("words", "WORD", "groups and settings, as of a run", "*")
    parser.option("--metric", "NAME", "a metric of evidence or context", "evidence_recall@5")
    parser.flag("--calls", "let steps ask a model for replies that are not stored")


def main(options: Namespace) -> None:
    player = Player.of_settings(composed(options.words), Progress(), calls=options.calls)
    refuse_unused(options.words, [player.experiment])
    show(ablation(player, options.metric))
