"""The one composer: what it comes to is what Hydra's own `compose` comes to."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from graphrag_bench.config.choices import ROLES, names
from graphrag_bench.config.words import Word, read_words
from graphrag_bench.sweeps.cells import split_cells
from omegaconf import OmegaConf

from graphrag_bench.config import choices
from graphrag_bench.config import compose as composer
from graphrag_bench.config.compose import composed
from graphrag_bench.data.card import card_names
from graphrag_bench.experiment.checking import checked_words
from graphrag_bench.locations import project_folder


@pytest.fixture
def configs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the project's configs, which is what is composed."""
    monkeypatch.chdir(tmp_path)
    copy = shutil.copytree(project_folder("configs"), tmp_path / "configs")
    for module in (choices, composer):
        monkeypatch.setattr(module, "project_folder", lambda _: copy)
    return copy


@pytest.fixture(scope="module")
def hydras(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The configs with a file for every data set: Hydra knows files alone, and no cards."""
    folder = tmp_path_factory.mktemp("hydra") / "configs"
    shutil.copytree(project_folder("configs"), folder)
    (folder / "dataset").mkdir(exist_ok=True)
    for name in card_names():
        (folder / "dataset" / f"{name}.yaml").write_text(f"name: {name}\n")
    return folder


def by_hydra(words: list[str], folder: Path) -> dict[str, Any]:
    """What Hydra's public interface makes of the same words."""
    from hydra import compose, initialize_config_dir

    with initialize_config_dir(version_base="1.3", config_dir=str(folder)):
        held = OmegaConf.to_container(compose("run", [_hydras(w) for w in read_words(words)]))
    assert isinstance(held, dict)
    held.pop("hydra", None)
    found = OmegaConf.to_container(OmegaConf.create(held), resolve=True)
    assert isinstance(found, dict)
    return {name: value for name, value in found.items() if name != "pooling" or value}


def _hydras(word: Word) -> str:
    if word.name in ROLES:
        return f"+llm@{word}"
    return str(word) if word.is_choice else f"++{word}"


WORDS = [
    [],
    ["method=vanilla"],
    ["method=hipporag", "method.damping=0.3", "method.build.graph.synonymy=add", "limit=5"],
    ["dataset=toy", "llm_judge=scripted", "llm_judge.replies={a: [b, 1]}", "seed=3"],
    ["method.top_k=3", "method=vanilla", "evaluation.metrics=[f1]", "method.top_k=4"],
    ["experiment=retrieval_only", "dataset.root=~/sets"],
    ["experiment=pathcorag_steps", "method.n_steps=2"],
    ["experiment=world_noise", "llm=scripted", "dataset.size=20"],
    ["method=vanilla", "method.retrieve.0.top_k=9", "chunking=token", "chunking.size=9"],
]


@pytest.mark.parametrize("words", WORDS)
def test_words_come_to_what_hydra_composes(words: list[str], hydras: Path) -> None:
    ours = composed(words)
    ours.pop("given")
    theirs = by_hydra(words, hydras)
    for key in composer.KEYS:
        theirs["method"].pop(key, None)
    assert ours == theirs


@pytest.mark.parametrize("name", names("experiment"))
def test_every_study_comes_to_what_hydra_composes(name: str, hydras: Path) -> None:
    test_words_come_to_what_hydra_composes([f"experiment={name}"], hydras)


def test_a_study_may_be_based_on_another_and_words_win_over_both(configs: Path) -> None:
    study = configs / "experiment" / "mine.yaml"
    study.write_text(
        "defaults: [retrieval_only, {override /method: vanilla}]\nmethod: {top_k: 7}\n"
    )
    held = composed(["experiment=mine", "seed=5"])
    assert (held["answer"], held["method"]["name"], held["seed"]) == ("off", "vanilla", 5)
    assert (held["method"]["top_k"], held["given"]) == (7, ["method.top_k"])
    assert composed(["experiment=mine", "method.top_k=1"])["method"]["top_k"] == 1


def test_the_cells_of_a_grid_are_those_of_hydras_own_sweeper() -> None:
    words = ["method=bm25,vanilla", "method.top_k=1,2", "seed=range(0,2)", "answer=off"]
    cells = [[str(word) for word in cell] for cell in split_cells(checked_words(words))]
    assert len(cells) == 8
    assert cells[0] == ["method=bm25", "method.top_k=1", "seed=0", "answer=off"]
    assert cells[1] == ["method=bm25", "method.top_k=1", "seed=1", "answer=off"]
    assert cells[-1] == ["method=vanilla", "method.top_k=2", "seed=1", "answer=off"]
    globbed = split_cells(checked_words(["method=glob(raptor*)"]))
    assert [str(*cell) for cell in globbed] == ["method=raptor", "method=raptor_kmeans"]


def test_what_one_command_sets_is_not_there_in_the_next(configs: Path) -> None:
    with_one = composed(["method=vanilla", "method.top_k=77"])
    without = composed(["method=vanilla"])
    assert with_one["method"]["top_k"] == 77
    assert without["method"].get("top_k") != 77


def test_an_edited_file_is_composed_anew(configs: Path) -> None:
    file = configs / "method" / "vanilla.yaml"
    before = composed(["method=vanilla"])
    file.write_text(file.read_text() + "\nadded: 1234\n")
    after = composed(["method=vanilla"])
    assert after["method"] == {**before["method"], "added": 1234}


def test_a_link_that_leads_nowhere_is_no_config(configs: Path) -> None:
    """Editors leave such a link beside a file while it is edited."""
    (configs / ".#run.yaml").symlink_to("nobody@nowhere")
    assert composed(["method=vanilla"])["method"]["name"] == "vanilla"
