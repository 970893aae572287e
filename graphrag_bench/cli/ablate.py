"""`graphrag-bench ablate`: what each step of a method is worth."""

from __future__ import annotations

from collections.abc import Sequence

from graphrag_bench.analysis.replaying.ablation import ablation, ablation_table
from graphrag_bench.analysis.replaying.replay import Player
from graphrag_bench.cli.settings_words import settings_parser
from graphrag_bench.config.compose import composed
from graphrag_bench.experiment.unused_settings import refuse_unused
from graphrag_bench.progress import Progress
from graphrag_bench.report.rendering import show

_ABOUT = """
Prints what each step of a method is worth: the evidence that the method finds without it, over the
questions of a data set, with the paired difference, its interval and p. A step that later ones need
is replaced by each operator that writes the same and calls no model; of a switch each case is taken
always, of a branch each arm is left out. Steps that a change does not reach are not computed again.
Nothing is answered, and no model is asked unless --calls is given.

examples
  graphrag-bench ablate dataset=sample method=hipporag
  graphrag-bench ablate dataset=sample method=entitypassage split=dev --metric all_evidence@5
"""


def main(arguments: Sequence[str]) -> int:
    """Print the table."""
    parser = settings_parser("ablate", _ABOUT, "[GROUP=NAME ...] [SETTING=VALUE ...] [OPTIONS]")
    parser.add_argument("words", nargs="*", metavar="WORD", help="groups and settings, as of a run")
    parser.option("--metric", "NAME", "a metric of evidence or context", "evidence_recall@5")
    parser.flag("--calls", "let steps ask a model for replies that are not stored")
    asked = parser.read(arguments)
    player = Player.of_settings(composed(asked.words), Progress(), calls=asked.calls)
    refuse_unused(asked.words, [player.experiment])
    show(ablation_table(ablation(player, asked.metric)))
    return 0
