#!/bin/sh
# PankRAG on a laptop: every row on 10 questions of `sample`, no key, no server.
set -e
small="dataset=sample limit=10 llm=local embedder=sentence_transformers profile=default fidelity=default
 budget_context=native evaluation.metrics=[recall_concat]"
for table in table1 table3; do
    graphrag-bench run -m "row=glob(pankrag.$table.*)" $small "$@"
    graphrag-bench table pankrag/$table
done
graphrag-bench run -m experiment=pankrag_parts dataset=sample limit=10 method.rerank=on,off
