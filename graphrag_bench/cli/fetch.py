"""Download a published data set and check it.

The files are stored in HOME/data/NAME, where `run dataset=NAME` finds them. With dataset.root=DIR
they are stored in DIR, and `run` needs the same setting. Repeat the command to resume a download.

Each file is checked against the sha256 on the data set's card or on the hub. If neither states a
sha256, the sha256 of the download is stored in fetched.json. The command warns if our reader has
not been tested with the original files, or if the numbers or ids of documents or questions differ
from the card. The publisher's licence applies.

example
  graphrag-bench fetch dataset=musique
  graphrag-bench fetch dataset=beir dataset.name=scifact
  graphrag-bench run dataset=musique method=hipporag limit=100
"""

import os
import sys
from argparse import Namespace
from pathlib import Path

from graphrag_bench.cli.parsing import Parser
from graphrag_bench.data.dataset import UNKNOWN, load_card
from graphrag_bench.data.fetching import HUB, beir_card, differences, fetch
from graphrag_bench.data.readers import data_folder, read_dataset
from graphrag_bench.errors import UserError
from graphrag_bench.progress import Progress
from graphrag_bench.text import counted


def declare(parser: Parser) -> None:
    parser.set_usage("dataset=NAME [dataset.name=SET] [dataset.root=DIR] [paths.home=HOME]")
    parser.add_settings([
        ("dataset", "NAME", "", "a data set; `graphrag-bench list datasets` lists them"),
        ("dataset.name", "SET", "", "for dataset=beir: a set of BeIR on the hub, or OWNER/SET"),
        ("dataset.split", "SPLIT", "", "for dataset=beir: the qrels to check (default: test)"),
        ("dataset.root", "DIR", "", "the folder for the files (default: HOME/data/NAME)"),
        ("paths.home", "HOME", ".", "the folder with data/ (default: .)"),
    ])  # fmt: skip
    parser.add_section("environment", [
        ("HF_ENDPOINT", "the address of a mirror of Hugging Face"),
        ("HF_HUB_OFFLINE", "set it to 1 to forbid downloads"),
    ])  # fmt: skip


def main(options: Namespace) -> None:
    settings = vars(options)
    name, root, home = settings["dataset"], settings["dataset.root"], settings["paths.home"]
    if not name:
        raise UserError("`fetch` needs dataset=NAME. List names: graphrag-bench list datasets.")
    card, member = load_card(name), settings["dataset.name"]
    if (card.reader == "beir") != bool(member):
        raise UserError("Set dataset.name=SET for dataset=beir, but not for other data sets.")
    card = beir_card(card, member) if member else card
    folder = Path(root) if root else data_folder(card.name, home, member)
    print(f"{card.name}: {card.title}\nlicence: {card.license}")
    if not card.verified:
        what = f" ({card.checked})" if card.checked else ""
        _warn(f"our reader has not been tested with the original files of this data set{what}")
    endpoint = os.environ.get("HF_ENDPOINT") or HUB
    for file in fetch(card, folder, endpoint=endpoint, progress=Progress()):
        at = "" if file.revision == UNKNOWN else f" at {file.revision}"
        checked = f"as on the {file.checked}" if file.checked else "not checked"
        print(f"{', '.join(file.holds)}: {file.url}{at}\n  sha256 {file.sha256}, {checked}")
    chosen = {of: one for of in ("name", "split") if (one := settings[f"dataset.{of}"])}
    data = read_dataset(card.name, folder, settings=chosen, home=home)
    for line in differences(data):
        _warn(f"{line} (source: {card.counts_from or 'counts of this project'})")
    where = "".join(f" dataset.{of}={one}" for of, one in chosen.items())
    where += f" dataset.root={folder}" if root else ""
    n_documents, n_questions = len(data.documents), len(data.questions)
    print(f"{counted(n_documents, 'document')}, {counted(n_questions, 'question')} in {folder}")
    print(f"use it: graphrag-bench run dataset={card.name}{where} method=bm25 answer=off")


def _warn(text: str) -> None:
    print(f"warning: {text}.", file=sys.stderr)
