"""The rows of every table: closed-book, BM25, VanillaRAG and the oracle, each once in a sweep."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_runs import TOY, asked, command, ran, refused, write_set

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    asked.clear()
    return tmp_path


def titles(folder: Path) -> list[str]:
    """The first cells of the rows of the main table, in order."""
    main = (folder / "table.md").read_text().partition("\n\n**")[0]
    return [row.split(" | ")[0].removeprefix("| ") for row in main.splitlines()[4:] if " | " in row]


def test_every_table_has_the_floor_the_baselines_and_the_ceiling() -> None:
    ended = ran(*TOY, "method=hipporag", "limit=2")
    assert ended.methods == ["hipporag", "zeroshot", "bm25", "vanilla", "oracle"]
    rows = ["closed-book", "BM25", "VanillaRAG", "HippoRAG", "oracle"]
    assert titles(ended.folder) == rows


def test_each_of_them_runs_once_in_a_sweep() -> None:
    ended = ran("-m", *TOY, "limit=2", "method=vanilla,hipporag,raptor")
    assert sorted(ended.methods) == sorted(
        ["vanilla", "zeroshot", "bm25", "oracle", "hipporag", "raptor"]
    )
    assert len(asked) == len(set(asked))


def test_without_answers_the_baselines_cost_nothing_and_stand_there() -> None:
    ended = ran(*TOY, "method=hipporag", "answer=off", "limit=2")
    assert titles(ended.folder) == ["BM25", "VanillaRAG", "HippoRAG"]
    assert asked == []


def test_a_baseline_keeps_its_own_settings_beside_a_changed_one() -> None:
    ended = ran(*TOY, "method=vanilla", "method.top_k=1", "limit=2")
    assert ended.methods == ["vanilla", "zeroshot", "bm25", "vanilla", "oracle"]
    assert "VanillaRAG top_k=1" in titles(ended.folder)
    assert "VanillaRAG top_k=4" in titles(ended.folder)


def test_a_set_without_evidence_has_no_ceiling(home: Path) -> None:
    corpus = [{"id": "d", "title": "T", "text": "Ada Marsh made it."}]
    questions = [{"id": "q", "text": "Who made it?", "answers": ["Ada Marsh"], "evidence": []}]
    write_set(home / "mine", corpus, questions)
    rest = [word for word in TOY if word != "dataset=toy"]
    ended = ran("dataset=jsonl", "dataset.root=mine", *rest, "method=hipporag")
    assert ended.methods == ["hipporag", "zeroshot", "bm25", "vanilla"]


def test_a_baseline_that_is_no_method_is_refused_before_anything_runs() -> None:
    said = refused(*TOY, "method=hipporag", "evaluation.baseline=vanila")
    assert "'vanila'" in said
    assert "vanilla" in said.partition("Did you mean")[2]
    assert asked == []


def shown(*words: str) -> str:
    """What a command prints, in small letters, but for the lines with folders."""
    ended = command(*words)
    assert ended.code == 0, ended.err
    lines = [one for one in ended.out.splitlines() if not one.startswith(("run: ", "sweep: "))]
    return "\n".join(lines).lower()


@pytest.mark.parametrize("methods", ["hipporag,bm25", "oracle,zeroshot,graphrag_cc"])
def test_with_answer_off_nothing_speaks_of_answers(methods: str) -> None:
    words = ["-m", *TOY, f"method={methods}", "answer=off", "reader_prompt=common"]
    for name, columns in (("plan", ()), ("run", ()), ("run", ("columns=all",))):
        said = shown(name, *words, *columns)
        assert "answer" not in said and "reader" not in said, said
    assert "shares of questions with all evidence found" in shown("plan", *words)
    assert "and a longer one finds more: bm25 does not fill" in shown("run", *words, "columns=all")
