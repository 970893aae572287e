"""Count the verdicts of GPT-4o in both orders in the logs of HiRAG; write judge_bias.csv.

Of n lines without ids, line i and line i + n/2 are verdicts on the same two answers in swapped
order. Usage: python scripts/judge_bias.py FOLDER
"""

import csv
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from pydantic import TypeAdapter

from graphrag_bench.evaluation.statistics import mean_with_interval
from graphrag_bench.judging.pairs import Winner, head_to_head

CSV = Path(__file__).resolve().parent.parent / "docs" / "results" / "judge_bias.csv"
HEADS = ("set", "A", "B", "criterion", "verdicts", "pairs", "A wins both", "B wins both",
         "position wins both", "p", "averaged", "A wins both orders", "of decided pairs",
         "position", "first wins")  # fmt: skip
_LOG = re.compile(r"(\w+?)_eval_(hi_)?(.+)_result_openai")


def rows(logs: Path) -> Iterator[list[str]]:
    """Yield a row for each log and criterion; a log that cannot be paired has no numbers."""
    winner = TypeAdapter[str](Winner).validate_python
    for path in sorted(logs.glob("*/*_result_openai.jsonl")):
        name, of_hirag, other = _LOG.findall(path.name)[0]
        verdicts = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        half, log = 130 if name == "mix" else 100, [name, "HiRAG" if of_hirag else "local", other]
        if len(verdicts) != 2 * half:
            yield [*log, "", str(len(verdicts)), *[""] * (len(HEADS) - 5)]
            continue
        for criterion in verdicts[0]:
            won = [winner(one[criterion]["Winner"]) == "Answer 1" for one in verdicts]
            pairs = [(float(x), float(not y)) for x, y in zip(won[:half], won[half:], strict=True)]
            result = head_to_head(list(zip(*pairs, strict=True)))
            both = mean_with_interval([float(x + y == 2) for x, y in pairs])
            decided = mean_with_interval([x for x, y in pairs if x == y])
            means = (result.rate, both, decided, result.flips, result.first)
            cells = [f"{x.mean:.3f} [{x.low:.2f}, {x.high:.2f}]" for x in means if x]
            counts = (len(verdicts), result.n, result.wins, result.losses, result.ties)
            yield [*log, criterion, *map(str, counts), f"{result.p:.3f}", *cells]


if __name__ == "__main__":
    every = [HEADS, *rows(Path(sys.argv[1]))]  # before the file is emptied
    with CSV.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out, lineterminator="\n").writerows(every)
