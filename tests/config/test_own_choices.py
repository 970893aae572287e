"""Methods, data sets, models and packages of the user."""

from importlib.metadata import EntryPoint

import pytest

import graphrag_bench as gb
from graphrag_bench.cli.list import entries
from graphrag_bench.cli.parsing import register_folders
from graphrag_bench.config import plugins
from graphrag_bench.config.compose import compose_settings
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.contract import operators
from graphrag_bench.errors import UserError

METHOD = "defaults: [bm25]\nname: {name}\ntitle: {title}\n"
pytestmark = pytest.mark.usefixtures("home")


def write(path, name, text=METHOD):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.format(name=name, title=name.title()), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("file", "words"),
    [("mine.yaml", ["method=./mine.yaml"]), ("my own/mine.yaml", ["method='./my own/mine.yaml'"]),
     ("configs/method/mine.yaml", ["method=mine"]),
     ("else/method/mine.yaml", ["method=mine", "--config-dir", "else"]),
     ("else/method/mine.yaml", ["method=mine", "hydra.searchpath=[else]"]),
     ("mylab/configs/method/mine.yaml", ["method=mine", "plugins=[mylab]"]),
     ("mylab/configs/method/mine.yaml", ["method=mine", "plugins=mylab"])],
)  # fmt: skip
def test_own_method_is_found(file, words, home):
    write(home / file, "mine")
    write(home / "mylab" / "__init__.py", "", "")
    assert compose_settings(register_folders(["dataset=toy", *words]))["method"]["title"] == "Mine"
    if words in (["method=./mine.yaml"], ["method=mine"]):
        assert gb.method(words[0].partition("=")[2]).method["title"] == "Mine"
        assert gb.method(home / file).method["title"] == "Mine"


OPERATOR = """
from graphrag_bench.contract import operator
from graphrag_bench.values import Query, Question

@operator("question.{name}")
def words(question: Question) -> Query:
    raise NotImplementedError
"""


def plug_in(folder, name):
    write(folder / name / "configs" / "method" / f"{name}.yaml", name)
    write(folder / name / "__init__.py", name, OPERATOR)


@pytest.mark.usefixtures("open_registries")
def test_package_is_a_plug_in_by_its_path(home):
    plug_in(home / "else", "pathlab")
    load_plugins(["./else/pathlab"])
    assert "question.pathlab" in operators
    values = compose_settings(register_folders(["method=pathlab", "plugins=[./else/pathlab]"]))
    assert values["method"]["title"] == "Pathlab"
    (home / "pathlab").mkdir()
    for wrong in ("./pathlab", "mylab.nowhere"):
        with pytest.raises(UserError, match=wrong.lstrip("./")):
            load_plugins([wrong])


@pytest.mark.usefixtures("open_registries")
def test_installed_package_is_a_plug_in_by_its_entry_point(home, monkeypatch):
    plug_in(home, "pointlab")
    point = EntryPoint("any", "pointlab", "graphrag_bench.plugins")
    monkeypatch.setattr(plugins, "entry_points", lambda group: [point])
    plugins.entry_point_packages.cache_clear()
    load_plugins()
    assert "question.pointlab" in operators
    assert compose_settings(register_folders(["method=pointlab"]))["method"]["title"] == "Pointlab"
    plugins.entry_point_packages.cache_clear()


def test_data_sets_models_and_experiments_may_be_files(home):
    write(home / "mine.yaml", "mine")
    (home / "set.yaml").write_text("defaults: [world]\nsize: 20\nhops: 1\n")
    (home / "reader.yaml").write_text("_target_: toy_runs.reader\n")
    study = 'defaults:\n  - override /method: ./mine.yaml\nanswer: "off"\n'
    write(home / "configs" / "experiment" / "named.yaml", "named", study)
    values = compose_settings(["dataset=./set.yaml", "llm=./reader.yaml", "experiment=named"])
    assert values["dataset"] == {"name": "world", "size": 20, "hops": 1}
    assert values["llm"] == {"_target_": "toy_runs.reader"}
    assert (values["method"]["name"], values["answer"]) == ("mine", "off")


def test_own_files_come_first_but_need_their_own_method_name(home):
    other = write(home / "mine.yaml", "vanilla")
    with pytest.raises(UserError, match=r"'\./mine\.yaml'"):
        compose_settings(["method=mine.yaml"])
    with pytest.raises(UserError, match=str(other)):
        compose_settings(["method=./mine.yaml"])
    write(home / "configs" / "method" / "vanilla.yaml", "mine")
    assert compose_settings(["method=vanilla"])["method"]["name"] == "mine"


def test_invalid_file_affects_only_its_own_choice(home):
    write(home / "configs" / "method" / "mine.yaml", "mine")
    text = "name: broken\nretrieve:\n  - {{op: chunk.bm25\ngenerate: []\n"
    broken = write(home / "configs" / "method" / "broken.yaml", "broken", text)
    assert compose_settings(["method=mine"])["method"]["name"] == "mine"
    with pytest.raises(UserError, match=f"{broken}, line 4"):
        compose_settings(["method=broken"])
    listed = {name: about for name, about, _ in entries("methods")}
    assert f"{broken}, line 4" in listed["broken"] and "mine" in listed


def test_invalid_method_file_is_named(home):
    for content, name in (
        (b"\xff\xfe", "utf-8"), (b"- a\n- b\n", "a mapping"),
        (b"name: x\nname: y\n", "line 2: "), (b"name: mine\nfile: x\n", "'file'"),
    ):  # fmt: skip
        (home / "mine.yaml").write_bytes(content)
        with pytest.raises(UserError, match=name) as refusal:
            compose_settings(["method=./mine.yaml"])
        assert str(home / "mine.yaml") in str(refusal.value)


def test_failing_package_is_named_with_file_and_line(home):
    (home / "raising_lab.py").write_text("x = 1\ny = x.nothing\n")
    with pytest.raises(UserError, match=r'raising_lab.py", line 2(.|\n)*AttributeError') as refusal:
        load_plugins(["raising_lab"])
    assert "graphrag_bench/" not in str(refusal.value)
