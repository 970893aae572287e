"""`graphrag-bench ask`: one question of your own against a data set."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from graphrag_bench.api import ask
from graphrag_bench.cli.overrides import composed, given_names, help_text, is_setting, prepared
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.read_tracking import refuse_idle


def main(arguments: Sequence[str]) -> int:
    """Print the answer, the context with its scores, and the steps."""
    if {"-h", "--help"} & set(arguments):
        sys.stdout.write(help_text("ask"))
        return 0
    questions = [word for word in arguments if not is_setting(word)]
    if len(questions) != 1 or not questions[0].strip():
        raise UserError('ask takes settings and one question: ask method=hipporag "Who ...?"')
    rest = [word for word in arguments if is_setting(word)]
    overrides = prepared(rest)
    experiment = Experiment.prepare(composed(overrides))
    refuse_idle(given_names(overrides), [experiment])
    answer = ask(experiment, questions[0])
    sys.stdout.write(answer.report() + "\n")
    return 0
