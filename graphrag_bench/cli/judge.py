r"""Grade answers with a language model, or compare runs pairwise.

The answers of one run are graded one by one. The values are stored in judged.jsonl in the folder of
the run. Unreadable replies of the judge are left out of all means. Some metrics need the contexts
of a run, which are not stored with trace=off.

Two or more runs are compared pairwise on the questions that all of them answered. The judge sees
each pair of answers in both orders. The tables show win rates with intervals, and the position bias
and length bias of the judge. Verdicts are stored in HOME/comparisons/<key>/verdicts.jsonl. --sheet
writes pairs of answers in random order. --read prints Cohen's kappa between people and the judge.

Repeat the command to resume; no call is made twice. For OpenAI's batch API or `vllm run-batch`, use
--batch, then repeat the command with --replies until there are no more requests.

examples
  graphrag-bench judge 0a1b2c3d llm@llm_judge=openai_compatible llm_judge.model=gpt-4o-mini
  graphrag-bench judge RUN_A RUN_B --each --metrics judged_correctness llm@llm_judge=local \
      llm_judge.model_path=weights.gguf
  graphrag-bench judge RUN_A RUN_B --sheet 50 sheet.csv llm@llm_judge=local
  graphrag-bench judge RUN_A RUN_B --read sheet.csv llm@llm_judge=local
  graphrag-bench judge RUN_A RUN_B RUN_C --criteria pankrag llm@llm_judge=openai_compatible \
      llm_judge.model=qwen3:8b llm_judge.base_url=http://localhost:11434/v1 \
      llm_judge.api_key_env=null
"""

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from graphrag_bench.cli import parsing
from graphrag_bench.cli.parsing import RUNS, Parser
from graphrag_bench.config.compose import compose_settings
from graphrag_bench.config.settings import check_settings
from graphrag_bench.config.sources import names
from graphrag_bench.errors import UserError
from graphrag_bench.evaluation.metrics import metrics
from graphrag_bench.judging import answers, pairs, tables
from graphrag_bench.judging.sheet import agreement_table, read_sheet, write_sheet
from graphrag_bench.llm.batch import import_replies
from graphrag_bench.progress import Progress
from graphrag_bench.report.notes import mixed_regimes
from graphrag_bench.report.rendering import markdown, show_json, show_tables
from graphrag_bench.report.rows import check_one_corpus
from graphrag_bench.run.folder import RunFolder, write_whole
from graphrag_bench.run.judged import judged_values
from graphrag_bench.run.models import Models
from graphrag_bench.run.stored import StoredRun
from graphrag_bench.run.sweep import find_runs
from graphrag_bench.text import counted

_SETTINGS = ("llm_judge", "embedder", "cache", "budget", "failures", "seed")
_CRITERIA = (
    "pairwise criteria: comprehensiveness, diversity, empowerment, logicality, relevance, "
    "coherence, overall, or the criteria of a paper: "
    f"{', '.join(pairs.PAPER_CRITERIA)} (default: zhou2025)"
)
_PROTOCOL = (
    "pairwise prompt: `paper` as in the papers, or `house`, which does not reward long answers "
    "(default: paper if all runs have regime=published, else house)"
)


def declare(parser: Parser) -> None:
    parser.set_usage("RUN [RUN ...] llm@llm_judge=NAME [SETTING=VALUE ...] [OPTIONS]")
    parser.add_word("words", "RUN", f"{RUNS}; or a setting of the judge", "+")
    parser.add_flag("--each", "grade several runs answer by answer")
    parser.add_option("--metrics", "A,B", "metrics of single answers (default: all possible)", "")
    parser.add_option("--criteria", "A,B", _CRITERIA, "")
    parser.add_settings([("protocol", "|".join(pairs.PROTOCOLS), "", _PROTOCOL)])
    parser.add_section("models and limits", [
        ("llm@llm_judge=", f"{', '.join(names('llm'))} (required)"),
        ("embedder= cache.* budget.* failures.*", "as in a run, e.g. budget.usd=1"),
    ])  # fmt: skip
    parser.add_option("--limit", "N", "judge only N questions, stratified by type")
    parser.add_option("--batch", "FILE", "write the requests to FILE.jsonl instead of sending them")
    parser.add_option("--replies", "FILE", "first import the replies of a batch")
    parser.add_option("--sheet", ("N", "FILE.csv"), "write N pairs for people to judge", nargs=2)
    parser.add_option("--read", "FILE.csv", "print the agreement of a filled sheet with the judge")
    parser.add_flag("--plan", "only print the maximum number of calls")
    named = {name: "only with --metrics: " * one.named for name, one in answers.MEASURES.items()}
    judged = [one for one in metrics() if one.source == "judge"]
    parser.add_section("metrics", [(one.name, named[one.name] + one.meaning) for one in judged])
    parser.add_home(None, "the folder with runs/ (default: the home of the first run)")
    parser.add_json()


