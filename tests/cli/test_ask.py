import json
import re
import shutil
from functools import partial
from pathlib import Path

from toy_runs import TOY, output, reader_prompts, run_folder, write_set

from graphrag_bench.embedding.embedder import Hashing
from graphrag_bench.explain.text import row_text

QUESTION = "Who taught the maker of the telescope of the Norvik Observatory?"
shown = partial(output, "show")


def test_ask_answers_with_several_methods_and_pays_once():
    settings = [*TOY, "method=bm25,hipporag", QUESTION]
    out = output("ask", *settings)
    assert re.findall("(?m)^==.*", out) == ["== BM25 ==", "== HippoRAG =="]
    n_paid = len(reader_prompts)
    whole = output("ask", "--details", *settings)
    assert "norvik observatory —occurs with→ mount tarn" in whole and "retrieve.0" not in out
    assert "  1 LLM call, " in whole
    one, two = json.loads(output("ask", "--json", *settings))
    assert len(reader_prompts) == n_paid
    assert (one["method"], two["method"], two["answer"]) == ("bm25", "hipporag", "Ada Marsh")
    step = next(s for s in two["steps"] if "node.link" in s["step"])
    (node,) = step["wrote"]["nodes"]
    assert (node["name"], node["score"]) == ("norvik observatory", 1.0)
    assert {"kind", "id", "score", "tokens", "text"} <= set(two["context"][0])


def test_show_says_that_a_question_is_no_longer_in_the_data_set():
    corpus = [{"id": "a", "text": "Una rows."}]
    questions = [{"id": name, "text": f"Who {name}?", "evidence": ["a"]} for name in ("x", "y")]
    words = ["dataset=jsonl", "dataset.root=mine", *TOY[1:], "method=bm25", "answer=off"]
    write_set(Path("mine"), corpus, questions)
    folder = run_folder(*words)
    write_set(Path("mine"), corpus, questions[:1])
    assert "x  Who x?  -> " in shown(folder) and "y  (no longer in the data set)" in shown(folder)
    assert shown(folder, "y").startswith("(no longer in the data set)\n")


def test_arrows_of_a_path_follow_its_relationships():
    hops = [{"head": "a", "relation": "knows", "tail": "b"},
            {"head": "c", "relation": "made", "tail": "b"}]  # fmt: skip
    nodes = [{"id": row, "name": name} for row, name in enumerate("abc")]
    back = {"nodes": nodes, "relationships": hops, "score": 0.5}
    assert row_text(back) == "0.500  a —knows→ b ←made— c"


def test_show_prints_a_question_with_gold_and_calls_and_a_run_with_its_questions(home, monkeypatch):
    folder = run_folder(*TOY, "method=hipporag")
    reader_prompts.clear()
    monkeypatch.delattr(Hashing, "encode")  # show must not embed
    whole = shown(folder, "q1")
    lines = whole.splitlines()
    assert "gold answers: Ada Marsh" in lines
    assert "norvik observatory —occurs with→ mount tarn" in whole
    ranks = lines[lines.index("gold passage ada") + 1 :]
    assert ranks[-1].split() == ["generate.0", "context.chunks", "context:", "2", "of", "8"]
    assert shown(folder, "Who founded") == whole
    answer = json.loads(shown(folder, "q1", "--json"))
    assert answer["gold"]["evidence"] == ["ada"]
    prompt = answer["calls"][-1]["prompt"][-1]["content"]
    assert answer["question"] in prompt and answer["calls"][-1]["reply"] == answer["answer"]
    assert prompt.splitlines()[-1] in shown(folder, "q1", "--calls")
    assert "q6" in shown(folder)
    (of_run,) = json.loads(shown(folder, "--json"))
    assert [one["id"] for one in of_run["questions"]] == [f"q{n}" for n in range(1, 7)]
    assert of_run["stages"][0]["stage"] == "corpus"
    assert reader_prompts == []
    shutil.rmtree(home / "artifacts")
    (home / "cache" / "replies.sqlite").unlink()
    assert "row " in shown(folder, "q1")
    assert prompt.splitlines()[-1] not in shown(folder, "q1", "--calls").splitlines()
