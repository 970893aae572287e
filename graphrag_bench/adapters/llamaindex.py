"""Use a method as a LlamaIndex retriever; requires `pip install 'graphrag-bench[adapters]'`."""

from graphrag_bench.adapters.retrieval import context_of
from graphrag_bench.api import EditablePipeline
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.errors import extra_needed

with extra_needed("adapters"):
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode


class LlamaIndexRetriever(BaseRetriever):
    """Retriever that returns the items of a method's context as nodes.

    An item is a passage, a fact or a community report, with `kind`, `id`, `title` and `score`.
    These metadata are not added to prompts.
    """

    def __init__(self, pipeline: EditablePipeline, data: Dataset | str) -> None:
        super().__init__()
        self._experiment = pipeline.experiment(data, answer="off")

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        nodes = []
        for text, about in context_of(self._experiment, query_bundle.query_str):
            node = TextNode(text=text, metadata=about, excluded_llm_metadata_keys=[*about])
            nodes.append(NodeWithScore(node=node, score=about["score"]))
        return nodes
