"""Shows at which stage a method lost the gold evidence.

Every document in a question's evidence is counted once, at the first stage it did not pass:

  in corpus      the data set holds the document
  in a chunk     a chunk was made of it
  extracted      a relationship (or a node) of the graph is from one of its chunks
  linked         the first steps found a node of it, or one that is joined to it through the
                 evidence of the question (its relationships, and synonymy)
  retrieved      it is among the ranked chunks (or rows of the graph), or in the prompt
  not cut        the context's budget did not cut it
  in the prompt  a text read from it stands in the context
  not failed     the question did not fail behind this point (shown when one has)
  answered       the answer is right

Stages that a method does not have are left out. Evidence that a stage lost and a later one found
(a dense fallback) counts as "found otherwise".

example
  graphrag-bench funnel runs/sample/vanilla/0a1b2c3d4e5f runs/sample/hipporag/f5e4d3c2b1a0
"""

from argparse import Namespace
from pathlib import Path

from graphrag_bench.cli.parsing import RUN, Parser
from graphrag_bench.explain.funnel import run_funnel
from graphrag_bench.explain.stages import stage_table
from graphrag_bench.report.rendering import show
from graphrag_bench.run.sweep import named_runs


def declare(parser: Parser) -> None:
    parser.word("runs", "RUN", RUN, "+")
    parser.home()


def main(options: Namespace) -> None:
    home = Path(options.home)
    for run in named_runs(options.runs, home):
        show(stage_table(run_funnel(run, home)))
