#!/bin/sh
# Path Pooling at the paper's settings. What is given is laid over every run. The models stand at
# addresses of their own: run Table 1 once for each, by what is given.
set -e
graphrag-bench fetch dataset=cwq
# Table 1, one model: four sizes with and without pooling
graphrag-bench run -m dataset=cwq method=subgraphrag profile=upstream method.scorer=mlp method.top_k=25,50,100,200 pooling=off,rerank,reselect embedder=sentence_transformers embedder.model=Alibaba-NLP/gte-large-en-v1.5 llm=openai_compatible llm.model=meta-llama/Llama-3.1-8B-Instruct frame=off "$@"
graphrag-bench table pathpooling/table1
# Table 3: 500 triples
graphrag-bench run -m dataset=cwq method=subgraphrag profile=upstream method.scorer=mlp method.top_k=500 pooling=off,rerank embedder=sentence_transformers embedder.model=Alibaba-NLP/gte-large-en-v1.5 llm=openai_compatible llm.model=meta-llama/Llama-3.1-8B-Instruct frame=off "$@"
graphrag-bench table pathpooling/table3
# Figures 4 and 9: path search; Figures 5 and 10: pooling
graphrag-bench table pathpooling/fig4 --run "$@"
graphrag-bench table pathpooling/fig9 --run "$@"
graphrag-bench table pathpooling/fig5 --run "$@"
graphrag-bench table pathpooling/fig10 --run "$@"
