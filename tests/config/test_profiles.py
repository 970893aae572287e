"""Profiles lay a source's values over a method's file, and the user's over those."""

from __future__ import annotations

import pytest

from graphrag_bench import api
from graphrag_bench.config.compose import composed
from graphrag_bench.config.profiles import applied, changes
from graphrag_bench.config.sources import method_file, names
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.report.arrange import arranged

pytestmark = pytest.mark.slow

FILE = {
    "name": "mine",
    "damping": 0.5,
    "top_k": 4,
    "build": {"graph": "kg"},
    "profiles": {"zhou2025": {"damping": 0.1, "top_k": "unstated", "build.graph.synonymy": "add"}},
    "fidelity": {"build.extraction": "llm"},
}


def test_a_profile_changes_what_its_source_states_and_leaves_the_rest() -> None:
    made = applied(FILE, "zhou2025", "default")
    assert (made["damping"], made["top_k"]) == (0.1, 4)
    assert made["build"] == {"graph": {"variant": "kg", "synonymy": "add"}}
    assert FILE["build"] == {"graph": "kg"}


def test_fidelity_to_the_paper_adds_its_own_changes() -> None:
    assert applied(FILE, "default", "paper")["build"] == {"graph": "kg", "extraction": "llm"}


def test_path_pooling_changes_what_the_method_s_file_says_and_nothing_when_it_is_off() -> None:
    file = {**FILE, "form": "triplets", "pooled": {"form": "paths"}}
    for pooling in ("rerank", {"mode": "reselect"}):
        assert applied(file, "default", "default", pooling=pooling)["form"] == "paths"
    for off in (None, "off", {"mode": "off"}, {}):
        made = applied(file, "default", "default", pooling=off)
        assert made["form"] == "triplets" and "pooled" not in made


def test_python_and_the_command_line_agree_on_what_path_pooling_changes() -> None:
    words = ["dataset=toy", "embedder=hashing", "method=subgraphrag", "pooling=rerank"]
    by_shell = composed(words)
    assert by_shell["method"]["form"] == "paths"
    made = api.method("subgraphrag", pooling="rerank", embedder="hashing")
    assert made.experiment(api.dataset("toy")).key == Experiment.prepare(by_shell).key
    asked = api.method("subgraphrag", pooling="rerank", embedder="hashing", form="triplets")
    own = composed([*words, "method.form=triplets"])
    assert own["method"]["form"] == "triplets"
    assert asked.experiment(api.dataset("toy")).key == Experiment.prepare(own).key


def test_a_profile_can_lift_a_bound() -> None:
    """`null` in a file is no value on the command line too, and not the word None."""
    values = composed(["method=pathcorag", "profile=paper"])
    assert values["method"]["max_pairs"] is None


def test_the_default_profile_changes_nothing() -> None:
    assert changes(FILE, "default", "default") == {}
    assert "profiles" not in applied(FILE, "default", "default")


def test_a_profile_can_choose_the_chunks_and_a_chosen_chunking_wins() -> None:
    words = ["method=ketrag", "dataset=toy", "profile=upstream"]
    own = {"variant": "separator", "size": 150, "overlap": 0}
    whole = composed(words)
    assert whole["chunking"] == own
    assert "chunk_table" not in whole["method"]["build"]
    assert composed([*words, "chunking.size=300"])["chunking"] == own | {"size": 300}
    assert composed([*words, "chunking=token"])["chunking"] == {"variant": "token"}


def test_a_variant_of_the_paper_keeps_the_settings_of_the_profile() -> None:
    made = applied(method_file("ketrag"), "upstream", "paper")
    assert made["build"]["text_extraction"] == {"variant": "core_llm", "join_tokens": 1200}


def test_a_profile_that_sets_what_the_method_lacks_is_refused() -> None:
    with pytest.raises(UserError, match="has no 'dampin'.*damping"):
        applied({**FILE, "profiles": {"upstream": {"dampin": 1}}}, "upstream", "default")


def test_what_the_user_sets_wins_over_the_profile_even_when_it_is_the_default() -> None:
    words = ["method=hipporag", "profile=zhou2025", "method.damping=0.5"]
    assert composed(words)["method"]["damping"] == 0.5
    assert composed(words[:2])["method"]["damping"] == 0.1
    assert api.method("hipporag", profile="zhou2025", damping=0.5).method["damping"] == 0.5
    assert api.method("hipporag", profile="zhou2025").method["damping"] == 0.1


def test_the_table_of_a_sweep_over_profiles_names_them() -> None:
    runs = [
        {"dataset": "toy", "title": "HippoRAG", "role": "", "key": str(row), "profile": profile,
         "settings": {"method.damping": damping, "method.retrieve.0.damping": damping},
         **dict.fromkeys(("fidelity", "llm", "llm_build", "embedder", "extraction", "tokenizer",
                          "limit", "answer"), "")}
        for row, (profile, damping) in enumerate([("default", 0.5), ("zhou2025", 0.1)])
    ]  # fmt: skip
    titles = [run["title"] for run in arranged(runs)]
    assert titles == ["HippoRAG profile=default", "HippoRAG profile=zhou2025"]


def test_a_profile_is_chosen_with_the_method_and_not_with_the_data_set() -> None:
    pipeline = api.method("vanilla", embedder="hashing")
    with pytest.raises(UserError, match="profile is chosen with the method"):
        pipeline.experiment(api.dataset("toy"), profile="zhou2025")


@pytest.mark.parametrize("name", names("method"))
def test_the_profiles_of_a_method_are_known_sources_and_its_own_paper_is_one(name: str) -> None:
    profiles = set(method_file(name)["profiles"])
    assert {"paper"} <= profiles <= {"paper", "zhou2025", "upstream"}


@pytest.mark.parametrize("profile", ["paper", "zhou2025", "upstream"])
@pytest.mark.parametrize("name", names("method"))
def test_every_profile_can_be_prepared_with_the_fidelity_of_the_paper(
    name: str, profile: str
) -> None:
    """Golden files have each of the two alone."""
    words = ["dataset=toy", "embedder=hashing", f"method={name}", f"profile={profile}"]
    assert Experiment.prepare(composed([*words, "fidelity=paper"])).key
