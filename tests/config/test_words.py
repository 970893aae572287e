"""Quoting and `~` in the words of a command."""

from pathlib import Path

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given
from hypothesis import strategies as st
from toy_runs import TOY

from graphrag_bench.config.compose import compose_settings, value_of
from graphrag_bench.config.sources import unknown_choice
from graphrag_bench.config.words import expand_home_in, quote
from graphrag_bench.errors import UserError
from graphrag_bench.files import expand_home

PARSER = OverridesParser.create()
SIGNS = st.sampled_from("aZ9 ~;=#!&<>'\"|()[]{}:.,/-_éß文档🜁ж")


@given(st.text(SIGNS, min_size=1).filter(lambda text: text[0] not in "[{'\"," and "," not in text))
def test_any_text_is_parsed_as_that_text(text: str) -> None:
    read = str(PARSER.parse_override(quote(f"name=x{text}")).value())
    assert read.strip() == f"x{text}".strip()


@pytest.mark.parametrize(
    ("value", "read"),
    [("données/été", "données/été"), ("my, set (v2)", "my, set (v2)"), ("[été,b]", ["été", "b"]),
     ("{k: é, b: 2}", {"k": "é", "b": 2}), ("a=b", "a=b"), ("x;y", "x;y"),
     ("'é'", "é"), ("https://x/y?z=1", "https://x/y?z=1")],
)  # fmt: skip
def test_only_unparsable_values_are_quoted(value: str, read: object) -> None:
    assert value_of(value) == read


@pytest.mark.parametrize("group", ["row", "experiment", "llm@llm_build", "llm@llm_judge"])
def test_null_deselects_an_optional_group(group: str) -> None:
    assert compose_settings([*TOY, f"{group}=null"]) == compose_settings(TOY)


@pytest.mark.parametrize(
    ("word", "name"),
    [("method=null", "'null'"), ("pooling=null", "'null'"), ("dataset=2024", "'2024'"),
     ("dataset=1.5", "'1.5'"), ("llm=true", "'true'"), ("hydra/launcher=null", "'null'"),
     ("method=[bm25,vanilla]", "-m method=bm25,vanilla"), ("method=bm25,vanilla", "run -m")],
)  # fmt: skip
def test_choice_is_a_single_name(word: str, name: str) -> None:
    with pytest.raises(UserError, match=name):
        compose_settings([*TOY, word])


def test_choice_may_look_like_a_number(home: Path) -> None:
    (home / "configs" / "dataset").mkdir(parents=True)
    (home / "configs" / "dataset" / "2024.yaml").write_text("name: toy\n")
    assert compose_settings([*TOY, "dataset=2024"])["dataset"]["name"] == "toy"


@pytest.mark.parametrize(
    ("choice", "extra"),
    [("launcher=joblib", "joblib"), ("launcher=submitit_slurm", "submitit"),
     ("sweeper=optuna", "tuning")],
)  # fmt: skip
def test_missing_hydra_plugin_names_its_extra(choice: str, extra: str) -> None:
    group, _, name = choice.partition("=")
    assert f"graphrag-bench[{extra}]" in str(unknown_choice(f"hydra/{group}", name, ["basic"]))


def test_tilde_is_expanded_in_words_files_and_python(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/me")
    words = ["a=~", 'a="~/x"', "--home=~/x", "a=~/x,~/y", "a=[~/x]", "a=x~y", "~a"]
    assert [expand_home_in(word) for word in words] == [
        "a=/me", 'a="/me/x"', "--home=/me/x", "a=/me/x,/me/y", "a=[/me/x]", "a=x~y", "~a",
    ]  # fmt: skip
    assert expand_home({"a": ["~/x", {"b": "~"}], "c": 1}) == {"a": ["/me/x", {"b": "/me"}], "c": 1}
    (home / "configs" / "experiment").mkdir(parents=True)
    (home / "configs" / "experiment" / "far.yaml").write_text("paths: {home: ~/x}\n")
    assert compose_settings([*TOY, "experiment=far"])["paths"]["home"] == "/me/x"
    assert compose_settings(TOY, {"paths": {"home": "~/x"}})["paths"]["home"] == "/me/x"
