"""`python -m graphrag_bench`: the same as `graphrag-bench`."""

import sys

from graphrag_bench.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
