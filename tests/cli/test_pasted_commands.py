"""The commands that a table prints, run in their order until it has its figures."""

import json
import re
from pathlib import Path

import pytest
from published_sets import written
from toy_runs import WEIGHTLESS, command

from graphrag_bench.papers import printed as papers
from graphrag_bench.papers.choices import table_runs
from graphrag_bench.tables.paper_tables import whole_groups

pytestmark = pytest.mark.slow

CORPUS = [
    {"context": "Ada Marsh built the Norvik Observatory. Mira Holt was taught by Ada Marsh."},
    {"context": "The Norvik Observatory stands in Tarn. Tarn lies on the Grey Sea."},
]
MODELS = {
    "questions": ["llm@llm_build=scripted", "llm_build._target_=cli.test_questions.lister",
                  "n=2"],
    "run": [*WEIGHTLESS, "fidelity=default"],
    "judge": ["llm@llm_judge=scripted", "embedder=hashing"],
}  # fmt: skip
"""What stands in for the models that a paper names."""
NAMED = re.compile(r"(n|llm@llm_build|llm_build\.model|llm@llm_judge|embedder)=")


def printed(table: str) -> list[list[str]]:
    """The words of the commands that the notes of a table print."""
    lines = command("table", table).out.splitlines()
    return [line.split()[2:] for line in lines if line.startswith("next: ")]


def paste(words: list[str]) -> str:
    """Run a command with models that need no weights; return what it prints."""
    rest = [word for word in words if not NAMED.match(word)]
    judge = "strict" if "--each" in words else "takes_longer"
    more = [f"llm_judge._target_=planted_judges.{judge}"] if words[0] == "judge" else []
    ended = command(*rest, *MODELS[rest[0]], *more)
    assert ended.code == 0, ended.err
    return ended.out


def test_a_table_of_win_rates_is_filled_by_the_commands_that_it_prints(
    home: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    whole = papers._cells

    def some(file: Path) -> list[papers.PrintedCell]:
        cells = [cell for cell in whole(file) if cell.dataset == "Mix"]
        return [cell for cell in cells if "reasoning path" in (cell.method, cell.versus)]

    monkeypatch.setattr(papers, "_cells", some)
    table_runs.cache_clear()
    request.addfinalizer(table_runs.cache_clear)
    written(home / "data/ultradomain_mix", {"corpus.jsonl": CORPUS, "questions.json": []})
    questions, runs = printed("pathcorag/table3")
    assert questions[0] == "questions" and runs == ["run", "experiment=pathcorag/table3"]
    paste(questions)
    assert "next: graphrag-bench table pathcorag/table3" in paste(runs).splitlines()
    (judge,) = printed("pathcorag/table3")
    keys = sorted(path.parent.name for path in home.glob("runs/*/*/*/metrics.json"))
    assert judge[:4] == ["judge", *keys, "--criteria"]
    paste(judge)
    assert printed("pathcorag/table3") == []
    (verdicts,) = home.glob("comparisons/*/verdicts.jsonl")
    rows = [json.loads(line) for line in verdicts.read_text().splitlines()]
    assert {row["protocol"] for row in rows} == {"paper"}  # both runs are as published


def test_pairs_that_are_not_all_of_a_group_are_judged_one_by_one() -> None:
    star, whole = [("a", "b"), ("a", "c")], [("a", "b"), ("a", "c"), ("b", "c")]
    assert whole_groups(star) == star and whole_groups(whole) == [("a", "b", "c")]
