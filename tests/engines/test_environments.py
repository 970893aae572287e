"""Released engines installed with pip into environments of their own: from wheels made here."""

from __future__ import annotations

import json
import os
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import fake_engine
import pytest
from toy_runs import command, ran, records, refused

from graphrag_bench.engines import environments, known
from graphrag_bench.engines.environments import Environments
from graphrag_bench.engines.known import ENGINES, Known
from graphrag_bench.errors import UserError
from graphrag_bench.models.releases import released

pytestmark = pytest.mark.slow

NAME = "tiny-engine"


def wheel(folder: Path, name: str, version: str, needs: str = "") -> None:
    """A package with one module, as pip installs it with no build and no network."""
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    needed = f"Requires-Dist: {needs}\n" if needs else ""
    held = {
        f"{module}.py": f'VERSION = "{version}"\n',
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needed}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in [*held, f"{info}/RECORD"])
    with zipfile.ZipFile(folder / f"{module}-{version}-py3-none-any.whl", "w") as file:
        for path, text in {**held, f"{info}/RECORD": record}.items():
            file.writestr(path, text)


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packages")
    wheel(folder, NAME, "0.1", "tiny-needs>=1")
    wheel(folder, "tiny-needs", "1.0")
    wheel(folder, "tiny-needs", "1.5")
    wheel(folder, environments.RANKS, "0.1")
    return folder


