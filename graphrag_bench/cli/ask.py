"""Answer one question with one or more methods.

The command prints the answer, the model and the first chunks (or nodes, ...) of the context. With
--details, it also prints what every step found. The graph and the replies of the model are stored,
so that asking again costs nothing.

examples
  graphrag-bench ask dataset=sample method=hipporag "Who taught the discoverer of the neutron?"
  graphrag-bench ask dataset=folder dataset.root=FOLDER method=bm25,vanilla --json "What is ...?"
"""

from argparse import Namespace

from graphrag_bench.cli.parsing import Parser, add_settings_help, is_setting, setting_name, wrapped
from graphrag_bench.config.compose import compose_settings
from graphrag_bench.errors import UserError
from graphrag_bench.explain.question import TracedAnswer
from graphrag_bench.explain.text import answer_lines, short_answer_lines
from graphrag_bench.report.rendering import show_json
from graphrag_bench.run.command import refuse_unused
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.text import model_name

UNUSED = (
    "limit", "split", "dev_share", "shard", "workers", "repeats", "objective", "evaluation",
    "llm_judge", "reference_rows", "answer", "trace",
)  # fmt: skip
"""Settings that have no effect on a single question."""


def declare(parser: Parser) -> None:
    usage = '[--json] [GROUP=NAME ...] [SETTING=VALUE ...] "QUESTION"'
    add_settings_help(parser, usage, without=(*UNUSED, "graph.per"))
    parser.add_word("words", '"QUESTION"', "the question", "*")
    parser.add_flag("--details", "print the whole context, and the trace of every step")
    parser.add_json()


def main(options: Namespace) -> None:
    words = list(filter(is_setting, options.words))
    questions = [word for word in options.words if not is_setting(word)]
    if len(questions) != 1 or not questions[0].strip():
        example = 'graphrag-bench ask method=hipporag "Who ...?"'
        raise UserError(f"`ask` needs one question in quotes: {example}")
    if unread := [name for name in map(setting_name, words) if name.partition(".")[0] in UNUSED]:
        raise UserError(f"These settings have no effect on `ask`: {', '.join(unread)}.")
    chosen = [word.removeprefix("method=") for word in words if word.startswith("method=")]
    methods = dict.fromkeys(name.strip() for name in chosen[-1].split(",")) if chosen else {}
    rest = [word for word in words if not word.startswith("method=")]
    experiments = []
    for settings in [[*rest, f"method={name}"] for name in methods if name] or [words]:
        experiments.append(Experiment.prepare(compose_settings(settings)))
        refuse_unused(settings, experiments[-1:])
    answers = [TracedAnswer.of(experiment, questions[0]).plain for experiment in experiments]
    if options.json:
        show_json(answers)
        return
    for one, experiment in zip(answers, experiments, strict=True):
        model = model_name(experiment.models.identity("llm"))
        lines = [*(answer_lines(one) if options.details else short_answer_lines(one, model))]
        print(wrapped([f"== {one['title']} ==", *lines, ""] if answers[1:] else lines))
