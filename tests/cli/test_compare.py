"""`graphrag-bench compare`: verdicts in both orders, kept; sheets for people, read back."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import planted_judges
import pytest
from toy_runs import TOY, command, ran, refused

from graphrag_bench.report.figures.grid import Grid, plot_wins

FIRST = ["llm_judge=scripted", "llm_judge._target_=planted_judges.takes_first"]
LONGER = ["llm_judge=scripted", "llm_judge._target_=planted_judges.takes_longer"]
WORDY = ["llm._target_=planted_judges.wordy"]


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    for held in ("asked", "prose_on", "fails_on", "stops_on"):
        getattr(planted_judges, held).clear()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """VanillaRAG with short answers, BM25 with long ones, and HippoRAG with short ones."""
    home = f"paths.home={tmp_path_factory.mktemp('runs')}"
    settings = [*TOY, "reference_rows=off", home]
    return [
        str(ran(*settings, "method=vanilla").folder),
        str(ran(*settings, *WORDY, "method=bm25").folder),
        str(ran(*settings, "method=hipporag").folder),
    ]


def folder(out: str) -> Path:
    return Path(next(line for line in out.splitlines() if line.startswith("comparison: "))[12:])


def compared(*arguments: str) -> str:
    ended = command("compare", *arguments)
    assert ended.code == 0, ended.err
    return ended.out


def cells(out: str, *begin: str) -> list[str]:
    """The cells of the first row of a table that begins with these."""
    rows = [[c.strip() for c in line.strip("│").split("│")] for line in out.splitlines()]
    return next(row for row in rows if row[: len(begin)] == list(begin))


def test_a_judge_that_always_takes_the_first_flips_every_time(runs: list[str]) -> None:
    out = compared(*runs[:2], *FIRST)
    row = cells(out, "VanillaRAG", "BM25", "overall")
    assert row[3:8] == ["6", "0", "0", "6", "0"]
    assert row[8].startswith("50.0")
    audit = cells(out[out.index("weight of place") :], "VanillaRAG", "BM25", "overall")
    assert [cell[:5] for cell in audit[3:5]] == ["100.0", "100.0"]


def test_a_judge_that_takes_the_longer_is_exposed_by_its_length_effect(runs: list[str]) -> None:
    out = compared(*runs[:2], *LONGER)
    row = cells(out, "VanillaRAG", "BM25", "diversity")
    assert row[5:8] == ["0", "0", "6"] and row[9] == "0.0625"  # 4 criteria, 1/64 each
    assert "Holm-corrected for the 4 tests of this table" in out
    audit = cells(out[out.index("weight of place") :], "VanillaRAG", "BM25", "overall")
    assert audit[3].startswith("0.0") and audit[5] == "100.0 [100, 100]"


def test_verdicts_are_kept_and_nothing_is_asked_twice(runs: list[str]) -> None:
    out = compared(*runs[:2], *LONGER, "--criteria", "pankrag", "--limit", "2", "cache.mode=off")
    assert len(planted_judges.asked) == 4
    held = folder(out) / "verdicts.jsonl"
    before = held.read_bytes()
    again = compared(*runs[:2], *LONGER, "--criteria", "pankrag", "--limit", "2", "cache.mode=off")
    assert len(planted_judges.asked) == 4 and again == out
    assert held.read_bytes() == before
    rows = [json.loads(line) for line in before.decode().splitlines()]
    assert len(rows) == 4 * 6
    long = Path(runs[1]).name
    assert {row["winner"] for row in rows} == {long}
    assert {row["first"] for row in rows} == {Path(run).name for run in runs[:2]}


def test_a_reply_in_prose_is_missing_and_in_no_rate(runs: list[str]) -> None:
    planted_judges.prose_on.add("Into which sea")
    out = compared(*runs[:2], *LONGER, "cache.mode=off", "--criteria", "overall")
    assert cells(out, "VanillaRAG", "BM25", "overall")[3:8] == ["5", "1", "0", "0", "5"]
    planted_judges.prose_on.clear()
    more = ("cache.mode=off", "--criteria", "overall", "--retry")
    assert cells(compared(*runs[:2], *LONGER, *more), "VanillaRAG", "BM25")[3:5] == ["6", "0"]


def test_a_command_that_was_stopped_goes_on_with_what_is_missing(runs: list[str]) -> None:
    more = (*LONGER, "--criteria", "coherence")
    planted_judges.stops_on.add("Did Mira Holt")
    assert "told to stop" in refused(*runs[:2], *more, name="compare", code=1)
    before = len(planted_judges.asked)
    planted_judges.stops_on.clear()
    assert cells(compared(*runs[:2], *more), "VanillaRAG", "BM25", "coherence")[3:5] == ["6", "0"]
    assert 0 < before < 12 and len(planted_judges.asked) == 12


def test_the_calls_are_known_before_they_are_made(runs: list[str]) -> None:
    more = (*LONGER, "--criteria", "relevance", "--limit", "2", "cache.mode=off")
    assert compared(*runs, *more, "--plan").startswith("at most 12 calls, ")
    assert planted_judges.asked == []
    compared(*runs, *more)
    assert len(planted_judges.asked) == 12
    assert compared(*runs, *more, "--plan").startswith("at most 0 calls, 0 prompt tokens")


def test_three_runs_make_a_matrix_whose_mirrored_cells_sum_to_a_hundred(runs: list[str]) -> None:
    out = compared(*runs, *LONGER, "--criteria", "overall")
    after = out[out.index("overall: win rates") :]
    assert cells(after, "VanillaRAG")[1:3] == ["50.0", "0.0"]
    assert cells(after, "BM25")[1:] == ["100.0", "50.0", "100.0"]


def test_the_win_matrices_are_a_figure_with_the_numbers_of_the_tables(
    runs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Grid] = []

    def keeping(path: Path, grids: Sequence[Grid], *, span: int) -> None:
        drawn.extend(grids)
        plot_wins(path, grids, span=span)

    monkeypatch.setattr("graphrag_bench.cli.compare.plot_wins", keeping)
    path = tmp_path / "wins.pdf"
    out = compared(*runs, *LONGER, "--plot", str(path), "--span", "2")
    assert f"plot: {path}" in out
    assert path.read_bytes().startswith(b"%PDF")
    assert len(drawn) == 4
    for grid in drawn:
        after = out[out.index(f"{grid.title.partition(':')[0]}: win rates") :]
        for name, values in zip(grid.rows, grid.values, strict=True):
            assert cells(after, name)[1:] == [f"{value:.1f}" for value in values]
    assert "does not go with --plan" in refused(
        *runs, *LONGER, "--plot", str(path), "--plan", name="compare"
    )


def filled(sheet: Path, name: str, choose: str) -> Path:
    """The sheet as a person fills it in who always finds the answer of that length better."""
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        longer = "1" if len(row["answer 1"]) > len(row["answer 2"]) else "2"
        shorter = {"1": "2", "2": "1"}[longer]
        row["overall"] = {"longer": longer, "shorter": shorter, "tie": "Tie"}[choose]
    path = sheet.with_name(f"{name}.csv")
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=";")
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_the_sheet_names_no_method_and_is_guarded_against_formulas(
    runs: list[str], tmp_path: Path
) -> None:
    sheet = tmp_path / "blind.csv"
    compared(*runs[:2], "--sheet", str(sheet), "--criteria", "overall")
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6
    answers = [cell for row in rows for cell in (row["answer 1"], row["answer 2"])]
    assert sum(text.startswith("'=Ada") for text in answers) == 6
    assert not any(text.startswith("=") for text in answers)
    assert len({row["answer 1"].startswith("'=") for row in rows}) == 2
    text = sheet.read_text(encoding="utf-8-sig")
    assert "BM25" not in text and Path(runs[0]).name not in text
    assert "BM25" in (tmp_path / "blind.key.csv").read_text()
    before = sheet.read_bytes()
    compared(*runs[:2], "--sheet", str(sheet), "--criteria", "overall")
    assert sheet.read_bytes() == before


def test_people_are_read_back_with_kappa_to_each_other_and_to_the_judge(
    runs: list[str], tmp_path: Path
) -> None:
    sheet = tmp_path / "blind.csv"
    only = ("--criteria", "overall")
    compared(*runs[:2], "--sheet", str(sheet), *only)
    people = [filled(sheet, "ada", "longer"), filled(sheet, "bo", "shorter")]
    read = [word for path in people for word in ("--read", str(path))]
    out = compared(*runs[:2], *read, "--key", str(tmp_path / "blind.key.csv"), *LONGER, *only)
    assert cells(out, "ada", "VanillaRAG", "BM25", "overall")[4:] == [
        "6",
        "0",
        "0",
        "6",
        "0.0 [0, 0]",
    ]
    assert cells(out, "bo", "VanillaRAG", "BM25", "overall")[4:] == [
        "6",
        "6",
        "0",
        "0",
        "100.0 [100, 100]",
    ]
    assert cells(out, "ada", "bo", "overall")[3:5] == ["6", "0%"]
    assert cells(out, "ada", "judge", "overall")[3:5] == ["6", "100%"]


def test_what_cannot_be_compared_is_told(runs: list[str], tmp_path: Path) -> None:
    assert "two runs" in refused(runs[0], *FIRST, name="compare")
    assert "No judge is named" in refused(*runs[:2], name="compare")
    said = refused(*runs[:2], "--criteria", "diverstiy", *FIRST, name="compare")
    assert "diversity" in said
    sheet = tmp_path / "blind.csv"
    compared(*runs[:2], "--sheet", str(sheet), "--criteria", "overall")
    person = filled(sheet, "ada", "tie")
    assert "--key" in refused(*runs[:2], "--read", str(person), "--criteria", "overall",
                              name="compare")  # fmt: skip
    text = person.read_text().replace("Tie", "maybe")
    person.write_text(text)
    (tmp_path / "ada.key.csv").write_bytes((tmp_path / "blind.key.csv").read_bytes())
    said = refused(*runs[:2], "--read", str(person), "--criteria", "overall", name="compare")
    assert "'maybe' is none of 1, 2 and tie" in said