def main(options: Namespace) -> None:
    wanted = tuple(filter(None, options.metrics.split(",")))
    criteria = pairs.parse_criteria([*filter(None, options.criteria.split(","))] or ["zhou2025"])
    if options.limit is not None:
        options.limit = parsing.integer("--limit ", options.limit)
    answers.select_measures(wanted)
    named, words = parsing.runs_and_settings(options.words)
    parsing.refuse_other_settings("judge", words, _SETTINGS, ("protocol",))
    settings = check_settings(compose_settings(words))
    if not named:
        raise UserError(f"`graphrag-bench judge` needs a RUN: {RUNS}.")
    found = find_runs(named, options.home or ".")
    runs = list({run.folder.path.resolve(): StoredRun(run.folder) for run in found}.values())
    one_by_one = options.each or bool(wanted) or len(runs) == 1
    if one_by_one and (options.criteria or options.protocol):
        raise UserError(
            "--criteria and protocol= are for pairwise comparisons. Leave them out, or judge two "
            "or more runs without --each and --metrics."
        )
    home = options.home or runs[0].folder.path.resolve().parents[3]
    paths = settings.paths.model_copy(update={"home": str(home)})
    cache = settings.cache.model_copy(update={"batch": options.batch or settings.cache.batch})
    settings = settings.model_copy(update={"paths": paths, "cache": cache})
    models = Models(settings, runs[0].require_dataset())
    models.identity("llm_judge")
    if options.replies:
        if models.replies is None:
            raise UserError("--replies needs the cache. Remove cache.mode=off.")
        Progress().say(import_replies(options.replies, models.replies.path))
    if (options.sheet or options.read) and (one_by_one or len(runs) != 2):
        raise UserError("--sheet and --read need two runs, without --each and --metrics.")
    if one_by_one:
        _grade(runs, models, wanted, options)
        return
    check_one_corpus([run.metrics for run in runs])
    answered = pairs.AnswerPairs.of(runs, options.limit)
    protocol = pairs.select_protocol(runs, options.protocol)
    judging = pairs.PairJudging(answered, models, criteria, home, protocol)
    if options.read:
        table = agreement_table(judging, *read_sheet(judging, Path(options.read)))
        show_tables([table], as_json=options.json)
    elif options.sheet:
        n, file = parsing.integer("--sheet ", options.sheet[0]), options.sheet[1]
        written = counted(write_sheet(judging, n, Path(file), settings.seed), "pair")
        print(f"{written} to {file}. Fill `verdict` with A, B or tie, then --read {file}.")
    else:
        _compare(judging, options)


def _grade(
    runs: Sequence[StoredRun], models: Models, wanted: tuple[str, ...], options: Namespace
) -> None:
    if options.plan:
        plans, lines = dict[str, dict[str, int]](), list[str]()
        for path, run in ((str(run.folder.path), run) for run in runs):
            plans[path] = calls = answers.max_calls(run, models, wanted, options.limit)
            each = ", ".join(f"{name} {n}" for name, n in calls.items())
            lines.append(f"{path}: at most {counted(sum(calls.values()), 'call')} ({each})")
        show_json(plans) if options.json else print(*lines, sep="\n")
        return
    ledgers = [run.folder.path / answers.LEDGER for run in runs]
    models.charge(ledgers[0], lambda: ledgers[1:])
    judged = []
    for run in runs:
        rows = answers.judge_answers(run, models, wanted, options.limit, Progress())
        known = [row for row in rows if row["question"] in run.gold]
        judged.append((str(run.metrics["title"]), judged_values(known), run.scopes))
    if models.batch:
        models.batch.stop()
    show_tables([tables.judged_table(judged)], as_json=options.json)
    for run in () if options.json else runs:
        print(f"judged: {(run.folder.path / 'judged.jsonl').resolve()}")


def _compare(judging: pairs.PairJudging, options: Namespace) -> None:
    answered, protocol, criteria = judging.pairs, judging.protocol.name, judging.criteria
    if options.plan:
        line = f"at most {counted(n_calls := judging.n_calls(), 'call')}, protocol {protocol}"
        show_json({"calls": n_calls, "protocol": protocol}) if options.json else print(line)
        return
    judging.models.charge(judging.folder / pairs.LEDGER, tuple)
    rows = judging.run(Progress())
    if judging.models.batch:
        judging.models.batch.stop()
    rates, judge = answered.win_rates(rows, criteria), judging.models.identity("llm_judge")
    n = counted(len(answered.questions), "question")
    matched = tables.match_table(f"{n}, judged by {judge}, protocol {protocol}", rates)
    titled = zip(answered.runs, answered.titles.values(), strict=True)
    regimes = mixed_regimes({**run.metrics, "title": title} for run, title in titled)
    matched = replace(matched, notes=(*matched.notes, *map(str, regimes)))
    printed = [matched, tables.audit_table(rates)]
    show_tables(printed, as_json=options.json)
    RunFolder(judging.folder).write_json(
        "comparison.json",
        {"runs": dict(answered.titles), "criteria": list(criteria), "judge": judge,
         "protocol": protocol, "questions": list(answered.questions)},
    )  # fmt: skip
    write_whole(judging.folder / "table.md", "\n".join(map(markdown, printed)))
    if not options.json:
        print(f"comparison: {judging.folder.resolve()}")
