"""Every method has a page, says how far it is verified, shows its fallbacks and is removable."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from toy_runs import TOY, command, metrics, plan_of, records, run_folder, table_of, write_set

from graphrag_bench.config.compose import compose_settings
from graphrag_bench.config.sources import method_file, names
from graphrag_bench.errors import UserError
from graphrag_bench.explain.ablation import step_places
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.method import check_parameters
from graphrag_bench.run.plan import method_files

ROOT = Path(__file__).resolve().parents[1]
METHODS = names("method")
PARAMETERS = {
    "name": "mine", "base": 3, "middle": "${method.base}", "top_k": "${method.middle}",
    "sizes": {"small": "${method.half}"}, "half": 2, "near": [], "far": 5,
    "retrieve": [{"op": "chunk.bm25", "top_k": "${method.top_k}", "a": "${method[near]}"}],
    "generate": [{"switch": "x", "cases": {"y": ["${method.sizes.small}-${.....far}"]}}],
}  # fmt: skip


def test_a_parameter_is_read_directly_or_through_another() -> None:
    check_parameters(PARAMETERS, PARAMETERS)
    unread = {**PARAMETERS, "loop": "${method.other}", "other": "${method.loop} ${method.base}"}
    with pytest.raises(UserError) as error:
        check_parameters(unread, unread)
    assert [name for name in unread if f"'method.{name}'" in str(error.value)] == ["loop", "other"]


def test_every_method_has_a_page_that_agrees_on_verified() -> None:
    marks: dict[str, set[str]] = {}
    for name in METHODS:
        mark = str(method_file(name).get("verified", "")).lower()
        marks.setdefault(method_file(name).get("page", name), set()).add(mark)
    for page, every in marks.items():
        text = (ROOT / "methods" / page / "README.md").read_text(encoding="utf-8")
        assert {"", *re.findall(r"`verified: (\w+)`", text)} == {"", *every}, page
        assert len(text.split()) >= 20, page


def test_linking_is_a_setting_and_every_fallback_retrieval_has_a_note() -> None:
    linking = {name for name in METHODS if "linking" in method_file(name)}
    assert linking == {n for n in METHODS if re.search(r"node\.link|'linker'", str(method_file(n)))}
    assert {"dalk", "fastgraphrag", "hipporag", "linearrag", "tog"} <= linking
    lacking = []
    for name in METHODS:
        for step in (place.step for place in step_places(method_file(name))):
            empty = (step.get("cases") or {}).get("empty") or []
            other = {str(one.get("op")) for one in empty} & {"chunk.vdb", "node.vdb"}
            lacking += [name] * bool(other and "empty" not in (step.get("fallback") or {}))
    assert not lacking


def test_the_files_of_a_method_in_reading_order() -> None:
    settings = ["method=vgraphrag", "dataset=toy", "llm=scripted", "embedder=hashing"]
    names = [
        path.relative_to(ROOT).as_posix()
        for path in method_files(Experiment.prepare(compose_settings(settings), swept=True))
    ]
    assert names[:2] == ["configs/method/vgraphrag.yaml", "methods/msgraphrag/README.md"]
    assert names[-1] == "methods/msgraphrag/prompts/local_answer.j2"
    assert names.index("graphrag_bench/graphs/text_graph.py") < names.index("operators/search.py")


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


REMOVED = ("hoprag", "linearrag", "pathcorag", "pathrag", "tog")
"""Methods with builders and operators of their own."""
SCRIPT = """
import json, sys
from toy_runs import TOY, command

words = [*TOY, "answer=off", "reference_rows=off", "limit=1"]
ran = command("run", "-m", *words, "method=bm25,raptor_kmeans")
listed = command("list", "methods")
# a method, a paper's row and a study that need a removed method
refused = [command("run", *words, word) for word in (
    "method=tog", "row=pathcorag.table2.PathCoRAG", "experiment=edge_sparsity"
)]
json.dump(
    [ran.code, ran.methods, ran.out + ran.err + listed.out,
     [(one.code, one.err) for one in refused]], sys.stdout,
)
"""


@pytest.mark.slow
def test_without_folder_and_file_of_five_methods_the_others_run_and_name_none(tmp_path):
    for folder in ("graphrag_bench", "operators", "methods", "configs", "datasets"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for name in REMOVED:
        shutil.rmtree(tmp_path / "methods" / name)
        for file in (tmp_path / "configs" / "method").glob(f"{name}*.yaml"):
            file.unlink()
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT / 'tests'}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    *ran, printed, refused = json.loads(done.stdout)
    assert ran == [0, ["bm25", "raptor_kmeans"]]
    assert not any(name in printed for name in REMOVED)
    for code, message in refused:
        assert code == 2 and "Traceback" not in message
        assert any(f"'{name}'" in message for name in REMOVED), message
