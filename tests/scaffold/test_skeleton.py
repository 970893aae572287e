import subprocess
import sys
from pathlib import Path

import pytest
from toy_runs import TOY, command

from graphrag_bench.errors import UserError
from graphrag_bench.scaffold.skeleton import KINDS, Skeleton

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    result = tmp_path_factory.mktemp("kindslab")
    for kind in KINDS:
        Skeleton.of_operator(f"{kind}.my_{kind}", "kindslab").write(result)
    return result


def test_the_tests_of_every_kind_pass(package):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=package, capture_output=True, text=True, check=False,
        env={"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert f"{2 * len(KINDS)} passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.slow
def test_the_methods_of_every_kind_run_and_find_evidence(package, monkeypatch, open_registries):
    monkeypatch.chdir(package)
    methods = ",".join(f"my_{kind}" for kind in KINDS)
    words = [*TOY, f"method={methods}", "plugins=[kindslab]", "answer=off", "reference_rows=off"]
    ended = command("run", "-m", *words)
    assert ended.code == 0 and " 0.000 [" not in ended.out, ended.err
    assert all(f"my_{kind}" in ended.out for kind in KINDS)


def test_new_operator_and_new_method_write_the_same_package(home, monkeypatch):
    written = []
    for what, name in (("operator", "chunk.mine"), ("method", "mine")):
        (home / what).mkdir()
        monkeypatch.chdir(home / what)
        out = command("new", what, name).out
        assert "method=mine,vanilla plugins=[mine]" in out and "!" not in out
        written.append({str(path): path.read_bytes() for path in Path().rglob("*.*")})
    assert written[0] == written[1] and len(written[0]) == 5
    assert "'other'" in command("new", "method", "other").out  # has no entry point


def test_a_second_operator_is_added_and_no_file_is_overwritten(home):
    skeleton = Skeleton.of_operator("chunk.mine")
    skeleton.write(home)
    Skeleton.of_operator("node.bridge", "mine").write(home)
    imports = [f"from mine import {one} as {one}" for one in ("chunk_mine", "node_bridge")]
    assert Path("mine/__init__.py").read_text().splitlines()[-2:] == imports
    (own := Path("mine/chunk_mine.py")).write_text("# hours of work\n")
    with pytest.raises(UserError, match="mine/chunk_mine.py"):
        skeleton.write(home)
    assert own.read_text() == "# hours of work\n"


def test_an_invalid_name_is_refused():
    for operator, message in (
        ("mine", "KIND.NAME"), ("chnk.mine", "chunk"), ("chunk.../../Mine", "Mine"),
        ("chunk.class", "class"), ("chunk.yes", "yes"), ("chunk.vdb", "chunk.vdb"),
        ("chunk.hipporag", "'hipporag'"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=message):
            Skeleton.of_operator(operator)
