"""`graphrag-bench fetch`: downloads a published data set, checked, to where `run` finds it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from graphrag_bench.cli.parsing import Parser
from graphrag_bench.data.dataset import UNKNOWN, load_card
from graphrag_bench.data.fetching import HUB, Fetched, differences, fetch
from graphrag_bench.data.readers import data_folder, read_dataset
from graphrag_bench.errors import UserError
from graphrag_bench.progress import Progress

_ABOUT = """
Downloads a published data set, checks it and reads it once. It is stored in HOME/data/NAME, where
`run dataset=NAME` finds it (or in DIR, and then `run` needs dataset.root=DIR too). Complete files
stay, so that the same command goes on after an interruption.

Run the same command again after an interruption: complete files stay. Each file is compared with
the checksum on the data set's card (datasets/NAME/card.yaml), or with the hub's where the card says
`unknown`; where neither has one, the file's own is printed and stored in fetched.json. A warning is
printed when the format was never checked against the original (verified: false), and when counts
differ.

A set that is on disk needs no fetch: run dataset=NAME dataset.root=DIR. The publisher's licence is
printed and applies.

example
  graphrag-bench fetch dataset=musique
  graphrag-bench run dataset=musique method=hipporag limit=100
"""
_SETTINGS = (
    ("dataset", "NAME", "", "one of `graphrag-bench list`"),
    ("dataset.root", "DIR", "", "another place for the files"),
    ("paths.home", "HOME", ".", "the folder that holds data/; default: ."),
)
_ENVIRONMENT = (
    ("HF_ENDPOINT", "the address of a mirror of the hub"),
    ("HF_HUB_OFFLINE", "1 forbids asking the hub"),
)


def main(arguments: Sequence[str]) -> int:
    """Fetch, read and tell; 0 when the set can be read."""
    usage = "dataset=NAME [dataset.root=DIR] [paths.home=HOME] [OPTIONS]"
    parser = Parser("fetch", _ABOUT, usage)
    parser.settings(_SETTINGS)
    parser.rows("environment", _ENVIRONMENT)
    parser.flag("--again", "download it even if it is there")
    asked = vars(parser.read(arguments))
    name, root, home = (asked[setting] for setting, *_ in _SETTINGS)
    if not name:
        raise UserError("Which set? graphrag-bench fetch dataset=NAME; `list` names them.")
    card = load_card(name)
    folder = Path(root) if root else data_folder(card.name, home)
    sys.stdout.write(f"{card.name}: {card.title}\nlicence: {card.license}\n")
    if not card.verified:
        what = f" ({card.checked})" if card.checked else ""
        reason = f"the shape of this set was not checked against the original{what}"
        sys.stderr.write(f"warning: {reason}.\n")
    endpoint = os.environ.get("HF_ENDPOINT") or HUB
    for one in fetch(card, folder, endpoint=endpoint, again=asked["again"], progress=Progress()):
        sys.stdout.write(_line(one) + "\n")
    data = read_dataset(card.name, folder, home=home)
    for line in differences(data):
        sys.stderr.write(f"warning: there are {line} ({card.counts_from or 'its own count'}).\n")
    where = f" dataset.root={folder}" if root else ""
    sys.stdout.write(
        f"{len(data.documents)} documents, {len(data.questions)} questions in {folder}\n"
        f"use it: graphrag-bench run dataset={card.name}{where} method=bm25 answer=off\n"
    )
    return 0


def _line(one: Fetched) -> str:
    by = {"card": "as the card says", "hub": "as the hub says"}
    checked = by.get(one.checked, f"not checked: the card says {UNKNOWN}")
    at = "" if one.revision == UNKNOWN else f" at {one.revision}"
    return f"{', '.join(one.holds)}: {one.url}{at}\n  sha256 {one.sha256}, {checked}"
