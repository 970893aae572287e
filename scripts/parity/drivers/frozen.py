"""The input of an engine's process, its output, and what several engines do with it.

It runs in the engine's Python, which has NumPy but not this project.
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np

NO_LIMIT = 10**9


class World:
    """The graph, chunks, communities, questions and vectors of a folder from `freezing.py`.

    Nodes, relationships and chunks also have the fields of LightRAG and nano-graphrag. `vector_of`
    maps the texts of the questions, and of the rows that a driver inserts (`rows`), to vectors.
    """

    def __init__(self, folder):
        self.folder = Path(folder)
        stored = json.loads((self.folder / "world.json").read_text(encoding="utf-8"))
        self.nodes, self.relationships = stored["nodes"], stored["relationships"]
        self.questions, self.communities = stored["questions"], stored.get("communities", [])
        self.chunks = [
            {"content": text, "tokens": 1, "full_doc_id": f"doc-{row}", "chunk_order_index": 0,
             "file_path": "sample"}
            for row, text in enumerate(stored["chunks"])
        ]  # fmt: skip
        self.row_of = {text: row for row, text in enumerate(stored["chunks"])}
        self.row_of |= {node["name"]: row for row, node in enumerate(self.nodes)}
        self.pair_row = {}
        for node in self.nodes:
            node |= {"entity_id": node["name"], "entity_name": node["name"],
                     "entity_type": node["type"] or "UNKNOWN"}  # fmt: skip
        for row, edge in enumerate(self.relationships):
            source, target = (self.nodes[edge[end]]["name"] for end in ("source", "target"))
            edge |= {"src_id": source, "tgt_id": target, "order": 1}
            self.pair_row.setdefault(frozenset((source, target)), row)
        for one in (*self.nodes, *self.relationships):
            chunks = "<SEP>".join(f"chunks-{row:05d}" for row in one["chunks"])
            one |= {"source_id": chunks, "file_path": "sample"}
        self.vector_of = dict(zip(stored["queries"], self.array("queries"), strict=True))

    def array(self, kind):
        """Return the vectors of a kind of row, float32."""
        return np.load(self.folder / f"{kind}.npy")

    def rows(self, kind):
        """Return the rows of a kind by name, and remember the vectors of their `content`."""
        rows = getattr(self, kind)
        self.vector_of |= zip((one["content"] for one in rows), self.array(kind), strict=True)
        return {f"{kind}-{row:05d}": one for row, one in enumerate(rows)}

    async def insert(self, graph):
        """Insert nodes and relationships into a graph store of LightRAG or nano-graphrag."""
        keys = ("entity_id", "entity_type", "description", "source_id", "file_path")
        for node in self.nodes:
            await graph.upsert_node(node["name"], {key: node[key] for key in keys})
        keys = ("weight", "description", "keywords", "source_id", "file_path", "order")
        for edge in self.relationships:
            fields = {key: edge[key] for key in keys}
            await graph.upsert_edge(edge["src_id"], edge["tgt_id"], fields)

    def vectors(self, texts):
        """Return the vector of each text; raises KeyError for an unknown text."""
        return np.array([self.vector_of[text] for text in texts], np.float32)

    async def embed(self, texts, **_):
        """Return `vectors`."""
        return self.vectors(texts)

    def pair(self, one, other):
        """Return the relationship row of two node names, in either order."""
        return self.pair_row[frozenset((one, other))]


class Letters:
    """A tokenizer without downloads; budgets are lifted, so that its counts do not matter."""

    encode = staticmethod(lambda text: list(map(ord, text)))
    decode = staticmethod(lambda tokens: "".join(map(chr, tokens)))


def watch(module, name, seen):
    """Let an async function of a module store its arguments and its result in `seen`."""
    function = getattr(module, name)

    async def watched(*args, **named):
        result = await function(*args, **named)
        seen[name] = args, result
        return result

    setattr(module, name, watched)


def arguments():
    """Return the input, the mode, the output file and a folder for the engine's files."""
    frozen, mode, target, work = sys.argv[1:5]
    Path(work).mkdir(parents=True, exist_ok=True)
    return World(frozen), mode, target, work


def write(path, answers, engine):
    """Write the engine's version and {question id: {stage: [[row, [key, ...]], ...]}}."""
    stored = {"version": version(engine), "answers": answers}
    Path(path).write_text(json.dumps(stored), encoding="utf-8")
