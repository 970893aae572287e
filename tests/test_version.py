"""The commit of a checkout."""

import subprocess

from graphrag_bench import version


def test_a_checkout_without_commits_has_an_unknown_commit(tmp_path, monkeypatch):
    monkeypatch.setattr(version, "_ROOT", tmp_path)
    (tmp_path / "pyproject.toml").touch()
    commit = version.commit.__wrapped__  # without the cache
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    assert commit() == "unknown"
    author = ["-c", "user.name=a", "-c", "user.email=a@b"]
    words = ["git", *author, "commit", "-q", "-m", "first"]
    subprocess.run(words, cwd=tmp_path, check=True)
    assert len(commit()) == 10
    (tmp_path / "new").touch()
    assert len(commit()) == 11 and commit().endswith("+")
