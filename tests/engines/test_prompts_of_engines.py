"""Prompts of an installed engine through a map: read as plain text, filled in, never run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from toy_runs import TOY, ran

import graphrag_bench as gb
from graphrag_bench.cli.main import main
from graphrag_bench.config.compose import compose, load
from graphrag_bench.engines.prompts import (
    EnginePrompt,
    Original,
    Originals,
    read_originals,
    replaced,
)
from graphrag_bench.errors import UserError
from graphrag_bench.models.scripted import Scripted
from graphrag_bench.prompts import Message
from graphrag_bench.values import Question
from methods.generation import direct

ENGINE = '''\
"""An engine of our own, made for this test."""
import os
raise RuntimeError("nothing of this file is run")
PROMPTS: dict = {}
SYSTEM = "You find " + "keywords."
PROMPTS["ask"] = """Asked: {query}
Like {{"a": 1}} in {language}.
{examples}
"""
PROMPTS["examples"] = ["one", f"{SYSTEM}"]
PROMPTS["run"] = os.environ["HOME"]
LOOP = LOOP
chat = [
    {"role": "system", "content": SYSTEM},
    {"role": "user", "content": "Question: ${query} costs $$5"},
]
'''
VARIABLES = {
    "query": {"ours": "question"},
    "language": {"fixed": "English"},
    "examples": {"at": "PROMPTS[examples]", "between": " / "},
}


@pytest.fixture
def engines(tmp_path: Path) -> str:
    """A folder of environments with one engine in it."""
    folder = tmp_path / "toy-engine" / "lib" / "python3.11" / "site-packages" / "toy"
    folder.mkdir(parents=True)
    (folder / "prompt.py").write_text(ENGINE, encoding="utf-8")
    return str(tmp_path)


def prompt(engines: str, engine: str = "toy-engine", **held: object) -> EnginePrompt:
    given = {"file": "toy/prompt.py", "variables": VARIABLES, **held}
    if "chat" not in held and "messages" not in held:
        given["messages"] = [{"role": "user", "at": "PROMPTS[ask]"}]
    original = Original.model_validate(given)
    return EnginePrompt("methods:toy/ask.j2", None, original, engine, engines)


def test_named_variables_are_replaced_and_doubled_braces_made_single(engines: str) -> None:
    (message,) = prompt(engines).render({"question": "Who?"})
    wanted = 'Asked: Who?\nLike {"a": 1} in English.\none / You find keywords.\n'
    assert message == Message("user", wanted)
    template = 'Asked: {query}\nLike {{"a": 1}} in {language}.\n{examples}\n'
    values = {"query": "Who?", "language": "English", "examples": "one / You find keywords."}
    assert message.content == template.format(**values)  # as the engine itself does


def test_a_chat_with_dollars_is_read_whole(engines: str) -> None:
    found = prompt(
        engines, chat="chat", marks="dollar", variables={"query": {"ours": "question"}}
    ).render({"question": "Who ${query} {x}?"})
    assert found == (
        Message("system", "You find keywords."),
        Message("user", "Question: Who ${query} {x}? costs $5"),
    )


def test_a_value_is_never_read_as_a_template(engines: str) -> None:
    (message,) = prompt(engines).render({"question": "{language} {{ {examples.__class__}"})
    assert message.content.startswith("Asked: {language} {{ {examples.__class__}\nLike")


def test_pieces_are_joined_by_their_texts() -> None:
    class Piece:
        text = "told"

    variable = Original.model_validate(
        {"file": "x", "variables": {"c": {"ours": "pieces", "between": "|"}}}
    )
    made = EnginePrompt("n", None, variable)
    assert made._filled(variable.variables["c"], {"pieces": [Piece(), "b"]}) == "told|b"


def test_what_is_not_plain_text_is_refused_and_not_run(engines: str) -> None:
    wrong = prompt(engines, messages=[{"role": "user", "at": "PROMPTS[run]"}])
    with pytest.raises(UserError, match="line 11: this is not plain text, and is not run"):
        _ = wrong.text
    looped = prompt(engines, messages=[{"role": "user", "at": "LOOP"}])
    with pytest.raises(UserError, match="refers to itself"):
        _ = looped.text


def test_a_variable_that_the_map_does_not_name_is_another_version(engines: str) -> None:
    short = {"query": VARIABLES["query"], "language": VARIABLES["language"]}
    with pytest.raises(UserError, match="variable 'examples' is not in the map"):
        _ = prompt(engines, variables=short).variables
    with pytest.raises(UserError, match=r"has no 'PROMPTS\[aks\]'. Did you mean 'PROMPTS\[ask\]'"):
        _ = prompt(engines, messages=[{"role": "user", "at": "PROMPTS[aks]"}]).text


def test_an_engine_that_is_not_installed_is_named_with_what_to_do(engines: str) -> None:
    with pytest.raises(UserError, match="other is not installed in .*engines install other"):
        _ = prompt(engines, engine="other").text


def test_the_digest_changes_with_the_engine_s_text_and_with_the_map(engines: str) -> None:
    first, mapped = prompt(engines).digest, prompt(engines, variables={**VARIABLES, "query": {
        "fixed": "x"}}).digest  # fmt: skip
    file = prompt(engines).file
    file.write_text(ENGINE.replace("Asked", "asked"), encoding="utf-8")
    assert len({first, mapped, prompt(engines).digest}) == 3


def test_replacing_needs_a_value_for_every_name() -> None:
    with pytest.raises(UserError, match="asks for 'b'"):
        replaced("{a} {b}", {"a": "1"})


def test_a_wrong_map_says_where() -> None:
    with pytest.raises(UserError, match="There is no map of original prompts 'methods:lightrag/x"):
        read_originals("methods:lightrag/x.yaml")


@pytest.mark.parametrize("page", ["lightrag", "msgraphrag", "fastgraphrag", "hipporag2"])
def test_a_map_holds_names_and_no_text_of_an_engine(page: str) -> None:
    found = read_originals(f"methods:{page}/original.yaml")
    assert isinstance(found, Originals)
    assert found.licence == "MIT"
    own = [part.own for one in found.prompts.values() for part in one.messages if part.own]
    fixed = [v.fixed for one in found.prompts.values() for v in one.variables.values() if v.fixed]
    assert set(own) <= {"{query}"}
    assert all(len(text) < 30 for text in fixed)


LIGHTRAG = """\
PROMPTS = {}
PROMPTS["keywords_extraction"] = "Keywords of {query} as {examples} in {language}"
PROMPTS["keywords_extraction_examples"] = ["e"]
PROMPTS["rag_response"] = "Say {response_type} by {user_prompt}: {context_data}"
"""


@pytest.fixture
def lightrag(tmp_path: Path) -> str:
    """An engine with LightRAG's names and texts of our own."""
    folder = tmp_path / "lightrag-hku" / "lib" / "python3.11" / "site-packages" / "lightrag"
    folder.mkdir(parents=True)
    (folder / "prompt.py").write_text(LIGHTRAG, encoding="utf-8")
    return str(tmp_path)


