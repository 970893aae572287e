"""Use a method as a LangChain retriever; requires `pip install 'graphrag-bench[adapters]'`."""

from typing import Any

from graphrag_bench.adapters.retrieval import context_of
from graphrag_bench.api import EditablePipeline
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.errors import extra_needed

with extra_needed("adapters"):
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever


class LangChainRetriever(BaseRetriever):
    """Retriever that returns the items of a method's context as documents.

    An item is a passage, a fact or a community report, with `kind`, `id`, `title` and `score`.
    """

    experiment: Any

    def __init__(self, pipeline: EditablePipeline, data: Dataset | str) -> None:
        super().__init__(experiment=pipeline.experiment(data, answer="off"))

    def _get_relevant_documents(self, query: str) -> list[Document]:
        pieces = context_of(self.experiment, query)
        return [Document(page_content=text, metadata=about) for text, about in pieces]
