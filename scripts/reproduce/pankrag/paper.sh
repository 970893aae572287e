#!/bin/sh
# PankRAG at the paper's settings. What is given is laid over every run.
set -e
# Tables 2 and 3: specific questions
graphrag-bench fetch dataset=multihoprag
graphrag-bench fetch dataset=musique
graphrag-bench table pankrag/table2 --run "$@"
graphrag-bench table pankrag/table3 --run "$@"
# then `graphrag-bench judge RUN ... llm_judge=openai_compatible llm_judge.model=gpt-4o-mini`

# Tables 1 and 4: abstract questions, made first; the runs of every row; the commands that compare them
for set in ultradomain_agriculture ultradomain_legal ultradomain_cs ultradomain_mix; do
    graphrag-bench fetch dataset=$set
    graphrag-bench questions dataset=$set kind=abstract n=125 llm_build=openai_compatible llm_build.model=gpt-4o out=questions/$set/abstract
done
graphrag-bench table pankrag/table1 --run "$@"
graphrag-bench table pankrag/table4 --run "$@"

# Figures 3 and 4: the weight of reranking
graphrag-bench run -m dataset=ultradomain_mix dataset.questions=questions/ultradomain_mix/abstract method=pankrag profile=paper fidelity=paper budget_context=12000 method.plan=on method.rerank=on llm=openai_compatible llm.model=gpt-4o-mini embedder=sentence_transformers embedder.model=BAAI/bge-m3 reference_rows=off method.alpha_abstract=0.0,0.25,0.5,0.65,0.75,1.0 "$@"
graphrag-bench run -m dataset=ultradomain_agriculture dataset.questions=questions/ultradomain_agriculture/abstract method=pankrag profile=paper fidelity=paper budget_context=12000 method.plan=on method.rerank=on llm=openai_compatible llm.model=gpt-4o-mini embedder=sentence_transformers embedder.model=BAAI/bge-m3 reference_rows=off method.alpha_abstract=0.0,0.25,0.5,0.65,0.75,1.0 "$@"
graphrag-bench run -m dataset=multihoprag method=pankrag profile=paper fidelity=paper budget_context=12000 method.plan=on method.rerank=on llm=openai_compatible llm.model=gpt-4o-mini embedder=sentence_transformers embedder.model=BAAI/bge-m3 reference_rows=off method.alpha_specific=0.0,0.2,0.4,0.6,0.8,1.0 "$@"
