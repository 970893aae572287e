#!/bin/sh
# PathCoRAG at the paper's settings. What is given is laid over every run.
set -e
# Table 6: HotpotQA, 1,000 questions
graphrag-bench fetch dataset=hotpotqa
graphrag-bench table pathcorag/table6 --run limit=1000 "$@"

# Table 5: NovelQA comes by hand (its card says how), InfiniteBench by fetch
graphrag-bench fetch dataset=infinitebench_qa
graphrag-bench fetch dataset=infinitebench_mc
graphrag-bench table pathcorag/table5 --run "$@"

# Tables 1 to 3: the runs of every row, and the commands that compare them
for set in ultradomain_mix ultradomain_cs ultradomain_agriculture ultradomain_legal; do
    graphrag-bench fetch dataset=$set
done
graphrag-bench table pathcorag/table2 --run "$@"
graphrag-bench table pathcorag/table3 --run "$@"
graphrag-bench table pathcorag/table1

# Figures 3 and 4: sizes and steps
graphrag-bench run -m experiment=pathcorag_sizes dataset=ultradomain_mix budget_context=native fidelity=paper method.n_nodes=10,20,30,40,50 "$@"
graphrag-bench run -m experiment=pathcorag_steps dataset=ultradomain_mix budget_context=native fidelity=paper method.n_steps=2,3,4 method.n_queries=1,2,3,4 "$@"
