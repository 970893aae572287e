#!/bin/sh
# Path Pooling on a laptop: the rows on 10 questions of `sample`, no key, no server. `sample` has texts
# and no given graph; the triples are those of the LLM-free graph, scored by cosine.
set -e
graphrag-bench table pathpooling/table1 --run --small "$@"
graphrag-bench run -m experiment=pooling_search dataset=sample limit=10 method=lgraphrag,glightrag pooling.search=dijkstra,bfs,random_walk
