#!/bin/sh
# PankRAG on a laptop: every row on 10 questions of `sample`, no key, no server.
set -e
graphrag-bench table pankrag/table1 --run --small "$@"
graphrag-bench table pankrag/table3 --run --small "$@"
graphrag-bench run -m experiment=pankrag_parts dataset=sample limit=10 method.rerank=on,off
