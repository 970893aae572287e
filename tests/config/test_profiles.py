"""Profiles lay a source's values over a method's file, and the user's over those."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphrag_bench import api
from graphrag_bench.config.choices import names
from graphrag_bench.config.compose import compose, composed, load
from graphrag_bench.config.profiles import applied, changes
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.checking import checked_words
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.pipeline.edit import every_list
from graphrag_bench.report.arrange import arranged
from graphrag_bench.sweeps.cells import composed_cells, split_cells

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


@pytest.mark.parametrize("profile", ["paper", "zhou2025", "upstream"])
@pytest.mark.parametrize("name", ["ggraphrag", "cheaprag", "pankrag"])
def test_points_of_a_map_step_have_no_limit_of_ours_under_a_source(name: str, profile: str) -> None:
    def mapped(profile: str, *words: str) -> list[tuple[object, object]]:
        made = composed(checked_words([f"method={name}", f"profile={profile}", *words]))
        lists = every_list([made["method"][stage] for stage in ("retrieve", "generate")])
        steps = [step for items in lists for step in items if step.get("op") == "points.map"]
        return [(step.get("max_characters", 300), step.get("max_tokens", 512)) for step in steps]

    assert mapped(profile) == [(None, 2048)]
    assert mapped("default") == [(300, 512)]
    if name == "cheaprag":
        assert mapped(profile, "method.generate.2.max_characters=50") == [(50, 2048)]


def test_pankrag_reads_groups_of_its_release_under_its_paper() -> None:
    held = {
        name: applied(load("method", "pankrag"), name, "default")["group_tokens"]
        for name in ("default", "paper", "upstream")
    }
    assert held == {"default": 2500, "paper": 16384, "upstream": 16384}


@pytest.mark.parametrize(
    "name", ["llightrag", "glightrag", "hlightrag", "lightrag_mix", "pathrag", "pathrag_lt",
             "pathcorag"],
)  # fmt: skip
def test_a_rich_graph_has_categories_and_a_textual_one_has_none(name: str) -> None:
    assert types_of(name) == ["organization", "person", "geo", "event", "category"]
    assert types_of(name, "build.text_extraction.entity_types=[star]") == ["star"]


@pytest.mark.parametrize("name", ["lgraphrag", "pankrag", "hirag"])
def test_a_textual_graph_has_four_types(name: str) -> None:
    assert types_of(name) == ["organization", "person", "geo", "event"]


def types_of(name: str, *words: str) -> list[str]:
    """The types of entities that a method asks for in its paper's own way."""
    base = ["dataset=toy", "embedder=hashing", f"method={name}", "fidelity=paper"]
    made = Experiment.prepare(composed(checked_words([*base, *words])))
    (item,) = (one for one in made.plan if one.resource == "text_extraction")
    return list(item.settings["entity_types"])


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
    by_shell = composed(checked_words(words))
    assert by_shell["method"]["form"] == "paths"
    made = api.method("subgraphrag", pooling="rerank", embedder="hashing")
    assert made.experiment(api.dataset("toy")).key == Experiment.prepare(by_shell).key
    asked = api.method("subgraphrag", pooling="rerank", embedder="hashing", form="triplets")
    own = composed(checked_words([*words, "method.form=triplets"]))
    assert own["method"]["form"] == "triplets"
    assert asked.experiment(api.dataset("toy")).key == Experiment.prepare(own).key


def test_a_profile_can_lift_a_bound() -> None:
    """`null` in a file is no value on the command line too, and not the word None."""
    values = composed(checked_words(["method=pathcorag", "profile=paper"]))
    assert values["method"]["max_pairs"] is None


def test_the_default_profile_changes_nothing() -> None:
    assert changes(FILE, "default", "default") == {}
    assert "profiles" not in applied(FILE, "default", "default")


def test_a_profile_can_choose_the_chunks_and_a_chosen_chunking_wins() -> None:
    given = {"method": "ketrag", "dataset": "toy"}
    own = {"variant": "separator", "size": 150, "overlap": 0}
    made = compose(given, {"profile": "upstream"})
    assert made["chunking"] == own
    assert "chunk_table" not in made["method"]["build"]
    changed = compose(given, {"profile": "upstream", "chunking": {"size": 300}})
    assert changed["chunking"] == own | {"size": 300}
    chosen = compose(given | {"chunking": "token"}, {"profile": "upstream"})
    assert chosen["chunking"]["variant"] == "token"


def test_a_variant_of_the_paper_keeps_the_settings_of_the_profile() -> None:
    made = applied(load("method", "ketrag"), "upstream", "paper")
    assert made["build"]["text_extraction"] == {"variant": "core_llm", "join_tokens": 1200}


