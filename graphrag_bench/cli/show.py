"""Show where runs lost evidence, or the retrieval trace of one question.

With a RUN, the command prints the evidence funnel: the number of gold documents that pass each
stage from the corpus to the answer. For a single run, it also prints the questions. A document is
lost at the first stage that it does not pass:

  in corpus      the data set has the document
  in a chunk     a chunk has text from the document
  extracted      the graph has a relationship (or a node) from one of its chunks
  linked         the first steps found a node of the document, or a node connected to one of them
                 by synonymy edges and by relationships between nodes of gold documents
  retrieved      one of its chunks (or relationships) was ranked, or the document is in the prompt
  not cut        the document was not cut by the context budget
  in the prompt  the context has text from the document
  not failed     the question did not fail afterwards (shown if a question failed)
  answered       the answer is correct

Stages that a method does not have are left out. "recovered later" counts evidence that was lost at
a stage but found at a later stage, e.g. by a dense fallback.

With RUN QUESTION, the command prints answer, gold, evidence, context and every step, and the rank
of each gold passage after each step. With RUN QUESTION PASSAGE, it prints rank and score of the
passage's chunks, nodes and relationships after each step, and the step that lost the passage.

examples
  graphrag-bench show 0a1b2c f5e4d3
  graphrag-bench show 0a1b2c q7 --calls
  graphrag-bench show 0a1b2c "Who taught" p057
  graphrag-bench show method=hipporag --files
"""

from argparse import Namespace
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from graphrag_bench.cli.parsing import RUNS, Parser
from graphrag_bench.config.compose import compose_settings
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.errors import UserError, by_prefix
from graphrag_bench.explain.funnel import available_funnel, stage_table
from graphrag_bench.explain.names import lost_step
from graphrag_bench.explain.question import RunQuestions
from graphrag_bench.explain.text import answer_lines, call_lines, usage_text
from graphrag_bench.report.rendering import show, show_json
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.plan import method_files
from graphrag_bench.run.stored import StoredRun, find_run
from graphrag_bench.run.sweep import find_runs
from graphrag_bench.text import short


def declare(parser: Parser) -> None:
    usage = "RUN [RUN ...] [OPTIONS]\nRUN QUESTION [PASSAGE] [OPTIONS]\nmethod=NAME --files"
    parser.set_usage(usage)
    meaning = f"{RUNS}. QUESTION is the start of a question's id or text. PASSAGE is a document id"
    parser.add_word("words", "RUN", meaning, "+")
    parser.add_flag("--calls", "also print the prompt and reply of each model call of a question")
    parser.add_flag("--files", "print the files of method=NAME in reading order")
    parser.add_home()
    parser.add_json()


def main(options: Namespace) -> None:
    load_plugins()
    home, (first, *rest) = options.home, options.words
    if options.files:
        group, _, name = first.partition("=")
        if group != "method" or not name:
            raise UserError(f"--files needs method=NAME, but got '{first}'.")
        settings = compose_settings([first, "dataset=toy", "llm=scripted", "embedder=hashing"])
        for path in method_files(Experiment.prepare(settings, swept=True)):
            print(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
        return
    if not rest or _is_run(rest[0], first, home):
        if options.calls:
            raise UserError("--calls needs a question: show RUN QUESTION --calls.")
        _print_runs(find_runs(options.words, home), home, as_json=options.json)
        return
    run = find_run(first, home)
    run.require_steps()
    questions = RunQuestions(run, home)
    by_text = [q for q in run.rows if questions.text(q).lower().startswith(rest[0].lower())]
    name = by_text[0] if len(by_text) == 1 and rest[0] not in run.rows else rest[0]
    ids = {one: one for one in run.rows}
    question = by_prefix(name, ids, "question", "the run", questions.text)
    if not rest[1:]:
        _print_question(question, questions, options)
    elif rest[2:] or options.calls or options.json:
        raise UserError("`show RUN QUESTION PASSAGE` cannot be used with --calls or --json.")
    else:
        _print_passage(rest[1], question, questions)


def _is_run(word: str, first: str, home: Path) -> bool:
    with suppress(UserError):
        if Path(word).is_dir() or word not in find_run(first, home).rows:
            return Path(word).is_dir() or bool(find_run(word, home))
    return False


def _print_runs(runs: Sequence[StoredRun], home: Path, *, as_json: bool) -> None:
    every = []
    for run in runs:
        funnel, questions = available_funnel(run, home), RunQuestions(run, home)
        every.append({
            "run": str(run.folder.path),
            **{name: run.metrics[name] for name in ("title", "dataset")},
            "questions": [{"id": name, "question": questions.texts.get(name),
                           "status": row["status"], "answer": row.get("answer")}
                          for name, row in run.rows.items()],
            "stages": list(map(asdict, funnel.counts())),
            "notes": list(funnel.unknown),
        })  # fmt: skip
        for name, row in run.rows.items() if not as_json and not runs[1:] else ():
            status = "not answered" if row["status"] == "retrieved" else row["status"]
            answer = status if row.get("answer") is None else str(row["answer"])
            print(f"{name}  {short(questions.text(name), 50)}  -> {short(answer, 30)}")
        if as_json:
            continue
        if funnel.documents:
            show(stage_table(funnel))
        else:
            print(f"no funnel: {funnel.unknown[0]}")
    if as_json:
        show_json(every)


def _print_question(name: str, questions: RunQuestions, options: Namespace) -> None:
    answer = questions.explain(name)
    answer["gold"] = {what: value for what, value in answer["gold"].items() if value}
    calls = options.calls or options.json
    answer["calls"] = questions.calls(name) if calls else []
    if options.json:
        show_json(answer)
        return
    lines = [questions.text(name), "{title} on {dataset}, key {key}".format(**answer)]
    lines += [f"gold {what}: {', '.join(value)}" for what, value in answer["gold"].items()]
    lines += [f"evidence {at}: {', '.join(of)}" for at, of in answer["found"].items() if of]
    lines += filter(None, [usage_text(answer["usage"])])
    if error := answer["error"]:
        lines.append(f"failed in {error['step']}: {error['message']}")
    lines += ["", *answer_lines(answer, whole=True)]
    for document in answer["gold"].get("evidence", ()):
        with suppress(UserError):  # the document has no chunk
            if ranks := questions.document(document, name).ranks(questions.run.rows[name]):
                width, lost = max(len(one.step) for one in ranks), lost_step(ranks)
                lines.append(f"\ngold passage {document}")
                lines += [f"  {one.step:<{width}}  {one}" for one in ranks]
                lines += [f"  lost at {lost.step}"] if lost else []
    lines += ["", *call_lines(answer["calls"])] if calls else []
    if answer["without_names"]:
        gone = ", ".join(answer["without_names"])
        lines.append(f"\n! names are missing, because artifacts of the run were deleted: {gone}")
    print(*lines, sep="\n")


def _print_passage(document: str, name: str, questions: RunQuestions) -> None:
    ranks = questions.document(document, name).ranks(questions.run.rows[name])
    gold = questions.run.gold.get(name)
    is_gold = " (gold evidence)" if gold and document in gold.evidence else ""
    print(f"{questions.text(name)}\n{document}{is_gold}\n")
    for one in ranks:
        print(f"{one.step}\n    {one}")
        for shown, rank, score in one.rows:
            print(f"      {rank:>5}  {score:.6f}  {shown}")
    if (lost := lost_step(ranks)) is not None:
        print(f"\nlost at {lost.step}: {lost}")
