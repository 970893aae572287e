"""Every configuration file composes, alike in both ways, and models are made without loading."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_runs import TOY, command

from graphrag_bench.config.choices import GROUPS, ROLES, names
from graphrag_bench.config.compose import compose, composed, load
from graphrag_bench.data.card import card_names
from graphrag_bench.experiment.checking import checked_words
from graphrag_bench.locations import project_folder
from graphrag_bench.models.from_config import make

pytestmark = pytest.mark.slow

CONFIGS = project_folder("configs")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_every_folder_of_configs_is_a_group_that_can_be_chosen() -> None:
    folders = {path.name for path in CONFIGS.iterdir() if path.is_dir()}
    own = set(GROUPS) - set(ROLES) - {"dataset"}
    assert folders == own | {"hydra"}, "data sets are found by cards"


def test_no_folder_of_configs_or_datasets_is_a_package() -> None:
    for folder in (CONFIGS, project_folder("datasets")):
        assert not list(folder.rglob("__init__.py"))


def test_every_card_is_a_choice_of_a_data_set() -> None:
    assert names("dataset") == card_names()
    for name in names("dataset"):
        assert load("dataset", name) == {"name": name}


def test_every_method_is_named_after_its_file() -> None:
    assert {name: load("method", name)["name"] for name in names("method")} == {
        name: name for name in names("method")
    }


@pytest.mark.parametrize(
    ("settings", "choices", "rest"),
    [
        (["chunking=token", "chunking.size=9"], {"chunking": "token"}, {"chunking": {"size": 9}}),
        (["llm_build=scripted"], {"llm_build": "scripted"}, {}),
        (["llm_judge=scripted"], {"llm_judge": "scripted"}, {}),
        (["seed=3", "graph.per=partition"], {}, {"seed": 3, "graph": {"per": "partition"}}),
        (["build.extraction=nlp"], {}, {"build": {"extraction": "nlp"}}),
        (["method.damping=0.3"], {"method": {**load("method", "hipporag"), "damping": 0.3}}, {}),
    ],
)
def test_hydra_and_python_compose_settings_to_the_same_dict(
    settings: list[str], choices: dict[str, object], rest: dict[str, object]
) -> None:
    by_hydra = composed(checked_words(settings))
    of_method = [one.split("=")[0] for one in settings if one.startswith("method.")]
    assert by_hydra.pop("given") == of_method
    assert by_hydra == compose(choices, rest)  # type: ignore[arg-type]


@pytest.mark.parametrize("group", ["llm", "embedder"])
def test_every_model_is_made_from_its_file_without_loading_anything(group: str) -> None:
    for name in names(group):
        if name != "replay":  # its file of replies is the user's own
            assert make(group, load(group, name)) is not None


def test_every_chunking_names_a_builder() -> None:
    for name in names("chunking"):
        planned = command("plan", *TOY, "method=vanilla", f"chunking={name}")
        variant = "presplit" if name == "auto" else name
        assert f"chunk_table.{variant}" in planned.out, planned.err


@pytest.mark.parametrize("name", ["retrieval_only", "world_noise"])
def test_a_study_without_cells_of_its_own_composes_and_can_be_planned(name: str) -> None:
    assert command("plan", "-m", f"experiment={name}", *TOY).code == 0
