r"""Lets a language model compare the answers of runs pairwise.

For every pair of runs it compares the answers to every question that all runs answered, in both
orders. Prints win rates with intervals and the judge's position and length bias. Verdicts are
stored in HOME/comparisons/<key>/verdicts.jsonl: repeating the command resumes it, and repeats no
call.

examples
  graphrag-bench compare RUN_A RUN_B llm@llm_judge=openai_compatible llm_judge.model=gpt-4o-mini
  graphrag-bench compare RUN_A RUN_B RUN_C --criteria pankrag llm@llm_judge=local \
      llm_judge.model_path=weights.gguf
"""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from graphrag_bench.cli.judge import declare_judge, runs_to_judge
from graphrag_bench.cli.parsing import Parser
from graphrag_bench.judging import pairs, tables
from graphrag_bench.progress import Progress
from graphrag_bench.report.rendering import markdown, show
from graphrag_bench.report.rows import check_one_corpus
from graphrag_bench.run.folder import Row, RunFolder, write_whole
from graphrag_bench.run.models import Models

_CRITERIA = (
    "comprehensiveness, diversity, empowerment, logicality, relevance, coherence, overall; or "
    f"those of a paper, by its name: {', '.join(pairs.OF_PAPERS)}. Default: zhou2025"
)

_PROTOCOL = (
    "how the judge is asked: paper as the papers print it, house without a bonus for length; "
    "default: paper where all runs are regime=published"
)


def declare(parser: Parser) -> None:
    parser.takes("RUN_A RUN_B [RUN ...] llm@llm_judge=NAME [SETTING=VALUE ...] [OPTIONS]")
    declare_judge(parser)
    parser.settings([("protocol", "|".join(pairs.PROTOCOLS), "", _PROTOCOL)])
    parser.option("--criteria", "A,B", _CRITERIA, "zhou2025")


def main(options: Namespace) -> None:
    criteria = pairs.criteria_of([name for name in options.criteria.split(",") if name])
    runs, settings = runs_to_judge("compare", options, 2)
    check_one_corpus([run.metrics for run in runs])
    comparison = pairs.Comparison.of(runs, options.limit)
    models = Models(settings, runs[0].require_dataset())
    protocol = pairs.protocol_of(runs, options.protocol)
    panel = pairs.Panel(comparison, models, criteria, Path(settings.paths.home), protocol)
    if options.plan:
        print(f"at most {pairs.n_calls(panel)} calls, protocol {protocol.name}")
        return
    models.charge(panel.folder / pairs.LEDGER, tuple)
    rows = pairs.judge_pairs(panel, Progress())
    _write(comparison, panel, list(_matches(comparison, criteria, rows)))


def _matches(
    comparison: pairs.Comparison, criteria: Sequence[str], rows: Sequence[Row]
) -> Iterator[tables.Match]:
    for a, b in comparison.pairs:
        for name in criteria:
            verdicts = pairs.both_orders(comparison, rows, a, b, name)
            scopes = tuple(comparison.scopes.get(question) for question in verdicts)
            titles = comparison.titles[a], comparison.titles[b]
            yield tables.Match(*titles, name, tuple(verdicts.values()), scopes)


def _write(
    comparison: pairs.Comparison, panel: pairs.Panel, matches: Sequence[tables.Match]
) -> None:
    judge = panel.models.identity("llm_judge")
    protocol, n = panel.protocol.name, len(comparison.questions)
    caption = f"{n} questions, judged by {judge}, protocol {protocol}"
    matched = tables.match_table(caption, matches)
    if mixed := pairs.mixed_regimes(comparison):
        matched = replace(matched, notes=(*matched.notes, f"! regimes differ: {mixed}"))
    printed = [matched, tables.audit_table(matches)]
    for table in printed:
        show(table)
    RunFolder(panel.folder).write_json(
        "comparison.json",
        {"runs": dict(comparison.titles), "criteria": list(panel.criteria), "judge": judge,
         "protocol": protocol, "questions": list(comparison.questions)},
    )  # fmt: skip
    write_whole(panel.folder / "table.md", "\n".join(map(markdown, printed)))
    print(f"comparison: {panel.folder.resolve()}")
