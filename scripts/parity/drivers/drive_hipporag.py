"""Run HippoRAG 2's `index` and `retrieve` on the frozen facts.

`index` reads the facts from a file in its own format, so that nothing is extracted. Imported
packages that retrieval never calls (servers, other embedders, vLLM) are replaced by mocks.
"""

import json
import sys
import types
from pathlib import Path
from unittest.mock import MagicMock

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
    facts = json.loads((world.folder.parent / "openie.json").read_text(encoding="utf-8"))
    for node in world.nodes:
        node["content"] = node["name"]
    for edge in world.relationships:
        edge["content"] = str((edge["src_id"], edge["relation"], edge["tgt_id"]))
    for kind in ("chunks", "nodes", "relationships"):
        world.rows(kind)

    class Table:
        embedding_dim = world.array("nodes").shape[1]

        def __init__(self, **_):
            pass

        def batch_encode(self, texts, **_):
            return world.vectors(texts)

    class Keeps:  # its reply to the filter keeps every fact
        def infer(self, messages, **_):
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
    rag.index([chunk["content"] for chunk in world.chunks])
    answers = {}
    for one in world.questions:
        (result,) = rag.retrieve([one["text"]], num_to_retrieve=len(world.chunks))
        best = float(result.doc_scores[0]) or 1.0
        scored = zip(result.docs, result.doc_scores, strict=True)
        chunks = [[world.row_of[text], [float(score) / best]] for text, score in scored]
        answers[one["id"]] = {"chunks": chunks}
    write(target, answers, "hipporag")


main()
