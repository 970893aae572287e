#!/bin/sh
# PankRAG at the paper's settings. What is given is laid over every run.
set -e
# Tables 2 and 3, Figure 4: specific questions
graphrag-bench fetch dataset=multihoprag
graphrag-bench fetch dataset=musique
for table in table2 table3 fig4; do
    graphrag-bench run experiment=pankrag/$table "$@"
    graphrag-bench table pankrag/$table
done
# then `graphrag-bench judge RUN ... llm_judge=pankrag.GPT-4o-mini` for Tables 2 and 3

# Tables 1 and 4, Figure 3: abstract questions, made first; then `graphrag-bench compare RUN RUN ...`
for set in ultradomain_agriculture ultradomain_legal ultradomain_cs ultradomain_mix; do
    graphrag-bench fetch dataset=$set
    graphrag-bench questions dataset=$set kind=abstract n=125 llm_build=openai_compatible llm_build.model=gpt-4o out=questions/$set/abstract
done
for table in table1 table4 fig3; do
    graphrag-bench run experiment=pankrag/$table "$@"
    graphrag-bench table pankrag/$table
done
