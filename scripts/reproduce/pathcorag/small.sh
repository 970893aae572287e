#!/bin/sh
# PathCoRAG on a laptop: every row on 10 questions of `sample`, no key, no server.
set -e
graphrag-bench table pathcorag/table2 --run --small "$@"
graphrag-bench table pathcorag/table3 --run --small "$@"
graphrag-bench table pathcorag/table6 --run --small "$@"
graphrag-bench run -m experiment=pathcorag_paths dataset=sample limit=10 method.include_paths=true,false
