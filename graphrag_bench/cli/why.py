"""`graphrag-bench why`: how a passage got its rank for a question, or where it was lost."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from graphrag_bench.analysis.replaying.replay import Player, question_of
from graphrag_bench.analysis.replaying.standing import Passage, lost_at, standings, ways
from graphrag_bench.cli.parsing import RUN, command_parser
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.errors import UserError, did_you_mean
from graphrag_bench.graph.graph import Graph
from graphrag_bench.pipeline.run import Finished
from graphrag_bench.progress import Progress
from graphrag_bench.runs.stored import find_run
from graphrag_bench.values import Ranked

_ABOUT = """
Shows the way by which a passage got its rank for a question of a finished run: after each step the
rank of its chunks, of the nodes that it names and of the relationships that it states, with their
names and scores, and the shortest ways in the graph from the nodes that the first steps found. Of a
passage that is not in the context it names the step at which it was lost. No model is asked.

examples
  graphrag-bench why 0a1b2c q7 p057
  graphrag-bench why 0a1b2c "Who taught" p057
"""


def main(arguments: Sequence[str]) -> int:
    """Print the standing of the passage after each step."""
    parser = command_parser("why", _ABOUT, "RUN QUESTION PASSAGE [OPTIONS]")
    parser.add_argument("run", metavar="RUN", help=RUN)
    parser.add_argument("question", metavar="QUESTION", help="its id, or how its id or text begins")
    parser.add_argument("passage", metavar="PASSAGE", help="the id of a document")
    parser.home()
    asked = parser.read(arguments)
    load_plugins()
    run = find_run(asked.run, asked.home)
    player = Player.of_run(run, Path(asked.home), Progress())
    try:
        question = question_of(player.questions, asked.question)
        player.questions = [question]
        replayed = player.as_it_is()
    finally:
        player.close()
    (finished,) = replayed.found.finished
    passage = Passage.of(asked.passage, replayed.found.of(finished))
    if not len(passage.rows["chunks"]):
        known = [row.id for row in replayed.experiment.dataset.documents]
        hint = did_you_mean(asked.passage, known[:20000])
        raise UserError(f"No chunk is of a document '{asked.passage}'. {hint}")
    gold = replayed.experiment.dataset.gold[question.id]
    is_gold = " (gold evidence)" if asked.passage in gold.evidence else ""
    sys.stdout.write(f"{question.text}\n{asked.passage}{is_gold}\n\n")
    _show(finished, passage)
    return 0


def _show(finished: Finished, passage: Passage) -> None:
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
    """The first nodes that a step found; none for a method without nodes."""
    for step in finished.trace:
        nodes = step.wrote.get("nodes")
        if isinstance(nodes, Ranked) and len(nodes):
            return [int(row) for row in nodes.ids]
    return []
