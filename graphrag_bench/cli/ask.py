"""`graphrag-bench ask`: one question of your own against a data set, by one method or several."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from graphrag_bench.analysis.explaining.names import Names
from graphrag_bench.analysis.explaining.own_question import asked, told
from graphrag_bench.analysis.explaining.text import explained_lines
from graphrag_bench.cli.run_help import help_text
from graphrag_bench.config.compose import composed
from graphrag_bench.config.words import given_names, is_setting
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.checking import checked_words
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.unused_settings import refuse_idle


def main(arguments: Sequence[str]) -> int:
    """Print for each method the answer, the context with its scores, and the steps by name."""
    if {"-h", "--help"} & set(arguments):
        sys.stdout.write(help_text("ask"))
        return 0
    as_json = "--json" in arguments
    words = [word for word in arguments if word != "--json"]
    questions = [word for word in words if not is_setting(word)]
    if len(questions) != 1 or not questions[0].strip() or questions[0].startswith("--"):
        raise UserError('ask takes settings and one question: ask method=hipporag "Who ...?"')
    made = []
    for settings in by_method([word for word in words if is_setting(word)]):
        checked = checked_words(settings)
        made.append(Experiment.prepare(composed(checked)))
        refuse_idle(given_names(checked), made[-1:])
    found = [_told(experiment, questions[0]) for experiment in made]
    if as_json:
        sys.stdout.write(json.dumps(found, ensure_ascii=False, indent=1) + "\n")
        return 0
    for one in found:
        head = f"== {one['title']} ==\n" if len(found) > 1 else ""
        sys.stdout.write(head + "\n".join(explained_lines(one)) + "\n" + ("\n" if head else ""))
    return 0


def by_method(settings: Sequence[str]) -> list[list[str]]:
    """The settings once for each method of `method=a,b`, in order."""
    names = [word.partition("=")[2] for word in settings if word.startswith("method=")]
    if not names or "," not in names[-1]:
        return [list(settings)]
    rest = [word for word in settings if not word.startswith("method=")]
    several = dict.fromkeys(name.strip() for name in names[-1].split(",") if name.strip())
    return [[*rest, f"method={name}"] for name in several]


def _told(experiment: Experiment, text: str) -> dict[str, object]:
    found = asked(experiment, text)
    shared: Path | None = experiment.shared_artifacts
    roots = [experiment.artifacts, *([shared] if shared else [])]
    return told(found, Names(roots, found.artifacts))
