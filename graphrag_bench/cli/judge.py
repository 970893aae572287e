r"""Lets a language model grade the answers of runs one by one.

Values are stored in the run's folder (judged.jsonl): repeating the command resumes it, and repeats
no call. An unreadable reply is a missing value and enters no mean. Contexts are those that the run
stored (none with trace=off).

examples
  graphrag-bench judge 0a1b2c3d llm@llm_judge=openai_compatible llm_judge.model=gpt-4o-mini
  graphrag-bench judge RUN_A RUN_B --metrics judged_correctness llm@llm_judge=openai_compatible \
      llm_judge.model=qwen3:8b llm_judge.base_url=http://localhost:11434/v1 \
      llm_judge.api_key_env=null
"""

from argparse import Namespace
from pathlib import Path

from graphrag_bench.cli.parsing import Parser, is_setting, positive, refuse_but
from graphrag_bench.config.compose import composed
from graphrag_bench.config.settings import RunSettings, check_settings
from graphrag_bench.config.sources import names
from graphrag_bench.errors import UserError
from graphrag_bench.judging import answers
from graphrag_bench.judging.tables import judged_table
from graphrag_bench.progress import Progress
from graphrag_bench.report.rendering import show
from graphrag_bench.run.judged import judged_values
from graphrag_bench.run.models import Models
from graphrag_bench.run.stored import StoredRun, find_run

_SETTINGS = ("llm_judge", "cache", "budget", "failures")
"""The settings of a run that judging takes."""


def declare(parser: Parser) -> None:
    parser.takes("RUN [RUN ...] llm@llm_judge=NAME [SETTING=VALUE ...] [OPTIONS]")
    declare_judge(parser, "embedder= ")
    about = ((name, str(one.metric.__doc__), one.named) for name, one in answers.MEASURES.items())
    rows = [(name, "by name only: " * named + text.splitlines()[0]) for name, text, named in about]
    parser.rows("metrics", rows)
    parser.option("--metrics", "A,B", "only these; default: all that data set and run allow", "")


def declare_judge(parser: Parser, more: str = "") -> None:
    parser.word("words", "RUN", "a run's folder, or its key's beginning; or a judge's setting", "+")
    parser.home(None, "the folder that holds runs/; default: that of the first run")
    parser.rows("settings", [
        ("llm@llm_judge=", f"{', '.join(names('llm'))}; no default: a judge has to be chosen"),
        (f"{more}cache.* budget.* failures.*", "as of a run; budget.usd=1 stops before 1 USD"),
    ])  # fmt: skip
    parser.option("--limit", "N", "only the first N questions, stratified by type", type=positive)
    parser.flag("--plan", "say how many calls it would take at most, and make none")


def main(options: Namespace) -> None:
    wanted = tuple(filter(None, options.metrics.split(",")))
    answers.chosen(wanted)
    runs, settings = runs_to_judge("judge", options, 1, "embedder")
    models = Models(settings, runs[0].require_dataset())
    models.identity("llm_judge")
    if options.plan:
        for run in runs:
            calls = answers.calls_ahead(run, models, wanted, options.limit)
            each = ", ".join(f"{name} {n}" for name, n in calls.items())
            print(f"{run.folder.path}: at most {sum(calls.values())} calls ({each})")
        return
    ledgers = [run.folder.path / answers.LEDGER for run in runs]
    models.charge(ledgers[0], lambda: ledgers[1:])
    judged = []
    for run in runs:
        rows = answers.judge_answers(run, models, wanted, options.limit, Progress())
        judged.append((str(run.metrics["title"]), judged_values(rows), run.scopes))
    show(judged_table(judged))
    for run in runs:
        print(f"judged: {(run.folder.path / 'judged.jsonl').resolve()}")


def runs_to_judge(
    command: str, options: Namespace, least: int, *more: str
) -> tuple[list[StoredRun], RunSettings]:
    """Return the runs among the words, each once, and the checked settings with their home.

    A folder that is there is a run, whatever it is called. The home is `--home`, else that of the
    first run. Raises UserError for fewer than `least` runs.
    """
    named = [word for word in options.words if not is_setting(word) or Path(word).is_dir()]
    settings = [word for word in options.words if word not in named]
    refuse_but(command, settings, (*_SETTINGS, *more))
    checked = check_settings(composed(settings))
    runs = [find_run(name, options.home or ".") for name in named] if len(named) >= least else []
    distinct = list({run.folder.path.resolve(): run for run in runs}.values())
    if len(distinct) < least:
        n = ("one run", "two runs")[least - 1]
        raise UserError(f"{command} takes {n} or more: folders, or beginnings of keys.")
    home = options.home or str(distinct[0].folder.path.resolve().parents[3])
    paths = checked.paths.model_copy(update={"home": home})
    return distinct, checked.model_copy(update={"paths": paths})
