"""Words and values become the settings that Hydra composes of them; errors name the nearest."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

import pytest
import yaml
from omegaconf import OmegaConf

import graphrag_bench as gb
from graphrag_bench.cli.main import main
from graphrag_bench.config.compose import cells, composed, composition, method_of
from graphrag_bench.config.settings import RunSettings, check_settings, defaults
from graphrag_bench.config.sources import built_in, file_of, method_file, names, read
from graphrag_bench.data.card import card_names
from graphrag_bench.errors import UserError
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.models.from_config import make

WORDS = [
    [],
    ["method=pathrag", "profile=upstream", "method.alpha=0.5"],
    ["method=ketrag", "profile=upstream", "chunking.size=99"],
    ["method=subgraphrag", "pooling=rerank", "pooling.search=bfs"],
    ["llm@llm_build=scripted", "llm_build.model=tiny", "build.graph.edge_drop=0.1"],
    ["++method.top_k=3", "~evaluation.cuts", "method.retrieve.0.min_score=0.5"],
    ["experiment=retrieval_only", "dataset=world", "dataset.hops=3"],
]


def by_hydra(words: list[str]) -> dict[str, Any]:
    """What `run --cfg job --resolve` prints of words."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(["run", "--cfg", "job", "--resolve", *words]) == 0
    content: dict[str, Any] = yaml.safe_load(out.getvalue())
    return content


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_words_come_to_what_hydra_itself_prints(words: list[str]) -> None:
    ours, theirs = composed(words), by_hydra(words)
    assert ours.pop("given") is not None
    assert theirs["method"].pop("prompts") is None
    assert ours == theirs


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        (["method.damping=0.3"], {"damping": 0.3}),
        (["profile=zhou2025", "method.top_k=7"], {"profile": "zhou2025", "top_k": 7}),
        (["build.extraction=nlp", "seed=3"], {"build": {"extraction": "nlp"}, "seed": 3}),
        (["budget_context=500", "limit=2"], {"budget_context": 500, "limit": 2}),
    ],
)
def test_python_and_words_are_the_same_run(words: list[str], settings: dict[str, Any]) -> None:
    own = ["dataset=toy", "method=hipporag", "embedder=hashing", "llm=scripted", *words]
    ours = gb.method("hipporag", embedder="hashing", llm="scripted", **settings)
    mine, theirs = ours.experiment(gb.dataset("toy")), Experiment.prepare(composed(own))
    assert mine.key == theirs.key
    same = {"dataset"}
    assert mine.settings.model_dump(exclude=same) == theirs.settings.model_dump(exclude=same)


def test_a_method_given_as_values_is_the_one_of_its_file() -> None:
    words = ["dataset=toy", "profile=upstream", "fidelity=paper"]
    plain = composed(words, method=method_file("ketrag"))
    chosen = composed([*words, "method=ketrag"])
    assert plain == chosen
    assert method_of("ketrag", "upstream", "paper") == {
        **chosen["method"], "build": method_of("ketrag", "upstream", "paper")["build"],
    }  # fmt: skip


def test_a_mapping_for_a_group_takes_the_place_of_its_choice() -> None:
    values = composed([], {"llm": {"_target_": "mine.Model"}, "evaluation": {"cuts": [3]}})
    assert values["llm"] == {"_target_": "mine.Model"}
    assert values["evaluation"] == {**defaults()["evaluation"], "cuts": [3]}


def test_what_was_set_of_a_method_is_known_from_words_and_from_an_experiment() -> None:
    assert composed(["method=vanilla"])["given"] == []
    assert composed(["method=vanilla", "method.top_k=4"])["given"] == ["method.top_k"]
    given = composed(["experiment=pathcorag_steps"])["given"]
    assert given == ["method.conversion"]


