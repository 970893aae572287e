"""Settings composed from kept choices are those that Hydra composes from the start."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from graphrag_bench.config import composing, config_source
from graphrag_bench.config.composing import composition
from graphrag_bench.config.overrides import composed, prepared
from graphrag_bench.config import choices
from graphrag_bench.locations import project_folder


@pytest.fixture
def configs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the project's configs, which is what is composed."""
    monkeypatch.chdir(tmp_path)
    copy = shutil.copytree(project_folder("configs"), tmp_path / "configs")
    for module in (choices, config_source):
        monkeypatch.setattr(module, "project_folder", lambda _: copy)
    return copy


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["method=vanilla"],
        ["method=hipporag", "method.damping=0.3", "method.build.graph.synonymy=add", "limit=5"],
        ["dataset=toy", "llm_judge=scripted", "llm_judge.replies={a: [b, 1]}", "seed=3"],
        ["method.top_k=3", "method=vanilla", "evaluation.metrics=[f1]", "method.top_k=4"],
        ["experiment=retrieval_only", "dataset.root=~/sets"],
    ],
)
def test_kept_choices_and_settings_come_to_what_hydra_composes(words: list[str]) -> None:
    overrides = prepared(words)
    by_hydra = composing._by_hydra(overrides)
    for _ in range(2):
        assert OmegaConf.to_container(composition(overrides)) == OmegaConf.to_container(by_hydra)


def test_what_one_command_sets_is_not_there_in_the_next(configs: Path) -> None:
    with_one = composed(prepared(["method=vanilla", "method.top_k=77"]))
    without = composed(prepared(["method=vanilla"]))
    assert with_one["method"]["top_k"] == 77
    assert without["method"].get("top_k") != 77


def test_an_edited_file_is_composed_anew(configs: Path) -> None:
    file = configs / "method" / "vanilla.yaml"
    before = composed(prepared(["method=vanilla"]))
    file.write_text(file.read_text() + "\nadded: 1234\n")
    after = composed(prepared(["method=vanilla"]))
    assert after["method"] == {**before["method"], "added": 1234}


def test_a_link_that_leads_nowhere_is_no_config(configs: Path) -> None:
    """Editors leave such a link beside a file while it is edited."""
    (configs / ".#run.yaml").symlink_to("nobody@nowhere")
    assert composed(prepared(["method=vanilla"]))["method"]["name"] == "vanilla"
