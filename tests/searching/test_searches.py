"""A search finds what its space holds, gives the same front again, and runs no invalid chain."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import toy_runs
from toy_runs import TOY, command, ran, refused

from graphrag_bench.config.compose import compose, composed
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.config.words import read_words
from graphrag_bench.progress import Progress
from graphrag_bench.searching.candidates import Candidate, drawn, n_points
from graphrag_bench.searching.scoring import Scorer
from graphrag_bench.searching.search import Outcome, Search, Wanted
from graphrag_bench.searching.shapes import shapes
from graphrag_bench.searching.space import Space, read_space

HERE = Path(__file__).resolve().parent
KNOWN = str(HERE / "known.yaml")
SMALL = ["graphs=none,kg", "max_steps=3", "cells=24", "answer=off"]
BY_HAND = ("vanilla", "hipporag", "linearrag", "llightrag")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def space() -> Space:
    load_plugins()
    return read_space("default")


def searched(*words: str, space: Space, **wanted: object) -> Outcome:
    asked = Wanted(**{"cells": 24, "max_steps": 3, "against": ("vanilla", "bm25"), **wanted})  # type: ignore[arg-type]
    values = composed(read_words([*TOY, *words]))
    return Search(values, space, asked, Progress(quiet=True)).run()


def front_of(folder: Path) -> object:
    (path,) = folder.glob("searches/toy/*/front.json")
    return json.loads(path.read_text())


def test_a_space_that_holds_them_gives_the_hand_written_methods_their_run_keys(home: Path) -> None:
    load_plugins()
    known = read_space(KNOWN)
    chains = shapes(known, max_steps=5)
    scorer = Scorer(composed(read_words([*TOY, "method=vanilla"])), "evidence_recall@5")
    try:
        left = {}
        for name in BY_HAND:
            one = scorer.experiment(compose({"method": name}, {})["method"])
            left[one.key] = name
        wanted = {key: _steps_of(scorer, name) for key, name in left.items()}
        for one in drawn(known, chains, 10**9, 0):
            if _names(one) in wanted.values():
                left.pop(scorer.experiment(one.method()).key, None)
    finally:
        scorer.close()
    assert left == {}


def _names(one: Candidate) -> tuple[str, ...]:
    return tuple(step.name for step in one.shape.steps)


def _steps_of(scorer: Scorer, name: str) -> tuple[str, ...]:
    method = compose({"method": name}, {})["method"]
    pipeline = scorer.experiment(method).method.pipeline
    steps = [*pipeline.convert, *pipeline.retrieve]
    names = [op.operator.name for step in steps for op in step.operators()]
    names = [name for name in names if name != "chunk.pick.none"]
    return tuple(names[: names.index("chunk.vdb")] + names[names.index("chunk.vdb") + 1 :]
                 if len(names) > 1 and "chunk.vdb" in names else names)  # fmt: skip


@pytest.mark.parametrize("seed", [0, 1])
def test_every_pipeline_that_is_drawn_is_valid(home: Path, space: Space, seed: int) -> None:
    chains = shapes(space, max_steps=4)
    found = drawn(space, chains, 120, seed)
    assert len({one.name for one in found}) == 120
    assert {one.shape.graph for one in found} == set(space.graphs)
    scorer = Scorer(composed(read_words([*TOY, "method=vanilla"])), "evidence_recall@5")
    try:
        keys = {scorer.experiment(one.method()).key for one in found}  # raises where it is not
    finally:
        scorer.close()
    assert len(keys) == 120


def test_a_search_calls_no_model_and_tells_what_it_scored(home: Path, space: Space) -> None:
    toy_runs.asked.clear()
    outcome = searched(space=space.within(["none", "kg"]))
    assert toy_runs.asked == []
    assert outcome.refused == {} and outcome.n_candidates == 24
    assert [count for _, count in outcome.halved.scored] == [24]
    assert outcome.taken > outcome.computed / 4
    for one in outcome.found:
        assert one.luck == pytest.approx(one.dev.value - one.test.mean)
        assert one.p is not None and one.difference is not None and one.p >= one.difference.p


def test_a_planted_operator_that_is_better_is_found(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(HERE))
    words = ["dataset=toy", "plugins=[planted]", "graphs=none", "max_steps=2", "cells=200"]
    ended = command("search", *TOY[1:], *words, "answer=off")
    assert ended.code == 0, ended.err
    first = front_of(home)[0]  # type: ignore[index]
    assert "chunk.planted" in first["steps"]
    assert first["dev"]["value"] == first["test"]["mean"] == 1.0


def test_the_same_seed_gives_the_same_front_and_another_seed_another_draw(
    home: Path, space: Space, tmp_path_factory: pytest.TempPathFactory, monkeypatch
) -> None:  # type: ignore[no-untyped-def]
    small = space.within(["none", "kg"])
    one = searched("seed=3", space=small)
    monkeypatch.chdir(tmp_path_factory.mktemp("again"))
    two = searched("seed=3", space=small)
    assert [(o.name, o.dev, o.test, o.p) for o in one.found] == [
        (o.name, o.dev, o.test, o.p) for o in two.found
    ]
    assert searched("seed=4", space=small).folder != two.folder


@pytest.mark.slow
def test_a_killed_search_goes_on_and_ends_with_the_same_front(
    home: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = os.pathsep.join([str(HERE.parents[1]), str(HERE.parent)])
    words = [sys.executable, "-m", "graphrag_bench.cli.main", "search", *TOY, *SMALL]
    environment = {**os.environ, "PYTHONPATH": path}
    running = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)  # fmt: skip
    journal = None
    for _ in range(600):
        journal = next(home.glob("searches/toy/*/journal.jsonl"), None)
        if journal is not None and len(journal.read_bytes().splitlines()) >= 5:
            break
        time.sleep(0.05)
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert journal is not None and not (journal.parent / "front.json").exists()
    with journal.open("a") as file:
        file.write('{"key": "cut off in the mid')
    before = len(journal.read_text().splitlines())
    assert command("search", *TOY, *SMALL).code == 0
    after = len(journal.read_text().splitlines())
    assert after > before
    resumed = front_of(home)
    monkeypatch.chdir(tmp_path_factory.mktemp("whole"))
    assert command("search", *TOY, *SMALL).code == 0
    assert front_of(Path()) == resumed


def test_time_cuts_a_search_which_says_what_it_has_not_scored(home: Path, space: Space) -> None:
    ticks: Iterator[float] = iter([0.0] * 11 + [100.0] * 1000)
    values = composed(read_words(TOY))
    wanted = Wanted(cells=24, max_steps=3, against=("vanilla",), seconds=10.0)
    cut = Search(values, space.within(["none", "kg"]), wanted, Progress(quiet=True),
                 clock=lambda: next(ticks))  # fmt: skip
    outcome = cut.run()
    assert outcome.halved.scored == ((3, 10),) and outcome.halved.unscored == 14
    assert outcome.found
    again = Search(values, space.within(["none", "kg"]), wanted, Progress(quiet=True)).run()
    assert again.halved.unscored == 0 and again.folder == outcome.folder


def test_a_winner_is_a_method_that_runs_with_the_key_it_had(home: Path, space: Space) -> None:
    ended = command("search", *TOY, *SMALL)
    assert ended.code == 0, ended.err
    paths = [line.removeprefix("method: ") for line in ended.out.splitlines() if "method: " in line]
    rows = front_of(home)
    run = ran(*TOY, f"method=./{paths[0]}", "answer=off", "reference_rows=off")
    assert run.folder.name == rows[0]["dev"]["key"]  # type: ignore[index]
    swept = ran(*TOY, f"method=./{paths[0]}", "answer=off", "reference_rows=off", "method.top_k=2")
    assert swept.folder.name != run.folder.name
    text = Path(paths[0]).read_text()
    assert "found by: graphrag-bench search dataset=toy" in text


def test_the_reader_gets_the_best_on_test_alone(home: Path) -> None:
    ended = command("search", *TOY, "graphs=none", "max_steps=2", "cells=4", "best=1")
    assert ended.code == 0, ended.err
    assert "accuracy" in ended.out and "run: " in ended.out


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("graphs=kgg", "kg"),
        ("space=defalt", "default"),
        ("time=30", "time=30m"),
        ("cells=none", "a number from 1 on"),
        ("method=hipporag", "a search chooses that itself"),
        ("metric=evidence_recal@5", "evidence_recall@5"),
        ("against=hiporag", "hipporag"),
    ],
)
def test_what_is_wrong_is_answered_with_what_would_be_right(
    home: Path, word: str, said: str
) -> None:
    assert said in refused(*TOY, "graphs=none", "cells=2", "answer=off", word, name="search")


def test_a_space_that_asks_a_model_is_refused(home: Path) -> None:
    text = Path(KNOWN).read_text().replace("  query.low: {}", "  question.entities.llm: {}")
    Path("asks.yaml").write_text(text)
    said = refused(*TOY, "space=./asks.yaml", "answer=off", name="search")
    assert "question.entities.llm asks a language model" in said


def test_the_points_of_a_space_are_shapes_times_values(space: Space) -> None:
    load_plugins()
    none = space.within(["none"])
    chains = shapes(none, max_steps=1)
    # bm25; vdb of the question: with one value of each setting
    assert [_names(Candidate(none, one, ())) for one in chains["none"]] == [
        ("chunk.vdb",), ("chunk.bm25",),
    ]  # fmt: skip
    assert n_points(none, chains) == 2
