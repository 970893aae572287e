"""A method's file is data: it runs nothing, sets nothing but the method, and ends in a second."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from toy_runs import TOY, command, ran, refused

from graphrag_bench.config import compose as groups
from graphrag_bench.errors import UserError
from graphrag_bench.locations import project_folder
from graphrag_bench.plain_yaml import read_yaml

pytestmark = pytest.mark.slow

NINE = ", ".join(["*x{}"] * 9)
BOMB = "x0: &x0 [0, 0, 0, 0, 0, 0, 0, 0, 0]\n" + "".join(
    f"x{n}: &x{n} [{NINE.format(*[n - 1] * 9)}]\n" for n in range(1, 12)
)
MERGES = "x0: &x0 {a: 0}\n" + "".join(
    f"x{n}: &x{n}\n  <<: [{NINE.format(*[n - 1] * 9)}]\n" for n in range(1, 12)
)
RUNS = "_target_: subprocess.getoutput, cmd: touch ran"
HOSTILE = {
    "another group": f"# @package _global_\nllm: {{{RUNS}}}\n",
    "the embedder": f"# @package _global_\nembedder: {{{RUNS}}}\n",
    "a callback of Hydra": f"# @package _global_\nhydra: {{callbacks: {{x: {{{RUNS}}}}}}}\n",
    "elsewhere, no code": "# @package _global_\nlimit: 1\n",
    "its own key": f"top_k: {{{RUNS}}}\n",
    "a step": f"retrieve:\n  - {{op: chunk.vdb, {RUNS}}}\n",
    "a base of Hydra": "defaults:\n  - override /hydra/launcher: joblib\n  - _self_\n",
    "an interpolation": "top_k: ${oc.env:HOME}\n",
    "a tag": "top_k: !!python/object/apply:os.system ['touch ran']\n",
    "a bomb of aliases": BOMB,
    "a bomb of merges": MERGES,
    "itself": "defaults: [evil, _self_]\n",
    "a deep list": "top_k: " + "[" * 3000 + "]" * 3000 + "\n",
    "a half-written line": "retrieve: [{op: chunk.vdb\n",
    "a long number": "top_k: " + "9" * 6000 + "\n",
    "a date that is none": "top_k: 2024-99-99\n",
}


@pytest.fixture(autouse=True)
def configs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `configs` folder of the user's own, in the working folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs" / "method").mkdir(parents=True)
    return tmp_path / "configs"


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_method_runs_nothing_and_is_refused_in_a_second(configs: Path, name: str) -> None:
    text = HOSTILE[name]
    vanilla = (project_folder("configs") / "method" / "vanilla.yaml").read_text()
    base = vanilla if name != "itself" else "name: evil\n"
    (configs / "method" / "evil.yaml").write_text(f"{text}\n{base.replace('vanilla', 'evil')}")
    for words in (["run"], ["run", "-m", "method.top_k=1,2"], ["plan"]):
        began = time.process_time()
        said = refused(*words[1:], *TOY, "method=evil", "reference_rows=off", name=words[0])
        assert time.process_time() - began < 4, name
        assert "evil" in said and len(said) < 2000
    assert not Path("ran").exists() and not list(Path("runs").glob("*/*/*"))
    assert ran(*TOY, "method=bm25", "answer=off", "reference_rows=off", "limit=1").code == 0


def test_python_reads_the_same_files(configs: Path) -> None:
    (configs / "method" / "evil.yaml").write_text(f"name: evil\ntop_k: {{{RUNS}}}\n")
    with pytest.raises(UserError, match="'_target_' names code to import"):
        groups.method_file("evil")


def test_a_model_file_may_name_its_class_and_a_study_may_set_all() -> None:
    assert groups.load("llm", "scripted")["_target_"].endswith("Scripted")
    assert command("plan", *TOY, "experiment=retrieval_only", "method=bm25").code == 0


def test_aliases_of_honest_files_are_read() -> None:
    assert read_yaml("a: &x {b: 1}\nc: *x\nd:\n  <<: *x\n", "f") == {
        "a": {"b": 1}, "c": {"b": 1}, "d": {"b": 1}
    }  # fmt: skip
    began = time.process_time()
    for bomb in (BOMB, MERGES, "&a [*a]"):
        if bomb == "&a [*a]":
            read_yaml(bomb, "f")
        else:
            with pytest.raises(
                UserError, match="f: its aliases expand to more than 100,000 values"
            ):
                read_yaml(bomb, "f")
    assert time.process_time() - began < 1
