"""Shows why a finished run gave its answer to a question.

Answer and gold, evidence found and missed, the context as it was sent with tokens and cuts, every
step with what it read and wrote by name, its seconds, calls and tokens, and the rank of each gold
passage after each step. Without a question it lists them.

With a passage it shows how that one got its rank: the question is retrieved again, and after each
step stand the ranks of the passage's chunks, nodes and relationships with their scores, and, where
it is not in the context, the step at which it was lost. No model is called.

method=NAME --files lists the files of a method in reading order: its YAML file, its page, the
builders of its artifacts, its operators and its prompts.

examples
  graphrag-bench show 0a1b2c
  graphrag-bench show 0a1b2c q7 --calls
  graphrag-bench show 0a1b2c "Who taught" p057
  graphrag-bench show method=hipporag --files
"""

import json
from argparse import Namespace
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from graphrag_bench.cli.parsing import RUN, Parser
from graphrag_bench.config.compose import composed
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.errors import UserError, by_beginning, did_you_mean
from graphrag_bench.explain.names import Names, artifact_roots
from graphrag_bench.explain.passages import Passage, lost_at
from graphrag_bench.explain.question import Calls, stored_questions, with_gold
from graphrag_bench.explain.replay import Player
from graphrag_bench.explain.text import call_lines, explained_lines
from graphrag_bench.progress import Progress
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.folder import Row
from graphrag_bench.run.plan import method_files
from graphrag_bench.run.stored import StoredRun, find_run
from graphrag_bench.text import short


def declare(parser: Parser) -> None:
    parser.word("run", "RUN", RUN)
    parser.word("question", "QUESTION", "its id, or the beginning of its id or text", "?")
    parser.word("passage", "PASSAGE", "the id of a document; default: the gold ones, briefly", "?")
    parser.flag("--calls", "print the prompt and the reply of each call of a language model too")
    parser.flag("--json", "print all rows, and all calls, for a program")
    parser.flag("--files", "list the files of method=NAME in reading order")
    parser.home()


def main(options: Namespace) -> None:
    load_plugins()
    if options.files:
        _print_files(options.run)
        return
    run, home = find_run(options.run, options.home), Path(options.home)
    texts = {one.id: one.text for one in run.dataset.questions} if run.dataset else {}
    if options.question is None:
        for name, row in run.rows.items():
            answer = str(row.get("answer", row["status"]))
            print(f"{name}  {short(texts.get(name, ''), 80)}  -> {short(answer, 60)}")
        return
    run.require_steps()
    row = _row(run, options.question, texts)
    if options.passage is None:
        _print_question(run, row, home, options)
    elif options.calls or options.json:
        raise UserError("--calls and --json are of a question: leave out PASSAGE.")
    else:
        _print_passage(run, row["question"], options.passage, home)


def _print_files(word: str) -> None:
    group, _, name = word.partition("=")
    if group != "method" or not name:
        raise UserError(f"--files lists the files of a method: show method=NAME, not {word}.")
    settings = [word, "dataset=toy", "llm=scripted", "embedder=hashing"]
    for path in method_files(Experiment.prepare(composed(settings), swept=True)):
        print(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def _row(run: StoredRun, name: str, texts: Mapping[str, str]) -> Row:
    begins = name.lower()
    by_text = [one for one in run.rows if texts.get(one, "").lower().startswith(begins)]
    if name not in run.rows and len(by_text) == 1:
        return run.rows[by_text[0]]
    names = {one: one for one in run.rows}
    return run.rows[by_beginning(name, names, "question", "the run", lambda q: texts.get(q, ""))]


def _print_question(run: StoredRun, row: Row, home: Path, options: Namespace) -> None:
    (question,) = stored_questions(run, {row["question"]: row})
    names = Names.read(artifact_roots(run, question.references, home), question.artifacts)
    answer = with_gold(question, names, run)
    answer["gold"] = {name: value for name, value in answer["gold"].items() if value}
    calls = options.calls or options.json
    answer["calls"] = Calls(run, run.home or home).of(row["question"]) if calls else []
    if options.json:
        print(json.dumps(answer, ensure_ascii=False, indent=1))
        return
    print("{question}\n{title} on {dataset}, key {key}".format(**answer))
    sent = ["", *call_lines(answer["calls"])] if calls else []
    print(*_lines(answer), *_gold_lines(run, row, names), *sent, sep="\n")
    if answer["without_names"]:
        gone = ", ".join(answer["without_names"])
        print(f"\n! without names: what the run was made over is gone ({gone})")


def _lines(answer: Mapping[str, Any]) -> Iterator[str]:
    for name, value in answer["gold"].items():
        yield f"gold {name}: {', '.join(value)}"
    for fate, value in answer["found"].items():
        if value:
            yield f"evidence {fate}: {', '.join(value)}"
    usage = answer["usage"]
    if usage.get("calls"):
        n_prompt, n_reply = usage["prompt_tokens"], usage["completion_tokens"]
        yield f"{usage['calls']} LLM calls, {n_prompt:,} + {n_reply:,} tokens"
    if error := answer["error"]:
        yield f"failed in {error['step']}: {error['message']}"
    yield ""
    yield from explained_lines(answer, whole=True)


def _gold_lines(run: StoredRun, row: Row, names: Names) -> Iterator[str]:
    """Yield the rank of each gold passage after each step, as far as its chunks are known."""
    gold, table = run.gold.get(row["question"]), names.chunk_table
    if gold is None or table is None:
        return
    for document in gold.evidence:
        passage = Passage(document, table, names.graph)
        if len(passage.rows["chunks"]) and (ranks := passage.stored_standings(row)):
            yield f"\ngold passage {document}"
            width = max(len(one.step) for one in ranks)
            yield from (f"  {one.step:<{width}}  {one}" for one in ranks)
            if (lost := lost_at(ranks)) is not None:
                yield f"  lost at {lost.step}"


def _print_passage(run: StoredRun, question_id: str, document: str, home: Path) -> None:
    player = Player.of_run(run, home, Progress())
    player.questions = [one for one in player.questions if one.id == question_id]
    if not player.questions:
        raise UserError(f"The run was not scored on the question '{question_id}'.")
    replayed = player.as_it_is()
    (finished,) = replayed.retrieval.finished
    passage = Passage.of(document, replayed.retrieval.of(finished))
    dataset = replayed.experiment.dataset
    if not len(passage.rows["chunks"]):
        hint = did_you_mean(document, [row.id for row in dataset.documents[:20000]])
        raise UserError(f"No chunk is of a document '{document}'. {hint}")
    is_gold = " (gold evidence)" if document in dataset.gold[question_id].evidence else ""
    print(f"{finished.question.text}\n{document}{is_gold}\n")
    ranks = passage.standings(finished)
    for one in ranks:
        print(f"{one.step}\n    {one}")
        for name, rank, score in one.rows:
            print(f"      {rank:>5}  {score:.6f}  {name}")
    if finished.failure is not None:
        print(f"\nthe question failed: {finished.failure.message}")
    elif (lost := lost_at(ranks)) is not None:
        print(f"\nlost at {lost.step}: {lost}")