def test_a_profile_that_sets_what_the_method_lacks_is_refused() -> None:
    with pytest.raises(UserError, match="has no 'dampin'.*damping"):
        applied({**FILE, "profiles": {"upstream": {"dampin": 1}}}, "upstream", "default")


@pytest.mark.parametrize("profile", ["paper", "zhou2025", "upstream"])
@pytest.mark.parametrize("fidelity", ["default", "paper"])
@pytest.mark.parametrize("name", names("method"))
def test_every_method_can_be_planned_under_every_profile(
    name: str, profile: str, fidelity: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    groups = {"dataset": "toy", "embedder": "hashing", "method": name}
    by_python = compose(groups, {"profile": profile, "fidelity": fidelity})
    assert Experiment.prepare(by_python).key
    words = [f"{key}={value}" for key, value in groups.items()]
    by_shell = composed(checked_words([*words, f"profile={profile}", f"fidelity={fidelity}"]))
    assert by_shell["method"] == by_python["method"]


def test_what_the_user_sets_wins_over_the_profile_even_when_it_is_the_default() -> None:
    words = ["method=hipporag", "profile=zhou2025", "method.damping=0.5"]
    assert composed(checked_words(words))["method"]["damping"] == 0.5
    assert composed(checked_words(words[:2]))["method"]["damping"] == 0.1
    assert api.method("hipporag", profile="zhou2025", damping=0.5).method["damping"] == 0.5
    assert api.method("hipporag", profile="zhou2025").method["damping"] == 0.1


def test_a_sweep_over_profiles_has_a_cell_for_each_and_a_table_that_names_them() -> None:
    words = ["dataset=toy", "embedder=hashing", "method=hipporag", "profile=default,zhou2025"]
    found = composed_cells(split_cells(checked_words(words)))
    assert [cell["method"]["damping"] for cell in found] == [0.5, 0.1]
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
def test_every_method_says_what_its_own_paper_has(name: str) -> None:
    assert "paper" in load("method", name)["profiles"]


@pytest.mark.parametrize(
    ("name", "profile", "expected"),
    [
        ("gretriever", "paper", {"top_k": 3, "n_relationships": 5, "budget": 512}),
        ("gretriever", "upstream", {"top_k": 3, "n_relationships": 5, "budget": 512}),
        ("ggraphrag", "zhou2025", {"group": "single", "levels": "down_to"}),
        ("ggraphrag", "paper", {"group": "packed", "order": "shuffled", "group_tokens": 8000}),
        ("ggraphrag", "upstream", {"levels": "at", "group_tokens": 12000, "budget": 12000}),
        ("lgraphrag", "zhou2025", {"report_share": 0.27, "chunk_share": 0.33, "order": "degree"}),
        ("lgraphrag", "upstream", {"report_share": 1800, "chunk_share": 6000, "order": "links"}),
        ("pankrag", "upstream", {"n_reports": None, "chunk_share": 4000, "rerank": "off"}),
        ("hypergraphrag", "upstream", {"search_tokens": 4000, "dense_tokens": 0, "budget": None}),
        ("hirag", "upstream", {"node_share": 20000, "chunk_share": 20000, "budget": 65000}),
        ("linearrag", "upstream", {"threshold": 0.4, "ratio": 2.0, "top_k": 5}),
        ("hlightrag", "upstream", {"node_share": 6000, "relationship_share": 8000}),
        ("dalk", "upstream", {"khop": 5}),
        ("raptor", "paper", {"top_k": 20, "budget": 2000}),
        ("raptor", "upstream", {"top_k": 10, "budget": 3500}),
        ("hipporag", "paper", {"damping": 0.5, "top_k": 5, "chunks_by": "nodes"}),
        ("vanilla", "paper", {"top_k": 4, "budget": 7500}),
    ],
)
def test_the_numbers_of_a_source_are_those_it_prints(
    name: str, profile: str, expected: dict[str, object]
) -> None:
    made = applied(load("method", name), profile, "default")
    assert {key: made[key] for key in expected} == expected


def test_the_tree_of_raptor_tries_every_number_of_components_in_its_paper_and_code() -> None:
    for profile in ("paper", "upstream"):
        graph = applied(load("method", "raptor"), profile, "default")["build"]["graph"]
        assert (graph["bic_patience"], graph["bic_rows"]) == (None, None)
    assert (
        applied(load("method", "raptor"), "zhou2025", "default")["build"]["graph"]["bic_patience"]
        is None
    )


def test_every_profile_of_a_file_names_sources_that_exist() -> None:
    for name in names("method"):
        assert set(load("method", name).get("profiles", {})) <= {"paper", "zhou2025", "upstream"}, (
            name
        )
