"""Use a method as a PyTerrier transformer; requires `pip install 'graphrag-bench[adapters]'`."""

from graphrag_bench.adapters.retrieval import document_scores, retrieved
from graphrag_bench.api import EditablePipeline
from graphrag_bench.data.dataset import Dataset
from graphrag_bench.errors import UserError, extra_needed

with extra_needed("adapters"):
    import pandas as pd
    import pyterrier as pt


class PyTerrierRetriever(pt.Transformer):
    """Transformer that ranks documents for queries with a method, without generating answers.

    `topics` are the questions of the data set, and `qrels` their gold documents. A `docno` is a
    document id. Raises UserError if a `qid` has two queries or the method ranks no passages.
    """

    def __init__(self, pipeline: EditablePipeline, data: Dataset | str) -> None:
        self._experiment = pipeline.experiment(data, answer="off")
        data = self._experiment.dataset
        asked = [(one.id, one.text) for one in data.questions]
        gold = [(q, *item) for q, _ in asked for item in data.gold[q].graded.items()]
        self.topics = pd.DataFrame(asked, columns=["qid", "query"])
        self.qrels = pd.DataFrame(gold, columns=["qid", "docno", "label"])

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return the ranked documents: docno, score, rank, and the query columns of `inp`."""
        pt.validate.query_frame(inp, extra_columns=["query"])
        queries = inp[pt.model.query_columns(inp)].drop_duplicates(["qid", "query"])
        if (repeated := queries.qid.duplicated()).any():
            raise UserError(f"qid '{queries.qid[repeated].iloc[0]}' has two queries.")
        texts = dict(zip(queries.qid.astype(str), queries["query"], strict=True))
        rows: list[tuple[object, str, float]] = []
        states = retrieved(self._experiment, texts)
        for qid, (state, table) in zip(queries.qid, states, strict=True):
            if (chunks := state.get("chunks")) is None:
                raise UserError(f"The method '{self._experiment.method.name}' ranks no passages.")
            rows += [(qid, *one) for one in document_scores(chunks, table).items()]
        found = pd.DataFrame(rows, columns=["qid", "docno", "score"]).astype({"score": float})
        found["qid"] = found["qid"].astype(queries.qid.dtype)
        return pd.DataFrame(pt.model.add_ranks(queries.merge(found, on="qid")))
