"""`graphrag-bench show`: why a run gave its answer, and how a passage got its rank for it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from graphrag_bench.analysis.explaining.calls import Calls, call_lines
from graphrag_bench.analysis.explaining.evidence import evidence_of
from graphrag_bench.analysis.explaining.names import Names
from graphrag_bench.analysis.explaining.own_question import of_run, told
from graphrag_bench.analysis.explaining.text import explained_lines
from graphrag_bench.analysis.replaying.replay import Player, question_of
from graphrag_bench.analysis.replaying.standing import Passage, lost_at, standings, ways
from graphrag_bench.cli.parsing import RUN, command_parser
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.data.dataset import Gold
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.graph.graph import Graph
from graphrag_bench.lookup import by_beginning
from graphrag_bench.pipeline.run import Finished
from graphrag_bench.progress import Progress
from graphrag_bench.runs.record import Row
from graphrag_bench.runs.stored import StoredRun, find_run
from graphrag_bench.text import short
from graphrag_bench.values import Ranked

_ABOUT = """
Shows why a finished run gave its answer to a question: answer and gold, the evidence found and
missed, the context as it was sent with tokens and what the budget cut, and every step with what it
read and wrote (nodes, relationships, chunks and paths by name), its seconds, LLM calls and tokens.
With trace=full in the run the steps have their replies. --calls prints each prompt as it was sent,
and its reply.

With a passage it shows the way by which that got its rank: after each step the rank of its chunks,
of the nodes that it names and of the relationships that it states, with their names and scores, and
the shortest ways in the graph from the nodes that the first steps found. Of a passage that is not
in the context it names the step at which it was lost. No model is called.

examples
  graphrag-bench show 0a1b2c
  graphrag-bench show 0a1b2c q7
  graphrag-bench show 0a1b2c q7 --calls
  graphrag-bench show 0a1b2c "Who taught" p057
