#!/bin/sh
# Zhou et al. 2025 on a laptop: every row of the tables on 10 questions of `sample`, no key, no server.
set -e
graphrag-bench table zhou2025/table5 --run --small "$@"
graphrag-bench table zhou2025/table6 --small
graphrag-bench table zhou2025/table8 --run --small "$@"
graphrag-bench table zhou2025tr/table15 --run --small "$@"
graphrag-bench table zhou2025/fig6 --run --small "$@"
