#!/bin/sh
# PathRAG at the paper's settings. What is given is laid over every run.
set -e
# Table 4: SQuALITY against summaries written by people
graphrag-bench fetch dataset=squality
graphrag-bench table pathrag/table4 --run "$@"

# Tables 1 to 3: the runs of every row, and the commands that compare them
for set in ultradomain_legal ultradomain_history ultradomain_biology ultradomain_mix summscreen; do
    graphrag-bench fetch dataset=$set
done
graphrag-bench table pathrag/table1 --run "$@"
graphrag-bench table pathrag/table2 --run "$@"
graphrag-bench table pathrag/table3 --run "$@"

# Figure 3: edges left out at random
graphrag-bench run -m dataset=ultradomain_cs method=pathrag,hlightrag,vanilla build.graph.edge_drop=0.1,0.2,0.3,0.4,0.5 budget_context=native fidelity=paper embedder=openai_compatible embedder.model=text-embedding-3-small llm=openai_compatible llm.model=gpt-4o-mini frame=off "$@"
graphrag-bench table pathrag/table6
