"""Run the command `graphrag-bench` as `python -m graphrag_bench`."""

import sys

from graphrag_bench.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
