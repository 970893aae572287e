"""Download a published data set, check it and read it once.

It is stored in HOME/data/NAME, where `run dataset=NAME` finds it (or in DIR, and then `run` needs
dataset.root=DIR too, as for a set that is on disk already). The same command goes on after an
interruption. Each file is compared with the checksum on the data set's card, or else with the
hub's; where neither has one, the file's own is stored in fetched.json. A warning is printed when
the format was never checked against the original, and when counts differ. The publisher's licence
applies.

example
  graphrag-bench fetch dataset=musique
  graphrag-bench run dataset=musique method=hipporag limit=100
"""

import os
import sys
from argparse import Namespace
from pathlib import Path

from graphrag_bench.cli.parsing import Parser
from graphrag_bench.data.dataset import UNKNOWN, load_card
from graphrag_bench.data.fetching import HUB, differences, fetch
from graphrag_bench.data.readers import data_folder, read_dataset
from graphrag_bench.errors import UserError
from graphrag_bench.progress import Progress


def declare(parser: Parser) -> None:
    parser.takes("dataset=NAME [dataset.root=DIR] [paths.home=HOME]")
    parser.settings([
        ("dataset", "NAME", "", "one of `graphrag-bench list datasets`"),
        ("dataset.root", "DIR", "", "another place for the files"),
        ("paths.home", "HOME", ".", "the folder that holds data/; default: ."),
    ])  # fmt: skip
    parser.rows("environment", [
        ("HF_ENDPOINT", "the address of a mirror of the hub"),
        ("HF_HUB_OFFLINE", "1 forbids asking the hub"),
    ])  # fmt: skip


def main(options: Namespace) -> None:
    settings = vars(options)
    name, root, home = settings["dataset"], settings["dataset.root"], settings["paths.home"]
    if not name:
        raise UserError("Which set? graphrag-bench fetch dataset=NAME; `list datasets` names them.")
    card = load_card(name)
    folder = Path(root) if root else data_folder(card.name, home)
    print(f"{card.name}: {card.title}\nlicence: {card.license}")
    if not card.verified:
        what = f" ({card.checked})" if card.checked else ""
        _warn(f"the shape of this set was not checked against the original{what}")
    endpoint = os.environ.get("HF_ENDPOINT") or HUB
    for file in fetch(card, folder, endpoint=endpoint, progress=Progress()):
        at = "" if file.revision == UNKNOWN else f" at {file.revision}"
        checked = f"as the {file.checked} says" if file.checked else "checked against nothing"
        print(f"{', '.join(file.holds)}: {file.url}{at}\n  sha256 {file.sha256}, {checked}")
    data = read_dataset(card.name, folder, home=home)
    for line in differences(data):
        _warn(f"there are {line} ({card.counts_from or 'its own count'})")
    where = f" dataset.root={folder}" if root else ""
    print(f"{len(data.documents)} documents, {len(data.questions)} questions in {folder}")
    print(f"use it: graphrag-bench run dataset={card.name}{where} method=bm25 answer=off")


def _warn(text: str) -> None:
    print(f"warning: {text}.", file=sys.stderr)
