"""`graphrag-bench bundle`: finished runs with all that belongs to them, as one file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from graphrag_bench.analysis.bundling.packing import pack
from graphrag_bench.analysis.free_tables.stored import named_runs
from graphrag_bench.cli.parsing import RUN, command_parser
from graphrag_bench.errors import UserError

_ABOUT = """
Packs finished runs into one file for a paper: settings, versions, data sets, prompts, replies,
graphs, answers, scores, and the tables of them. `graphrag-bench verify FILE` recomputes every table
on any machine, with no model and no key. The same runs give the same bytes; print the sha256 in the
paper. Paths of this machine are replaced; a key in what would be packed stops the packing.

Texts, gold, graphs and replies of a data set go along where its card names a licence that lets them
be passed on. Else ids, answers and scores do, and what is left out is said.

examples
  graphrag-bench bundle 0a1b2c 9f8e7d -o paper.zip
  graphrag-bench bundle runs/sample -o paper.zip
  graphrag-bench verify paper.zip
  graphrag-bench cite paper.zip
"""


def main(arguments: Sequence[str]) -> int:
    """Write the file, and print its sha256 and what was left out."""
    parser = command_parser("bundle", _ABOUT, "RUN [RUN ...] -o FILE.zip [OPTIONS]")
    parser.add_argument("runs", nargs="+", metavar="RUN", help=f"{RUN}, or a folder of runs")
    parser.add_argument("-o", "--out", metavar="FILE", required=True, type=Path, help="the file")
    parser.flag(
        "--with-data", "take texts and gold along whatever the licence: you may publish them"
    )
    parser.flag("--with-indices", "take vector indices along; they can be built again")
    parser.home()
    asked = parser.read(arguments)
    if not asked.out.absolute().parent.is_dir():
        raise UserError(f"There is no folder '{asked.out.parent}' to write to.")
    if asked.out.is_dir():
        raise UserError(
            f"'{asked.out}' is a folder; name a file in it, e.g. {asked.out}/paper.zip."
        )
    packed = pack(
        named_runs(asked.runs, asked.home),
        asked.out,
        Path(asked.home),
        with_data=asked.with_data,
        with_indices=asked.with_indices,
    )
    for one in packed.left_out:
        sys.stderr.write(f"left out: {one}\n")
    size = asked.out.stat().st_size / 1e6
    sys.stdout.write(f"bundle: {asked.out} ({packed.n_runs} runs, {size:.1f} MB)\n")
    sys.stdout.write(f"sha256: {packed.sha256}\n")
    return 0
