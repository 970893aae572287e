#!/bin/sh
# Zhou et al. 2025 on a laptop: every row of the tables on 10 questions of `sample`, no key, no server.
set -e
small="dataset=sample limit=10 llm=local embedder=sentence_transformers profile=default fidelity=default
 budget_context=native evaluation.metrics=[recall_concat]"
for table in zhou2025.table5 zhou2025.table8 zhou2025tr.table15 zhou2025.fig6; do
    graphrag-bench run -m "row=glob($table.*)" $small "$@"
done
for table in zhou2025/table5 zhou2025/table6 zhou2025/table8 zhou2025tr/table15 zhou2025/fig6; do
    graphrag-bench table $table
done
