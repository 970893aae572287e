#!/bin/sh
# PathRAG at the paper's settings. What is given is laid over every run.
set -e
# Table 4: SQuALITY against summaries written by people
graphrag-bench fetch dataset=squality
graphrag-bench table pathrag/table4 --run "$@"

# Tables 1 to 3: abstract questions, made first; the runs of every row; the commands that compare them
graphrag-bench fetch dataset=summscreen
for set in ultradomain_legal ultradomain_history ultradomain_biology ultradomain_mix ultradomain_agriculture ultradomain_cs; do
    graphrag-bench fetch dataset=$set
    graphrag-bench questions dataset=$set kind=abstract n=125 llm_build=openai_compatible llm_build.model=gpt-4o out=questions/$set/abstract
done
graphrag-bench table pathrag/table1 --run "$@"
# Table 2: ten seeds of the random order
graphrag-bench table pathrag/table2 --run "$@"
graphrag-bench table pathrag/table3 --run "$@"

# Table 6: tokens and money
graphrag-bench table pathrag/table6 --run "$@"
# Figure 3: edges left out at random, five levels
graphrag-bench table pathrag/fig3 --run "$@"
# Table 5: GPT-4o and DeepSeek-V3 too
graphrag-bench table pathrag/table5 --run "$@"
