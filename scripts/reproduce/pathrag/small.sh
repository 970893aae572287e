#!/bin/sh
# PathRAG on a laptop: every row on 10 questions of `sample`, no key, no server.
set -e
graphrag-bench table pathrag/table1 --run --small "$@"
graphrag-bench table pathrag/table2 --run --small "$@"
graphrag-bench table pathrag/table3 --run --small "$@"
graphrag-bench table pathrag/table4 --run --small "$@"
graphrag-bench run -m experiment=pathrag_order dataset=sample limit=10 method.path_order=ascending,descending,hop_first