@pytest.mark.parametrize(
    ("word", "names_in_message"),
    [
        ("limt=5", ["'limt'", "'limit'"]),
        ("method=hiporag", ["'hiporag'", "'hipporag'"]),
        ("method.dampng=3", ["'method.dampng'", "'method.damping'"]),
        ("evaluation.cut=3", ["'evaluation.cut'", "'evaluation.cuts'"]),
        ("hydra.nonsense=3", ["'hydra.nonsense'"]),
        ("hydra/launcher=basc", ["'basc'", "'basic'"]),
        ("llm@llm_biuld=local", ["llm@llm_biuld", "llm@llm_build"]),
        ("limit=[3", ["limit=[3"]),
        ("limit=1,2", ["limit=1,2"]),
        ("~nothing", ["nothing"]),
        ("experiment=pathrag_flwo", ["'pathrag_flow'"]),
    ],
)
def test_what_there_is_not_is_answered_with_the_nearest(
    word: str, names_in_message: list[str]
) -> None:
    with pytest.raises(UserError) as refusal:
        composed([word])
    assert [name for name in names_in_message if name not in str(refusal.value)] == []
    assert len(str(refusal.value)) < 500


@pytest.mark.parametrize(
    ("word", "names_in_message"),
    [
        ("limit=many", ["limit", "'many'"]),
        ("answer=maybe", ["answer", "'maybe'"]),
        ("llm_build=scripted", ["llm@llm_build=scripted"]),
        ("dataset.nam=toy", ["dataset.nam"]),
    ],
)
def test_a_wrong_value_is_one_clear_error(word: str, names_in_message: list[str]) -> None:
    with pytest.raises(UserError) as refusal:
        Experiment.prepare(composed(["dataset=toy", "method=bm25", word]))
    assert [name for name in names_in_message if name not in str(refusal.value)] == []


def test_an_unquoted_off_of_yaml_is_the_word(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "configs" / "experiment" / "quiet.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("answer: off\nreference_rows: off\ntrace: off\ncache: {mode: off}\n")
    settings = check_settings(composed(["experiment=quiet"]))
    assert (settings.answer, settings.reference_rows) == ("off", "off")
    assert (settings.trace, settings.cache.mode) == ("off", "off")


def test_what_the_primary_configuration_says_counts(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs").mkdir()
    text = file_of("", "run").read_text("utf-8")  # type: ignore[union-attr]
    (tmp_path / "configs" / "run.yaml").write_text(f"{text}\nlimit: 5\nmethod: {{top_k: 9}}\n")
    values = composed(["method=vanilla"])
    assert (values["limit"], values["method"]["top_k"]) == (5, 9)
    assert values["given"] == ["method.top_k"]
    assert composed(["method=vanilla", "limit=2"])["limit"] == 2


def test_the_cells_are_those_of_hydras_own_sweeper() -> None:
    """Its basic sweeper: parameters of an experiment first, the words of the command over them."""
    config = composition(["experiment=retrieval_only"])
    config.hydra.sweeper.params = {"seed": "1,2", "limit": "choice(3,4)"}
    found = cells(config, ["method=glob(raptor*)", "limit=7"])
    assert found == [
        [f"seed={seed}", "limit=7", f"method={name}"]
        for seed in (1, 2)
        for name in ("raptor", "raptor_kmeans")
    ]
    with pytest.raises(UserError, match="interval"):
        cells(config, ["method.damping=interval(0,1)"])


def test_every_setting_has_its_default_in_what_is_composed() -> None:
    held = OmegaConf.to_container(composition(["dataset=toy"]))
    assert isinstance(held, dict)
    missing = set(RunSettings.model_fields) - {"given", "budget_asked"} - set(held)
    assert missing == set()


@pytest.mark.parametrize("group", ["llm", "embedder"])
def test_every_model_is_made_from_its_file_without_loading_anything(group: str) -> None:
    for name in built_in(group):
        if (file := file_of(group, name)) is not None:
            assert make(group, read(file)) is not None


def test_every_card_is_a_choice_and_every_method_is_named_after_its_file() -> None:
    assert set(card_names()) <= set(names("dataset"))
    assert {name: method_file(name)["name"] for name in names("method")} == {
        name: name for name in names("method")
    }
