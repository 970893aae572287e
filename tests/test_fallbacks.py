"""Fallbacks of methods are visible in answers, records and tables."""

import pytest
from toy_runs import TOY, command, metrics, plan_of, records, run_folder, table_of, write_set

from graphrag_bench.config.sources import method_file, names
from graphrag_bench.explain.ablation import step_places

DENSE = "no entity in the question: dense retrieval"
CORPUS = [{"id": "a", "text": "Ada Marsh founded Norvik."}, {"id": "b", "text": "Otto came."}]
QUESTIONS = [
    {"id": "named", "text": "Who founded Norvik?", "answers": ["Ada Marsh"], "evidence": ["a"]},
    {"id": "bare", "text": "who founded it?", "answers": ["Ada Marsh"], "evidence": ["a"]},
]


@pytest.mark.parametrize("method", ["hipporag", "linearrag"])
def test_a_question_without_entities_falls_back_visibly(method, tmp_path):
    folder = write_set(tmp_path / "set", CORPUS, QUESTIONS)
    words = [*TOY, "dataset=jsonl", f"dataset.root={folder}", f"method={method}",
             f"paths.home={tmp_path}"]  # fmt: skip
    folder = run_folder(*words)
    fallbacks = {row["question"]: row.get("fallbacks") for row in records(folder)}
    assert fallbacks == {"named": None, "bare": [DENSE]}
    run = metrics(folder)
    assert (run["fell_back"], run["fallbacks"]) == (1, {DENSE: 1})
    table = table_of(folder)
    assert "fallback questions" in table
    assert f"{run['title']} fell back for 1 of 2 questions: {DENSE}" in table
    outputs = [command("ask", *words, text).out for text in ("Who founded Norvik?", "who was it?")]
    assert ["fallback" in output for output in outputs] == [False, True]
    assert f"fallback: {DENSE}" in outputs[1].splitlines()
    assert f"  fallback: {DENSE}\n" in plan_of(*words)


def test_every_fallback_retrieval_has_a_note():
    lacking = []
    for name in names("method"):
        for step in (place.step for place in step_places(method_file(name))):
            empty = (step.get("cases") or {}).get("empty") or []
            other = {str(one.get("op")) for one in empty} & {"chunk.vdb", "node.vdb"}
            lacking += [name] * bool(other and "empty" not in (step.get("fallback") or {}))
    assert not lacking
