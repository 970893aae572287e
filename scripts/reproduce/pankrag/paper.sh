#!/bin/sh
# PankRAG at the paper's settings. What is given is laid over every run.
set -e
# Tables 2 and 3: specific questions
graphrag-bench fetch dataset=multihoprag
graphrag-bench fetch dataset=musique
graphrag-bench table pankrag/table2 --run "$@"
graphrag-bench table pankrag/table3 --run "$@"
# then `graphrag-bench judge RUN ... llm_judge=openai_compatible llm_judge.model=gpt-4o-mini`

# Tables 1 and 4: the runs of every row, and the commands that compare them
for set in ultradomain_agriculture ultradomain_legal ultradomain_cs ultradomain_mix; do
    graphrag-bench fetch dataset=$set
done
graphrag-bench table pankrag/table1 --run "$@"
graphrag-bench table pankrag/table4 --run "$@"

# Figure 4: the weight of reranking
graphrag-bench run -m experiment=pankrag_alpha dataset=multihoprag budget_context=native fidelity=paper method.alpha_specific=0.0,0.2,0.4,0.6,0.8,1.0 "$@"
