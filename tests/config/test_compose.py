"""Composition of settings by Hydra, with profiles and words of a command."""

from pathlib import Path

import pytest
import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given
from hypothesis import strategies as st
from toy_runs import TOY, output

import graphrag_bench as gb
from graphrag_bench.config.compose import cells, compose_settings, composition, value_of
from graphrag_bench.config.settings import check_settings, default_settings
from graphrag_bench.config.sources import method_file, names, unknown_choice, with_profile
from graphrag_bench.config.words import expand_home_in, quote
from graphrag_bench.data.dataset import card_names
from graphrag_bench.errors import UserError
from graphrag_bench.files import plain_value, project_folder


def test_composition_equals_hydras_own():
    for words in (
        "method=lgraphrag profile=upstream chunking=token chunking.size=99 "
        "llm@llm_build=scripted llm_build.model=tiny build.graph.edge_drop=0.1",
        "++method.top_k=3 ~evaluation.cuts method.retrieve.0.min_score=0.5",
        "experiment=retrieval_only dataset=world dataset.hops=3",
    ):
        ours = compose_settings(words.split())
        theirs = yaml.safe_load(output("run", "--cfg", "job", "--resolve", *words.split()))
        assert ours.pop("given") is not None and ours.pop("row") is None
        assert theirs["method"].pop("prompts") is None
        assert ours == theirs


def test_mapping_replaces_the_choice_of_a_group():
    values = compose_settings([], {"llm": {"_target_": "mine.Model"}, "evaluation": {"cuts": [3]}})
    assert values["llm"] == {"_target_": "mine.Model"}
    assert values["evaluation"] == {**default_settings()["evaluation"], "cuts": [3]}


def test_primary_configuration_and_experiment_set_values(home):
    (home / "configs").mkdir()
    text = (project_folder("configs") / "run.yaml").read_text("utf-8") + "\nlimit: 5\n"
    (home / "configs" / "run.yaml").write_text(f"{text}method: {{top_k: 9}}\nanswer: off\n")
    values = compose_settings(["method=vanilla", "dataset=toy"])
    assert (values["limit"], values["given"]) == (5, ["method.top_k"])
    assert compose_settings(["method=vanilla", "method.top_k=4"])["method"]["top_k"] == 4
    assert check_settings(values).answer == "off"
    assert "method.conversion" in compose_settings(["experiment=pathcorag_steps"])["given"]


def test_cells_equal_those_of_hydras_sweeper():
    config = composition(["experiment=retrieval_only"])
    config.hydra.sweeper.params = {"seed": "1,2", "limit": "choice(3,4)"}
    assert cells(config, ["method=glob(raptor*)", "limit=7"]) == [
        [f"seed={n}", "limit=7", f"method={name}"] for n in (1, 2)
        for name in ("raptor", "raptor_kmeans")
    ]  # fmt: skip


def test_cards_are_choices_and_methods_have_a_paper_profile():
    assert set(card_names()) <= set(names("dataset"))
    for name in names("method"):
        file = method_file(name)
        assert file["name"] == name and "paper" in file["profiles"]
        assert set(file["profiles"]) <= {"paper", "zhou2025", "upstream"}


FILE = {
    "name": "mine", "damping": 0.5, "top_k": 4, "form": "triplets", "build": {"graph": "kg"},
    "profiles": {"zhou2025": {"damping": 0.1, "top_k": "unstated", "build.graph.synonymy": "add"}},
    "fidelity": {"build.extraction": "llm"},
    "pooled": {"form": "paths"},
}  # fmt: skip
PLAIN = {key: FILE[key] for key in ("name", "damping", "top_k", "form", "build")}


def test_profiles_change_only_stated_values():
    for profile, fidelity, pooling, changed in (
        ("zhou2025", "default", None,
         {"damping": 0.1, "build": {"graph": {"variant": "kg", "synonymy": "add"}}}),
        ("default", "paper", None, {"build": {"graph": "kg", "extraction": "llm"}}),
        ("default", "default", "rerank", {"form": "paths"}),
        ("default", "default", {"mode": "reselect"}, {"form": "paths"}),
        ("default", "default", {"mode": "off"}, {}),
    ):  # fmt: skip
        assert with_profile(FILE, profile, fidelity, pooling) == {**PLAIN, **changed}
    assert FILE["build"] == {"graph": "kg"}
    with pytest.raises(UserError, match=r"dampin'.*damping"):
        with_profile({**FILE, "profiles": {"upstream": {"dampin": 1}}}, "upstream", "default")


