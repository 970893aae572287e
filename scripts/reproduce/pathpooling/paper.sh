#!/bin/sh
# Path Pooling at the paper's settings. Arguments override every run. The models are at
# separate addresses: `graphrag-bench table pathpooling/table1` prints a command for each.
set -e
graphrag-bench fetch dataset=cwq
# Table 2: milliseconds; they take runs with workers=1 cache.mode=off
graphrag-bench table pathpooling/table2 --run "$@"
# Figures 4 and 9: path search; Figures 5 and 10: pooling, all of Llama 3.1 8B, and with them its
# rows of Table 1
graphrag-bench table pathpooling/fig4 --run "$@"
graphrag-bench table pathpooling/fig9 --run "$@"
graphrag-bench table pathpooling/fig10 --run "$@"
graphrag-bench run -m dataset=cwq method=subgraphrag profile=paper method.scorer=mlp method.order=recency method.max_tokens=4000 budget_context=20000 method.form=triplets pooling=off llm=openai_compatible llm.model=meta-llama/Llama-3.1-8B-Instruct llm.base_url=http://localhost:8000/v1 llm.api_key_env=null llm.prices=null embedder=sentence_transformers embedder.model=Alibaba-NLP/gte-large-en-v1.5 reference_rows=off method.top_k=25,50,100,200 "$@"
graphrag-bench run -m dataset=cwq method=subgraphrag profile=paper method.scorer=mlp method.order=recency method.max_tokens=4000 budget_context=20000 method.form=paths pooling=reselect llm=openai_compatible llm.model=meta-llama/Llama-3.1-8B-Instruct llm.base_url=http://localhost:8000/v1 llm.api_key_env=null llm.prices=null embedder=sentence_transformers embedder.model=Alibaba-NLP/gte-large-en-v1.5 reference_rows=off method.top_k=25,50,100,200 pooling.pooling=mean,max "$@"
# Tables 1 and 3: four models, 25 to 200 and 500 triples
graphrag-bench table pathpooling/table1
graphrag-bench table pathpooling/table3
