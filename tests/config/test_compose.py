"""Composition of settings by Hydra."""

from pathlib import Path

import pytest
import yaml
from toy_runs import command

import graphrag_bench as gb
from graphrag_bench.config.compose import cells, compose_settings, composition
from graphrag_bench.config.settings import check_settings, default_settings
from graphrag_bench.config.sources import method_file, names
from graphrag_bench.data.dataset import card_names
from graphrag_bench.files import project_folder
from graphrag_bench.run.experiment import Experiment

SOURCES = ("paper", "zhou2025", "upstream")
WORDS = [
    ["method=lgraphrag", "profile=upstream", "chunking=token", "chunking.size=99",
     "llm@llm_build=scripted", "llm_build.model=tiny", "build.graph.edge_drop=0.1"],
    ["++method.top_k=3", "~evaluation.cuts", "method.retrieve.0.min_score=0.5"],
    ["experiment=retrieval_only", "dataset=world", "dataset.hops=3"],
]  # fmt: skip


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_composition_equals_hydras_own(words: list[str]) -> None:
    ours = compose_settings(words)
    theirs = yaml.safe_load(command("run", "--cfg", "job", "--resolve", *words).out)
    assert ours.pop("given") is not None and ours.pop("row") is None
    assert theirs["method"].pop("prompts") is None
    assert ours == theirs


def test_python_and_command_line_have_the_same_key() -> None:
    words = ["dataset=toy", "method=lgraphrag", "embedder=hashing", "llm=scripted", "limit=2",
             "profile=upstream", "method.top_k=7", "build.graph=tkg"]  # fmt: skip
    ours = gb.method("lgraphrag", embedder="hashing", llm="scripted", limit=2, profile="upstream",
                     top_k=7, build={"graph": "tkg"})  # fmt: skip
    mine, theirs = ours.experiment(gb.dataset("toy")), Experiment.prepare(compose_settings(words))
    assert mine.key == theirs.key
    one, other = (run.settings.model_dump(exclude={"dataset"}) for run in (mine, theirs))
    assert one == other


def test_mapping_replaces_the_choice_of_a_group() -> None:
    values = compose_settings([], {"llm": {"_target_": "mine.Model"}, "evaluation": {"cuts": [3]}})
    assert values["llm"] == {"_target_": "mine.Model"}
    assert values["evaluation"] == {**default_settings()["evaluation"], "cuts": [3]}


def test_primary_configuration_and_experiment_set_values(home: Path) -> None:
    (home / "configs").mkdir()
    text = (project_folder("configs") / "run.yaml").read_text("utf-8") + "\nlimit: 5\n"
    (home / "configs" / "run.yaml").write_text(f"{text}method: {{top_k: 9}}\nanswer: off\n")
    values = compose_settings(["method=vanilla", "dataset=toy"])
    assert (values["limit"], values["given"]) == (5, ["method.top_k"])
    assert compose_settings(["method=vanilla", "method.top_k=4"])["method"]["top_k"] == 4
    assert "method.conversion" in compose_settings(["experiment=pathcorag_steps"])["given"]
    assert check_settings(values).answer == "off"


def test_cells_equal_those_of_hydras_sweeper() -> None:
    config = composition(["experiment=retrieval_only"])
    config.hydra.sweeper.params = {"seed": "1,2", "limit": "choice(3,4)"}
    assert cells(config, ["method=glob(raptor*)", "limit=7"]) == [
        [f"seed={seed}", "limit=7", f"method={name}"]
        for seed in (1, 2)
        for name in ("raptor", "raptor_kmeans")
    ]


def test_cards_are_choices_and_methods_have_a_paper_profile() -> None:
    assert set(card_names()) <= set(names("dataset"))
    for name in names("method"):
        file = method_file(name)
        assert file["name"] == name and {"paper"} <= set(file["profiles"]) <= set(SOURCES)
