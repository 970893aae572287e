#!/bin/sh
# Path Pooling on a laptop: the rows on 10 questions of `sample`, no key, no server. `sample` has texts
# and no given graph; the triples are those of the LLM-free graph, scored by cosine.
set -e
small="dataset=sample limit=10 llm=local embedder=sentence_transformers profile=default fidelity=default
 budget_context=native evaluation.metrics=[recall_concat]"
graphrag-bench run -m "row=glob(pathpooling.table1.*.Llama-8b.*)" method.scorer=cosine $small "$@"
graphrag-bench table pathpooling/table1
graphrag-bench run -m experiment=pooling_search dataset=sample limit=10 method=lgraphrag,glightrag pooling.search=dijkstra,bfs,random_walk
