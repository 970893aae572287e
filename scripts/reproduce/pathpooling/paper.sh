#!/bin/sh
# Path Pooling at the paper's settings. What is given is laid over every run.
set -e
graphrag-bench fetch dataset=cwq
# Table 2: milliseconds; they take runs with workers=1 cache.mode=off
# Figures 4 and 9: path search; Figures 5 and 10: pooling, all of Llama 3.1 8B
for table in table2 fig4 fig5 fig9 fig10; do
    graphrag-bench run experiment=pathpooling/$table "$@"
    graphrag-bench table pathpooling/$table
done
# Tables 1 and 3: 25 to 200 and 500 triples; their four models are at separate addresses, one at a time
graphrag-bench run experiment=pathpooling/table1 "row=glob(pathpooling.table1.*.Llama-8b.*)" "$@"
graphrag-bench run experiment=pathpooling/table3 "row=glob(pathpooling.table3.*.Llama-8b.*)" "$@"
graphrag-bench table pathpooling/table1
graphrag-bench table pathpooling/table3
