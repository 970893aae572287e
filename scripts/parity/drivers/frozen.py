"""The frozen world as an engine's process reads it, and the rows that it writes.

Run by the engine's own Python, which has NumPy and nothing of this project.
"""

import json
import sys
from pathlib import Path

import numpy as np


class World:
    """The graph, chunks, communities, questions and vectors of a folder."""

    def __init__(self, folder):
        """Read the folder that `freezing.py` wrote."""
        self.folder = Path(folder)
        stored = json.loads((self.folder / "world.json").read_text(encoding="utf-8"))
        self.nodes = stored.get("nodes", [])
        self.relationships = stored.get("relationships", [])
        self.chunks = stored["chunks"]
        self.communities = stored.get("communities", [])
        self.questions = stored["questions"]
        self.row_of = {node["name"]: row for row, node in enumerate(self.nodes)}
        self.pair_row = {}
        for row, one in enumerate(self.relationships):
            self.pair_row.setdefault(frozenset((one["source"], one["target"])), row)
        self.vector_of = dict(zip(stored["queries"], self.array("queries"), strict=True))

    def array(self, name):
        """The vectors of that kind of row, float32."""
        return np.load(self.folder / f"{name}.npy")

    def name(self, row):
        """The name of a node."""
        return self.nodes[row]["name"]

    def embed(self, texts):
        """The vector of each text; raises KeyError for a text that has none."""
        return np.array([self.vector_of[text] for text in texts], np.float32)

    def pair(self, one, other):
        """The relationship row of two node names, whichever comes first."""
        return self.pair_row[frozenset((self.row_of[one], self.row_of[other]))]


class Letters:
    """A tokenizer that needs no download: budgets are lifted, so that counts decide nothing."""

    def encode(self, text):
        """One token for each letter."""
        return [ord(letter) for letter in text]

    def decode(self, tokens):
        """The letters."""
        return "".join(map(chr, tokens))


def chunk_id(row):
    """The name of a chunk in an engine's store."""
    return f"chunk-{row:05d}"


def chunk_row(name):
    """The row of such a name."""
    return int(name.rpartition("-")[2])


def write(path, answers, version):
    """Write {question id: {stage: [[row, [key, ...]], ...]}}."""
    stored = {"version": version, "answers": answers}
    Path(path).write_text(json.dumps(stored), encoding="utf-8")


def arguments():
    """The frozen folder, the mode, the file to write and a folder for the engine's own files."""
    frozen, mode, target, work = sys.argv[1:5]
    Path(work).mkdir(parents=True, exist_ok=True)
    return World(frozen), mode, target, work
