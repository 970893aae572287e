"""Ledgers of other processes, read on as they grow, count in the budget."""

import json
from pathlib import Path

import pytest

from graphrag_bench.models.budget import Budget, Spending
from graphrag_bench.models.ledger import Followed, Ledger, Line
from graphrag_bench.models.llm import RunStopped

CALL = Line("generate", "answer", "q1", "stop", prompt_tokens=30, completion_tokens=10, usd=0.5)


def test_what_is_written_later_is_counted_later(tmp_path):
    paths = [tmp_path / "ledger.1-of-2.jsonl"]
    followed = Followed(lambda: [path for path in paths if path.is_file()])
    assert followed.spent() == Spending()
    ledger = Ledger(paths[0])
    ledger.write(CALL)
    assert followed.spent() == Spending(40, 0.5)
    ledger.write(CALL)
    assert followed.spent() == followed.spent() == Spending(80, 1.0)
    paths.append(tmp_path / "ledger.2-of-2.jsonl")
    Ledger(paths[1]).write(CALL)
    assert followed.spent() == Spending(120, 1.5)


def test_a_line_is_counted_once_it_is_whole(tmp_path):
    path = tmp_path / "ledger.jsonl"
    text = json.dumps(vars(CALL))
    path.write_text(text[:20])
    followed = Followed(lambda: [path])
    assert followed.spent() == Spending()
    path.write_text(text + "\n" + text[:-1])
    assert followed.spent() == Spending(40, 0.5)


def test_cached_calls_and_lines_that_a_kill_cut_cost_nothing(tmp_path):
    path = Path(tmp_path / "ledger.jsonl")
    cached = json.dumps({**vars(CALL), "cached": True})
    path.write_text(f'{cached}\n{{"stage": "gen\n{json.dumps(vars(CALL))}\n')
    assert Followed(lambda: [path]).spent() == Spending(40, 0.5)


def test_a_budget_stops_at_what_is_spent_elsewhere():
    elsewhere = [Spending(0)]
    budget = Budget(tokens=100, spent=Spending(20), elsewhere=lambda: elsewhere[0])
    budget.reserve(Spending(50))
    budget.settle(Spending(50), Spending(40))
    elsewhere[0] = Spending(30)
    with pytest.raises(RunStopped, match="90 are spent and the next call may take 11"):
        budget.reserve(Spending(11))
    budget.reserve(Spending(10))
