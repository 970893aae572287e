"""`ask` and `show`: why a question was answered so, by names; asked again nothing is paid for."""

import json
import re
import shutil
from pathlib import Path

import pytest
from toy_runs import TOY, asked, command, run_folder

from graphrag_bench.config.compose import composed
from graphrag_bench.data.readers import read_dataset
from graphrag_bench.embedding.embedder import Hashing
from graphrag_bench.explain.question import Answered
from graphrag_bench.explain.text import words
from graphrag_bench.run.experiment import Experiment

QUESTION = "Who taught the maker of the telescope of the Norvik Observatory?"
HIPPORAG = [*TOY, "method=hipporag"]


def answered(*words: str) -> str:
    """What `ask` prints of a question, the last word, by one method."""
    return Answered.of(Experiment.prepare(composed(words[:-1])), words[-1]).report()


def lines_of(folder: Path, *words: str) -> list[str]:
    """The lines that `show` prints of a run, or of a question of it."""
    ended = command("show", str(folder), *words)
    assert ended.code == 0, ended.err
    return ended.out.splitlines()


def test_ask_shows_names_relations_and_scores_and_pays_once() -> None:
    asked.clear()
    out = answered(*HIPPORAG, QUESTION)
    for shown in ("norvik observatory —occurs with→ mount tarn", "1.000  norvik observatory"):
        assert shown in out
    assert '"ids"' not in out and out.splitlines()[0] == "Ada Marsh"
    seconds = re.compile(r"  [\d.]+ s")
    assert seconds.sub("", answered(*HIPPORAG, QUESTION)) == seconds.sub("", out)
    assert len(asked) == 1


def test_a_path_is_shown_whole_with_the_direction_of_its_relations() -> None:
    hops = [{"head": "a", "relation": "knows", "tail": "b"},
            {"head": "c", "relation": "made", "tail": "b"}]  # fmt: skip
    nodes = [{"id": row, "name": name} for row, name in enumerate("abc")]
    back = {"nodes": nodes, "relationships": hops, "score": 0.5}
    assert words(back) == "0.500  a —knows→ b ←made— c"


def test_several_methods_answer_one_question_and_json_has_every_row() -> None:
    settings = [*TOY, "method=bm25,hipporag", QUESTION]
    out = command("ask", *settings).out
    assert re.findall("(?m)^==.*", out) == ["== BM25 ==", "== HippoRAG =="]
    assert "retrieve.0" not in out
    assert "retrieve.0" in command("ask", "--details", *settings).out
    one, two = json.loads(command("ask", "--json", *settings).out)
    assert (one["method"], two["method"], two["answer"]) == ("bm25", "hipporag", "Ada Marsh")
    step = next(s for s in two["steps"] if "node.link" in s["step"])
    (node,) = step["wrote"]["nodes"]
    assert (node["name"], node["score"]) == ("norvik observatory", 1.0)
    assert {"kind", "id", "score", "tokens", "text"} <= set(two["context"][0])


def test_show_has_a_stored_question_with_its_gold_and_a_run_with_its_questions(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = run_folder(*HIPPORAG, "reference_rows=off")
    asked.clear()
    monkeypatch.delattr(Hashing, "encode")  # nothing may be embedded
    lines = lines_of(folder, "q1")
    whole = "\n".join(lines)
    assert lines[0] == "Who founded the Norvik Observatory?"
    assert "gold answers: Ada Marsh" in lines
    assert "norvik observatory —occurs with→ mount tarn" in whole
    text = next(one for one in read_dataset("toy").documents if one.id == "ada").passage
    assert "\n".join(f"    {line}" for line in text.splitlines()) in whole
    ranks = lines[lines.index("gold passage ada") + 1 :]
    assert ranks[-1].split() == ["generate.0", "context.chunks", "context:", "2", "of", "8"]
    assert lines_of(folder, "Who founded") == lines
    assert json.loads("\n".join(lines_of(folder, "q1", "--json")))["gold"]["evidence"] == ["ada"]
    assert any("q6" in line for line in lines_of(folder))
    (of_run,) = json.loads("\n".join(lines_of(folder, "--json")))
    assert [one["id"] for one in of_run["questions"]] == [f"q{n}" for n in range(1, 7)]
    assert of_run["stages"][0]["stage"] == "corpus"
    assert asked == []
    shutil.rmtree(home / "artifacts")
    assert "row " in "\n".join(lines_of(folder, "q1"))


def test_show_has_each_call_as_it_was_sent(home: Path) -> None:
    folder = run_folder(*TOY, "method=vanilla", "reference_rows=off", "limit=1")
    (row,) = [json.loads(line) for line in (folder / "records.jsonl").open()]
    name = row["question"]
    answer = json.loads("\n".join(lines_of(folder, name, "--json")))
    (call,) = answer["calls"]
    prompt = call["prompt"][-1]["content"]
    assert answer["question"] in prompt and call["reply"].strip() == row["answer"]
    shown = {f"      {line}" for line in prompt.splitlines()}
    assert shown <= set(lines_of(folder, name, "--calls"))
    (home / "cache" / "replies.sqlite").unlink()
    assert not shown & set(lines_of(folder, name, "--calls")) - {"      "}