def test_chunking_overrides_that_of_the_profile(home):
    chunks = {f"build.chunk_table{end}": value for end, value in
              (("", "separator"), (".size", 150), (".overlap", 0))}  # fmt: skip
    steps = method_file("bm25") | {"name": "mine", "profiles": {"upstream": chunks}}
    (home / "mine.yaml").write_text(yaml.safe_dump(steps))
    words = ["method=./mine.yaml", "dataset=toy", "profile=upstream"]
    own = {"variant": "separator", "size": 150, "overlap": 0}
    assert compose_settings(words)["chunking"] == own
    assert compose_settings([*words, "chunking.size=300"])["chunking"] == own | {"size": 300}
    assert compose_settings([*words, "chunking=token"])["chunking"] == {"variant": "token"}


def test_user_settings_override_the_profile():
    for name, source, setting, theirs, own in (
        ("hipporag", {"profile": "zhou2025"}, "damping", 0.1, 0.5),
        ("subgraphrag", {"pooling": "rerank"}, "form", "paths", "triplets"),
        ("pathcorag", {"profile": "paper"}, "max_pairs", None, 3),  # null is not the text
    ):
        words = [f"method={name}", *(f"{key}={value}" for key, value in source.items())]
        assert compose_settings(words)["method"][setting] == theirs
        assert compose_settings([*words, f"method.{setting}={own}"])["method"][setting] == own
        assert gb.method(name, **source, **{setting: own}).method[setting] == own


PARSER = OverridesParser.create()
SIGNS = st.sampled_from("aZ9 ~;=#!&<>'\"|()[]{}:.,/-_éß文档🜁ж")


@given(st.text(SIGNS, min_size=1).filter(lambda text: text[0] not in "[{'\"," and "," not in text))
def test_any_text_is_parsed_as_that_text(text):
    read = str(PARSER.parse_override(quote(f"name=x{text}")).value())
    assert read.strip() == f"x{text}".strip()


def test_only_unparsable_values_are_quoted():
    for text in ("données/été", "my, set (v2)", "a=b", "x;y", "https://x/y?z=1"):
        assert value_of(text) == text
    values = [value_of(text) for text in ("[été,b]", "{k: é, b: 2}", "'é'")]
    assert values == [["été", "b"], {"k": "é", "b": 2}, "é"]


def test_null_deselects_an_optional_group():
    words = [f"{group}=null" for group in ("row", "experiment", "llm@llm_build", "llm@llm_judge")]
    assert compose_settings([*TOY, *words]) == compose_settings(TOY)


def test_choice_is_a_single_name_which_may_look_like_a_number(home):
    for word, name in (
        ("method=null", "'null'"), ("pooling=null", "'null'"), ("dataset=2024", "'2024'"),
        ("dataset=1.5", "'1.5'"), ("llm=true", "'true'"), ("hydra/launcher=null", "'null'"),
        ("method=[bm25,vanilla]", "-m method=bm25,vanilla"), ("method=bm25,vanilla", "run -m"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=name):
            compose_settings([*TOY, word])
    (home / "configs" / "dataset").mkdir(parents=True)
    (home / "configs" / "dataset" / "2024.yaml").write_text("name: toy\n")
    assert compose_settings([*TOY, "dataset=2024"])["dataset"]["name"] == "toy"


def test_missing_hydra_plugin_names_its_extra():
    message = str(unknown_choice("hydra/launcher", "submitit_slurm", ["basic"]))
    assert "graphrag-bench[submitit]" in message


def test_tilde_is_expanded_in_words_files_and_python(home, monkeypatch):
    monkeypatch.setenv("HOME", "/me")
    words = ["a=~", 'a="~/x"', "--home=~/x", "a=~/x,~/y", "a=[~/x]", "a=x~y", "~a"]
    assert [expand_home_in(word) for word in words] == [
        "a=/me", 'a="/me/x"', "--home=/me/x", "a=/me/x,/me/y", "a=[/me/x]", "a=x~y", "~a",
    ]  # fmt: skip
    assert plain_value({"a": ["~/x", {"b": "~"}], "c": 1}) == {"a": ["/me/x", {"b": "/me"}], "c": 1}
    paths = {"a": Path("~/x"), "b": (Path("x"), Path("/x"))}
    assert plain_value(paths) == {"a": "/me/x", "b": ["./x", "/x"]}
    (home / "configs" / "experiment").mkdir(parents=True)
    (home / "configs" / "experiment" / "far.yaml").write_text("paths: {home: ~/x}\n")
    assert compose_settings([*TOY, "experiment=far"])["paths"]["home"] == "/me/x"
    assert compose_settings(TOY, {"paths": {"home": "~/x"}})["paths"]["home"] == "/me/x"