@pytest.fixture(autouse=True)
def index(packages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What pip may install: the wheels made here, and nothing else."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(packages))


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Environments:
    """A folder of environments, with one engine that can be installed and one that cannot."""
    (tmp_path / "locks").mkdir()
    lock = f"# {NAME}\n{NAME}==0.1\ntiny-needs==1.0\n"
    (tmp_path / "locks" / f"{NAME}.txt").write_text(lock)
    (tmp_path / "drivers").mkdir()
    driver = fake_engine.DRIVER.read_text().replace(
        "import json\n", "import json\nimport tiny_engine\n"
    )
    (tmp_path / "drivers" / "tiny_engine.py").write_text(driver)
    engines: Mapping[str, Known] = {
        NAME: Known(NAME, "0.1"),
        "other-engine": Known("other-engine", "2", "it asks for a Python that is not here"),
    }
    monkeypatch.setattr(known, "DRIVERS", tmp_path / "drivers")
    monkeypatch.setattr(environments, "LOCKS", tmp_path / "locks")
    monkeypatch.setattr(environments, "ENGINES", engines)
    monkeypatch.chdir(tmp_path)
    return Environments(tmp_path / "env")


def listed() -> dict[str, str]:
    lines = command("engines", "ls", "--folder", "env").out.splitlines()
    cells = [[cell.strip() for cell in line.strip("│").split("│")] for line in lines if "│" in line]
    return {row[0]: row[2] for row in cells}


def test_an_engine_is_installed_at_its_lock_answers_questions_and_is_removed(
    there: Environments,
) -> None:
    folder = ["--folder", "env"]
    run = [
        "dataset=toy", "method=original", "engine=lightrag-hku", f"engine.name={NAME}",
        "paths.engines=env",
        "embedder=hashing", "llm=scripted", "llm._target_=fake_engine.reader",
        "reference_rows=off", "limit=2",
    ]  # fmt: skip
    assert listed() == {NAME: "no", "other-engine": "no"}
    said = refused(*run)
    assert f"'{NAME}' is not installed: graphrag-bench engines install {NAME} --folder " in said
    done = command("engines", "install", NAME, *folder)
    assert done.code == 0, done.err
    assert f"making an environment; what pip says: env/{NAME}.log" in done.err
    assert f"engine={NAME} paths.engines=env" in done.out
    assert listed() == {NAME: "yes", "other-engine": "no"}
    held = json.loads((there.folder / NAME / "installed.json").read_text())
    assert [one for one in held["packages"] if "tiny" in one] == [f"{NAME}==0.1", "tiny-needs==1.0"]
    assert [row["status"] for row in records(ran(*run).folder)] == ["answered"] * 2
    assert f"{NAME} 0.1 is installed" in command("engines", "install", NAME, *folder).err

    before = released(NAME, folder="env").identity
    lock = there.locks / f"{NAME}.txt"
    lock.write_text(lock.read_text().replace("tiny-needs==1.0", "tiny-needs==1.5"))
    assert listed()[NAME] == "the lock has changed: install again"
    assert "has changed since it was installed; again: graphrag-bench" in refused(*run)
    assert released(NAME, folder="env").identity != before

    assert command("engines", "remove", NAME, *folder).code == 0
    assert listed()[NAME] == "no"
    assert list(there.folder.iterdir()) == []


def test_without_its_lock_pip_chooses_and_the_row_says_so(there: Environments) -> None:
    done = command("engines", "install", NAME, "--no-lock", "--folder", "env")
    assert done.code == 0, done.err
    assert listed()[NAME] == "yes, without lock"
    found = there.installed(NAME)
    assert found is not None
    assert "tiny-needs==1.5" in found.packages
    engine = released(NAME, folder="env")
    assert engine.release.version == "0.1 without lock"
    assert engine.identity != released(NAME, folder="elsewhere").identity


def test_what_pip_cannot_find_leaves_nothing_and_says_why(there: Environments) -> None:
    lock = there.locks / f"{NAME}.txt"
    lock.write_text(f"{NAME}==0.7\n")
    done = command("engines", "install", NAME, "--folder", "env")
    assert done.code == 2
    assert f"No matching distribution found for {NAME}==0.7. All that it said: env" in done.err
    assert [path.name for path in there.folder.iterdir()] == [f"{NAME}.log"]
    assert there.installed(NAME) is None


def test_an_engine_whose_lock_differs_is_installed_without_its_own_requirements(
    there: Environments, packages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel(packages, "odd-engine", "1.0", "tiny-needs==7.0")
    (there.locks / "odd-engine.txt").write_text("odd-engine==1.0\ntiny-needs==1.5\n")
    for differs, code in (("", 2), ("its lock has tiny-needs 1.5 for 7.0", 0)):
        one = Known("odd-engine", "1.0", differs=differs)
        monkeypatch.setattr(environments, "ENGINES", {"odd-engine": one})
        done = command("engines", "install", "odd-engine", "--folder", "env")
        assert done.code == code, done.err
        assert ("ResolutionImpossible" in done.err) == bool(code)
    found = Environments(there.folder).installed("odd-engine")
    assert found is not None
    assert {"odd-engine==1.0", "tiny-needs==1.5"} <= set(found.packages)
    assert "odd-engine: its lock has tiny-needs 1.5 for 7.0" in command("engines", "ls").out


def test_an_engine_may_ask_for_another_python_which_is_looked_for_on_the_path(
    there: Environments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engines = {NAME: Known(NAME, "0.1", python="3.99")}
    monkeypatch.setattr(environments, "ENGINES", engines)
    shims = tmp_path / "shims"
    shims.mkdir()
    monkeypatch.setenv("PATH", str(shims))
    said = refused_by("engines", "install", NAME, "--folder", "env")
    assert f"'{NAME}' asks for Python 3.99; this is " in said
    assert "the path has no python3.99 that runs. Install Python 3.99 with its module venv" in said
    script(shims / "python3.99", "echo 'python3.99: command not found' >&2; exit 127")
    said = refused_by("engines", "install", NAME, "--folder", "env")
    assert f"({shims / 'python3.99'} does not run: python3.99: command not found)" in said
    assert not there.folder.exists()

    script(shims / "python3.99", f'[ "$1" = -c ] && echo 3.99 || exec {sys.executable} "$@"')
    monkeypatch.setenv("PATH", os.pathsep.join((str(shims), os.defpath)))
    done = command("engines", "install", NAME, "--folder", "env")
    assert done.code == 0, done.err
    assert Environments(there.folder).installed(NAME) is not None


def test_the_python_of_an_environment_can_be_named(
    there: Environments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environments, "ENGINES", {NAME: Known(NAME, "0.1", python="3.99")})
    script(tmp_path / "mine", f'echo mine > {tmp_path / "used"}; exec {sys.executable} "$@"')
    named = ["--python", str(tmp_path / "mine")]
    done = command("engines", "install", NAME, "--folder", "env", *named)
    assert done.code == 0, done.err
    assert (tmp_path / "used").is_file()
    said = refused_by("engines", "install", NAME, "--folder", "other", "--python", "nothing-here")
    assert "'nothing-here' does not run" in said


def script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_names_are_checked_before_anything_is_made(there: Environments) -> None:
    for action in ("install", "remove"):
        said = refused_by("engines", action, "tiny-engin", "--folder", "env")
        assert f"No engine 'tiny-engin'. Did you mean '{NAME}'" in said
    said = refused_by("engines", "install", "other-engine", "--folder", "env")
    assert "'other-engine' cannot be run: it asks for a Python that is not here." in said
    assert "not installed in env" in refused_by("engines", "remove", NAME, "--folder", "env")
    assert not there.folder.exists()


def refused_by(*words: str) -> str:
    done = command(*words)
    assert done.code == 2
    return done.err


def test_an_environment_that_is_not_whole_is_not_installed(there: Environments) -> None:
    python = there.python(NAME)
    python.parent.mkdir(parents=True)
    python.write_text("")
    assert there.installed(NAME) is None
    (there.folder / NAME / "installed.json").write_text("{")
    assert there.installed(NAME) is None
    with pytest.raises(UserError, match="is not installed"):
        released(NAME, folder="env").release.start(Path("log"))


def test_every_engine_with_a_driver_has_a_lock_of_exact_versions_and_of_its_own() -> None:
    for name, one in ENGINES.items():
        assert bool(one.stops) != one.driver.is_file(), name
        lines = Environments().requirements(name)
        if not one.stops:
            assert f"{name}=={one.version}" in lines
            assert any(line.startswith(f"{environments.RANKS}==") for line in lines)
        assert not [line for line in lines if "==" not in line or "/" in line or "@" in line]
