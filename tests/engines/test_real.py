"""Released engines themselves on the toy set; skipped for one that is not installed.

`make test-engines`; ENGINES=FOLDER where the environments are elsewhere.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import engine_prompts
import pytest
from toy_runs import ran, records, refused

from graphrag_bench.engines.environments import FOLDER, Environments
from graphrag_bench.engines.known import ENGINES
from graphrag_bench.models.ledger import read_ledger, sums

pytestmark = pytest.mark.slow

WHERE = os.environ.get("ENGINES", FOLDER)
THERE = Environments(Path(WHERE).expanduser())
MODES = ("equal", "as_released")
FOUNDER = "q1"
"""Who founded the Norvik Observatory?"""


@pytest.fixture(
    params=[
        pytest.param(
            name,
            marks=pytest.mark.skipif(bool(THERE.missing(name)), reason=THERE.missing(name)),
        )
        for name, one in ENGINES.items()
        if not one.stops
    ]
)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("engines")


@pytest.fixture
def home(engine: str, homes: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One folder for all runs of an engine: an index is built once."""
    (homes / engine).mkdir(exist_ok=True)
    monkeypatch.chdir(homes / engine)
    engine_prompts.asked.clear()
    return homes / engine


def words(engine: str, mode: str) -> list[str]:
    return [
        "dataset=toy", "method=original", f"engine={engine}", f"paths.engines={WHERE}",
        f"method.mode={mode}", "embedder=hashing", "llm=scripted",
        "llm._target_=engine_prompts.reader", "reference_rows=off", "limit=3",
    ]  # fmt: skip


def n_of_our_prompts() -> int:
    return sum(text.rstrip().endswith("Short answer:") for text in engine_prompts.asked)


@pytest.mark.parametrize("mode", MODES)
def test_an_engine_answers_from_our_chunks_and_every_call_is_counted(
    engine: str, mode: str, home: Path
) -> None:
    ended = ran(*words(engine, mode))
    held = records(ended.folder)
    assert [row["status"] for row in held] == ["answered"] * 3
    first = next(row for row in held if row["question"] == FOUNDER)
    assert "ada" in first["documents"]
    assert first["answer"] == "Ada Marsh"
    assert n_of_our_prompts() == (3 if mode == "equal" else 0)

    told = json.loads((ended.folder / "metrics.json").read_text())["engine"]
    assert (told["name"], told["version"]) == (engine, ENGINES[engine].version)
    assert (told["foreign"], told["n_chunks"]) == (0, 8)
    assert told["n_nodes"] > 8
    assert len(told["not_equal"]) > 1

    (recipe,) = (
        path for path in home.glob("artifacts/toy/original_index/*/recipe.json")
        if json.loads(path.read_text())["statistics"]["mode"] == mode
    )  # fmt: skip
    assert "observatory" in (recipe.parent / "graph.graphml").read_text().lower()
    built = sums(read_ledger(recipe.parent / "ledger.jsonl"), "stage", "step")
    assert set(built) == {("build", "original_index")}
    held_calls = (
        built["build", "original_index"],
        sums(read_ledger(ended.folder / "ledger.jsonl"))[()],
    )
    assert sum(one.paid.calls for one in held_calls) == len(engine_prompts.asked)
    assert held_calls[0].calls >= 8
    files = [path.read_bytes() for path in home.rglob("*") if path.is_file()]
    assert not [one for one in files if b"local-" in one]


def test_a_small_budget_is_kept_with_passages_in_it(engine: str, home: Path) -> None:
    ended = ran(*words(engine, "equal"), "budget_context=500")
    for row in records(ended.folder):
        pieces = row["context"]["pieces"]
        assert sum(piece["tokens"] for piece in pieces) <= 500
        assert "chunk" in {piece["kind"] for piece in pieces}


def test_an_unknown_setting_of_an_engine_is_an_error_with_the_nearest(
    engine: str, home: Path
) -> None:
    name, right = {
        "fast-graphrag": ("chunk_topk", "chunk_top_k"),
        "graphrag": ("local_search.top_k_entity", "local_search.top_k_entities"),
        "hipporag": ("qa_topk", "qa_top_k"),
    }.get(engine, ("topk", "top_k"))
    said = refused(*words(engine, "equal"), f"+engine.settings.{name}=3", code=1)
    assert f"there is no setting {name}. Did you mean {right}?" in said


@pytest.mark.skipif(bool(THERE.missing("graphrag")), reason=THERE.missing("graphrag"))
@pytest.mark.parametrize(
    ("mode", "kinds"), [("basic", {"chunk"}), ("global", set()), ("drift", set())]
)
def test_graphrag_answers_in_its_other_searches(
    mode: str, kinds: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = ran(
        *words("graphrag", "equal"), f"+engine.settings.mode={mode}", "method.max_calls=100"
    )
    for row in records(ended.folder):
        assert row["status"] == "answered"
        assert {piece["kind"] for piece in row["context"]["pieces"]} == kinds | {"engine"}
        assert bool(row["documents"]) == (mode != "global")