WORDS = [*TOY, "method=llightrag", "reference_rows=off"]


def test_plan_names_the_prompts_and_the_run_key_depends_on_their_text(
    lightrag: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    words = [*WORDS, "prompts=original", f"paths.engines={lightrag}"]
    assert main(["plan", *words]) == 0
    first = capsys.readouterr().out
    assert "prompts: of lightrag-hku, as installed (prompts=original)" in first
    assert "answer.direct: lightrag/prompt.py, PROMPTS[rag_response]; " in first
    file = next(Path(lightrag).rglob("prompt.py"))
    file.write_text(LIGHTRAG.replace("Say", "Tell"), encoding="utf-8")
    assert main(["plan", *words]) == 0
    second = capsys.readouterr().out
    run = [line for line in first.splitlines() if line.startswith("run: ")]
    assert run and run[0] not in second


def test_the_model_is_asked_with_the_engine_s_prompt(
    lightrag: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    method = gb.method("llightrag", prompts="original", paths={"engines": lightrag})
    steps = method.experiment(gb.dataset("toy"), limit=1).method.pipeline.generate
    (prompt_of_step,) = [
        value
        for step in steps
        for op in step.operators()
        for value in op.settings.values()
        if isinstance(value, EnginePrompt)
    ]
    llm = Scripted(answer=lambda chat: " | ".join(message.content for message in chat))
    answered = direct(Question("q", "Who?"), llm=llm, prompt=prompt_of_step)
    assert answered.text == "Say Multiple Paragraphs by n/a:  | Who?"
    chat = prompt_of_step.render({"question": "Who?", "pieces": ["a", "b"]})
    assert chat[0].content == "Say Multiple Paragraphs by n/a: a\nb"
    assert chat[1] == Message("user", "Who?")
    done = ran(*WORDS, "prompts=original", f"paths.engines={lightrag}", "limit=1")
    metrics = json.loads((done.folder / "metrics.json").read_text(encoding="utf-8"))
    assert (metrics["settings"]["prompts"], metrics["answered"]) == ("original", 1)


def test_without_the_engine_there_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["plan", *WORDS, "prompts=original", f"paths.engines={tmp_path}"]) == 2
    assert "lightrag-hku is not installed" in capsys.readouterr().err


def test_a_method_without_a_map_keeps_its_own_prompts_and_plan_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["plan", *TOY, "method=vanilla", "prompts=original"]) == 0
    assert "it has no map of a released engine's" in capsys.readouterr().out


def test_a_folder_of_prompts_and_the_engine_s_exclude_each_other(tmp_path: Path) -> None:
    from graphrag_bench.experiment.original_prompts import with_originals

    method = compose({"method": load("method", "llightrag")}, {})["method"]
    with pytest.raises(UserError, match="one of them, not both"):
        with_originals({**method, "prompts": str(tmp_path)}, None)