"""
_MOST_LISTED = 200


def main(arguments: Sequence[str]) -> int:
    """Print the question, the list of them, or the standing of a passage after each step."""
    parser = command_parser("show", _ABOUT)
    parser.add_argument("run", metavar="RUN", help=RUN)
    parser.add_argument(
        "question",
        nargs="?",
        metavar="QUESTION",
        help="a question's id, or the beginning of its id or text; without one the questions "
        "are listed",
    )
    parser.add_argument("passage", nargs="?", metavar="PASSAGE", help="the id of a document")
    parser.flag("--calls", "print the prompt and the reply of each call of a language model too")
    parser.flag("--json", "print all rows, and all calls, for a program")
    parser.home()
    asked = parser.read(arguments)
    load_plugins()
    run = find_run(asked.run, asked.home)
    if asked.question is None:
        _list(run)
        return 0
    run.require_steps()
    if asked.passage is not None:
        if asked.calls or asked.json:
            raise UserError("--calls and --json are of a question: leave out PASSAGE.")
        _passage(run, asked.question, asked.passage, Path(asked.home))
        return 0
    row = _row(run, asked.question)
    found = of_run(run, row)
    home = run.home or Path(asked.home)
    names = Names.read([home / "artifacts" / found.corpus], found.artifacts)
    gold = run.gold.get(row["question"])
    answer = told(found, names) | {
        "gold": _gold(gold),
        "found": evidence_of(row, gold) if gold else {},
        "error": row.get("error"),
        "calls": Calls(run, home).of(row["question"]) if asked.calls or asked.json else [],
    }
    if asked.json:
        sys.stdout.write(json.dumps(answer, ensure_ascii=False, indent=1) + "\n")
        return 0
    sys.stdout.write(f"{found.question}\n{found.title} on {found.dataset}, key {found.key}\n")
    for name, value in answer["gold"].items():
        sys.stdout.write(f"gold {name}: {', '.join(value)}\n")
    for fate, value in answer["found"].items():
        if value:
            sys.stdout.write(f"evidence {fate}: {', '.join(value)}\n")
    usage = answer["usage"]
    if usage.get("calls"):
        n_prompt, n_reply = usage["prompt_tokens"], usage["completion_tokens"]
        sys.stdout.write(f"{usage['calls']} LLM calls, {n_prompt:,} + {n_reply:,} tokens\n")
    if row.get("error"):
        sys.stdout.write(f"failed in {row['error']['step']}: {row['error']['message']}\n")
    sys.stdout.write("\n" + "\n".join(explained_lines(answer, whole=True)) + "\n")
    if asked.calls:
        sys.stdout.write("\n" + "\n".join(call_lines(answer["calls"])) + "\n")
    if answer["without_names"]:
        gone = ", ".join(answer["without_names"])
        sys.stdout.write(f"\n! without names: what the run was made over is gone ({gone})\n")
    return 0


def _gold(gold: Gold | None) -> dict[str, list[str]]:
    held = {"answers": gold.answers, "evidence": gold.evidence} if gold else {}
    return {name: list(values) for name, values in held.items() if values}


def _texts(run: StoredRun) -> dict[str, str]:
    return {one.id: one.text for one in run.dataset.questions} if run.dataset else {}


def _row(run: StoredRun, name: str) -> Row:
    if name in run.rows:
        return run.rows[name]
    texts = _texts(run)
    by_text = [one for one in run.rows if texts.get(one, "").startswith(name)]
    if len(by_text) == 1:
        return run.rows[by_text[0]]
    named = {one: one for one in run.rows}
    return run.rows[by_beginning(name, named, "question", "the run", lambda q: texts.get(q, ""))]


def _list(run: StoredRun) -> None:
    texts = _texts(run)
    for name, row in list(run.rows.items())[:_MOST_LISTED]:
        said = row.get("answer", row["status"])
        sys.stdout.write(f"{name}  {short(texts.get(name, ''), 80)}  -> {short(str(said), 60)}\n")
    if len(run.rows) > _MOST_LISTED:
        sys.stdout.write(f"... and {len(run.rows) - _MOST_LISTED} more\n")


def _passage(run: StoredRun, name: str, document: str, home: Path) -> None:
    player = Player.of_run(run, home, Progress())
    question = question_of(player.questions, name)
    player.questions = [question]
    replayed = player.as_it_is()
    (finished,) = replayed.found.finished
    passage = Passage.of(document, replayed.found.of(finished))
    if not len(passage.rows["chunks"]):
        known = [row.id for row in replayed.experiment.dataset.documents]
        hint = did_you_mean(document, known[:20000])
        raise UserError(f"No chunk is of a document '{document}'. {hint}")
    gold = replayed.experiment.dataset.gold[question.id]
    is_gold = " (gold evidence)" if document in gold.evidence else ""
    sys.stdout.write(f"{question.text}\n{document}{is_gold}\n\n")
    _standings(finished, passage)


def _standings(finished: Finished, passage: Passage) -> None:
    found = standings(finished, passage)
    for one in found:
        sys.stdout.write(f"{one.step}\n    {one}\n")
        for name, rank, score in one.rows:
            sys.stdout.write(f"      {rank:>5}  {score:.6f}  {name}\n")
    graph = passage.graph
    if isinstance(graph, Graph) and (starts := _starts(finished)):
        lines = [f"    {way}\n" for way in ways(graph, starts, passage)]
        sys.stdout.write("\nshortest ways from the first nodes to those of the passage\n")
        sys.stdout.write("".join(lines) or "    none\n")
    lost = lost_at(found)
    if finished.failure is not None:
        sys.stdout.write(f"\nthe question failed: {finished.failure.message}\n")
    elif lost is not None:
        sys.stdout.write(f"\nlost at {lost.step}: {lost}\n")


def _starts(finished: Finished) -> list[int]:
    for step in finished.trace:
        nodes = step.wrote.get("nodes")
        if isinstance(nodes, Ranked) and len(nodes):
            return [int(row) for row in nodes.ids]
    return []
