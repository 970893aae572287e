"""Run HippoRAG 2's `index` and `retrieve` on the frozen facts.

`index` reads the facts from a file in its own format, so that nothing is extracted. Imported
packages that retrieval never calls (servers, other embedders, vLLM) are replaced by mocks.
"""

import json
import sys
import types
from importlib.metadata import version
from pathlib import Path
from unittest.mock import MagicMock

import numpy as np
from frozen import arguments, write

for unused in ("gritlm", "litellm", "boto3", "botocore", "botocore.exceptions", "vllm", "cohere"):
    try:
        __import__(unused)
    except ImportError:
        sys.modules[unused] = MagicMock(spec=types.ModuleType(unused), __spec__=None)
        for name in ("GritLM", "completion", "LLM", "SamplingParams", "ClientError"):
            setattr(sys.modules[unused], name, object)

import hipporag  # noqa: E402, F401
from hipporag.utils.config_utils import BaseConfig  # noqa: E402

engine = sys.modules["hipporag.HippoRAG"]


def main():
    """Index the passages, ask the questions, write the lists."""
    world, _, target, work = arguments()
    table = dict(world.vector_of)
    facts = json.loads((world.folder.parent / "openie.json").read_text(encoding="utf-8"))
    for row, chunk in enumerate(world.chunks):
        table[chunk["text"]] = world.array("chunks")[row]
    nodes, edges = world.array("nodes"), world.array("relationships")
    for row, node in enumerate(world.nodes):
        table[node["name"]] = nodes[row]
    for row, edge in enumerate(world.relationships):
        named = world.name(edge["source"]), edge["relation"], world.name(edge["target"])
        table[str(named)] = edges[row]

    class Table:
        """An embedder with the vectors of the frozen world."""

        def __init__(self, **_):
            self.embedding_dim = nodes.shape[1]

        def batch_encode(self, texts, **_):
            """Return a row for each text."""
            return np.array([table[text] for text in texts], np.float32)

    class Keeps:
        """A model whose reply to the filter keeps every fact."""

        def infer(self, messages, **_):
            """Return the recorded reply."""
            requests = messages[-1]["content"]
            rows = requests.partition("[[ ## fact_before_filter ## ]]\n")[2].partition("\n\n")[0]
            return (f"[[ ## fact_after_filter ## ]]\n{rows}\n\n[[ ## completed ## ]]", {}, False)

    engine._get_embedding_model_class = lambda **_: Table
    engine._get_llm_class = lambda _: Keeps()
    engine.OpenIE = lambda **_: None
    config = BaseConfig(save_dir=work, llm_name="none", embedding_model_name="table")
    rag = engine.HippoRAG(global_config=config)
    docs = [{**one, "idx": str(row)} for row, one in enumerate(facts["docs"])]
    Path(rag.openie_results_path).write_text(json.dumps({"docs": docs}), encoding="utf-8")
    texts = [chunk["text"] for chunk in world.chunks]
    rag.index(texts)
    row_of = {text: row for row, text in enumerate(texts)}
    answers = {}
    for one in world.questions:
        (result,) = rag.retrieve([one["text"]], num_to_retrieve=len(texts))
        best = float(result.doc_scores[0]) or 1.0
        answers[one["id"]] = {
            "chunks": [
                [row_of[text], [float(score) / best]]
                for text, score in zip(result.docs, result.doc_scores, strict=True)
            ]
        }
    write(target, answers, version("hipporag"))


main()
