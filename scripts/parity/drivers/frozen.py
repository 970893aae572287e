"""The input of an engine's process, and its output.

It runs in the engine's Python, which has NumPy but not this project.
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
        """Return the vectors of a kind of row, float32."""
        return np.load(self.folder / f"{name}.npy")

    def name(self, row):
        """Return the name of a node."""
        return self.nodes[row]["name"]

    def embed(self, texts):
        """Return the vector of each text; raises KeyError for an unknown text."""
        return np.array([self.vector_of[text] for text in texts], np.float32)

    def pair(self, one, other):
        """Return the relationship row of two node names, in either order."""
        return self.pair_row[frozenset((self.row_of[one], self.row_of[other]))]


class Letters:
    """A tokenizer without downloads; budgets are lifted, so that its counts do not matter."""

    def encode(self, text):
        """Return one token for each letter."""
        return [ord(letter) for letter in text]

    def decode(self, tokens):
        """Return the letters."""
        return "".join(map(chr, tokens))


def chunk_id(row):
    """Return the name of a chunk in an engine's store."""
    return f"chunk-{row:05d}"


def chunk_row(name):
    """Return the row of a chunk's name."""
    return int(name.rpartition("-")[2])


def write(path, answers, version):
    """Write {question id: {stage: [[row, [key, ...]], ...]}}."""
    stored = {"version": version, "answers": answers}
    Path(path).write_text(json.dumps(stored), encoding="utf-8")


def arguments():
    """Return the input, the mode, the output file and a folder for the engine's files."""
    frozen, mode, target, work = sys.argv[1:5]
    Path(work).mkdir(parents=True, exist_ok=True)
    return World(frozen), mode, target, work
