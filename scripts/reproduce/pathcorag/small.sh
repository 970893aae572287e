#!/bin/sh
# PathCoRAG on a laptop: every row on 10 questions of `sample`, no key, no server.
set -e
small="dataset=sample limit=10 llm=local embedder=sentence_transformers profile=default fidelity=default
 budget_context=native evaluation.metrics=[recall_concat]"
for table in table2 table3 table6; do
    graphrag-bench run -m "row=glob(pathcorag.$table.*)" $small "$@"
    graphrag-bench table pathcorag/$table
done
graphrag-bench run -m experiment=pathcorag_paths dataset=sample limit=10 method.include_paths=true,false
