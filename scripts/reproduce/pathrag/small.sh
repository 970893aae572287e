#!/bin/sh
# PathRAG on a laptop: every row on 10 questions of `sample`, no key, no server; of ten seeds the first.
set -e
small="dataset=sample limit=10 llm=local embedder=sentence_transformers profile=default fidelity=default
 budget_context=native evaluation.metrics=[recall_concat]"
graphrag-bench run -m "row=glob(pathrag.table1.*)" $small "$@"
graphrag-bench run -m row=pathrag.table2.Random.0,pathrag.table2.Flow-based,pathrag.table2.Hop-first.0 $small "$@"
graphrag-bench run -m row=pathrag.table3.Flat.0,pathrag.table3.Path-based $small "$@"
graphrag-bench run -m "row=glob(pathrag.table4.*)" $small "$@"
for table in table1 table2 table3 table4; do
    graphrag-bench table pathrag/$table
done
graphrag-bench run -m experiment=pathrag_order dataset=sample limit=10 method.path_order=ascending,descending,hop_first
