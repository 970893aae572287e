"""A finished run, its artifacts and replies are enough where no model is installed."""

import json
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from toy_runs import Ended, command, run_folder, shell

from graphrag_bench.embedding.sentence_embedder import SentenceEmbedder
from graphrag_bench.errors import UserError
from graphrag_bench.run.models import identity_of

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
REAL = "sentence-transformers:all-MiniLM-L6-v2@{}:384:unit:float32:long=windows(256):prefixes=,"
SETTINGS = ["dataset=toy", "method=hipporag", "reference_rows=off", "answer=on"]


def bare(*arguments: str) -> Ended:
    """The command in a process to which no model, and neither torch nor spaCy, is installed."""
    return shell(*arguments, first=[ROOT / "tests" / "without_models"])


@pytest.mark.real
def test_a_finished_run_needs_no_model_to_be_printed_scored_compared_and_shown(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    place = f"paths.home={home}"
    scripted = ["llm=scripted", "llm._target_=toy_runs.reader"]
    whole = [run_folder(*SETTINGS, *scripted, place, f"method.damping={d}") for d in (0.3, 0.5)]
    replies = tmp_path / "replies.jsonl.gz"
    exported = command(
        "cache", "export", str(replies), "--path", str(home / "cache/replies.sqlite")
    )
    assert exported.code == 0, exported.err

    replay = [*SETTINGS, "llm=replay", f"llm.path={replies}", place]
    again = bare("run", *replay)
    assert again.code == 0, again.err
    assert again.folder == whole[1]
    assert "is not installed" not in again.err

    for words in (
        ("score", str(whole[0])),
        ("diff", *map(str, whole)),
        ("table", "rows=damping", "--home", str(home)),
        ("funnel", str(whole[0])),
        ("show", str(whole[0]), "Who founded the Norvik Observatory?"),
    ):
        ended = bare(*words)
        assert ended.code == 0, (words, ended.err)

    lacking = bare("run", "dataset=sample", *replay[1:])
    assert lacking.code == 2
    assert "is not installed" in lacking.err


def stored(home: Path, version: str) -> None:
    folder = home / "artifacts" / "toy" / "chunk_index" / version
    folder.mkdir(parents=True)
    inputs = {"embedder": REAL.format(version), "chunk_table": "0"}
    (folder / "recipe.json").write_text(json.dumps({"inputs": inputs}))


@pytest.fixture
def missing(monkeypatch: pytest.MonkeyPatch) -> SentenceEmbedder:
    """The packaged embedder on a machine that has it not."""
    module = "graphrag_bench.embedding.sentence_embedder"

    def unknown(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(f"{module}.version", unknown)
    return SentenceEmbedder()


def test_a_missing_model_is_known_by_what_it_has_made(
    missing: SentenceEmbedder, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="is not installed"):
        identity_of(missing, "embedder", tmp_path)
    stored(tmp_path, "0.1.0")
    assert identity_of(missing, "embedder", tmp_path) == REAL.format("0.1.0")
    other = SentenceEmbedder(question_prefix="q: ")
    with pytest.raises(UserError):
        identity_of(other, "embedder", tmp_path)
    stored(tmp_path, "0.2.0")
    with pytest.raises(UserError, match="Several versions"):
        identity_of(missing, "embedder", tmp_path)
