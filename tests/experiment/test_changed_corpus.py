"""What a run and a plan say of a corpus that was built before and has changed since."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import toy_runs
from toy_runs import WEIGHTLESS, command, ran, write_set

from graphrag_bench.data.history import FOLDER
from graphrag_bench.experiment import calls_left
from graphrag_bench.models.fan_out import Request
from graphrag_bench.models.outcomes import Completion, RunStopped
from graphrag_bench.models.scripted import Scripted

pytestmark = pytest.mark.slow

QUESTION = {"id": "q", "text": "Whom does Ada meet?", "answers": ["Bob"], "evidence": ["d1"]}
WITHOUT_CALLS = ["dataset=jsonl", "dataset.root=mine", *WEIGHTLESS, "answer=off"]
WITHOUT_CALLS += ["reference_rows=off"]
HIPPORAG = [*WITHOUT_CALLS, "method=hipporag"]
EXTRACTING = [*HIPPORAG, "build.extraction=llm", "llm._target_=counting_reader.reader"]
SUMMARISING = [
    *WITHOUT_CALLS, "method=raptor", "build.graph.variant=tree_llm",
    "build.graph.clustering=kmeans", "build.graph.cluster_size=3",
    "llm._target_=counting_reader.reader",
]  # fmt: skip
NAMES = "Ada Bob Cora Dan Eve Finn Gus Hana Ivo Jane Karl Lena Max Nora Otto Pia Quin Rosa Sam Tea"


def document(number: int, more: str = "") -> dict[str, object]:
    names = NAMES.split()
    one, two = names[number % 20], names[(number * 7 + 1) % 20]
    return {"id": f"d{number}", "title": "", "text": f"{one} meets {two} in Town {number}{more}."}


def corpus(n: int = 20) -> list[dict[str, object]]:
    return [document(number) for number in range(n)]


CHANGED = [
    *[row for row in corpus() if row["id"] not in ("d3", "d5")],
    document(3, " by night"),
    document(20),
    document(21),
]
"""21 documents: 2 are new, one has changed and moved to another place, one is gone."""
SAID = re.compile(
    r"2 of 21 documents new, 1 changed, 1 gone "
    r"\(since version 1, built \d{4}-\d\d-\d\d \d\d:\d\d UTC\)"
)
Write = Callable[[list[dict[str, object]]], Path]


@pytest.fixture(autouse=True)
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write the corpus of `mine`."""
    monkeypatch.chdir(tmp_path)
    return lambda rows: write_set(tmp_path / "mine", rows, [QUESTION])


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The prompts that reach the model, which stops at one of `toy_runs.stops_on`."""
    reached: list[str] = []
    call = Scripted.call

    def noted(self: Scripted, request: Request) -> Completion:
        text = request.prompt[-1].content
        reached.append(text)
        if any(words in text for words in toy_runs.stops_on):
            raise RunStopped("the model was told to stop")
        return call(self, request)

    monkeypatch.setattr(Scripted, "call", noted)
    return reached


def planned(*words: str) -> str:
    ended = command("plan", *words)
    assert ended.code == 0, ended.err
    return ended.out


def said(*words: str) -> list[str]:
    """What a run says of documents and of the calls of its building."""
    lines = ran(*words).err.splitlines()
    return [line for line in lines if "documents" in line or " calls instead of " in line]


def test_nothing_is_said_of_the_first_version(write: Write) -> None:
    write(corpus())
    assert "corpus:" not in planned(*HIPPORAG)
    assert said(*HIPPORAG) == []


def test_nothing_is_said_where_everything_is_built(write: Write) -> None:
    write(corpus())
    ran(*HIPPORAG)
    write(CHANGED)
    ran(*HIPPORAG)
    assert "corpus:" not in planned(*HIPPORAG)
    assert said(*HIPPORAG) == []


def test_a_plan_and_a_run_say_what_changed(write: Write) -> None:
    write(corpus())
    ran(*HIPPORAG)
    write(CHANGED)
    line = next(line for line in planned(*HIPPORAG).splitlines() if "corpus:" in line)
    assert SAID.fullmatch(line.removeprefix("  corpus: "))
    (told,) = said(*HIPPORAG)
    assert SAID.fullmatch(told.removeprefix("jsonl-mine: "))


def test_of_all_runs_of_a_version_the_first_says_it(write: Write) -> None:
    write(corpus())
    ran(*HIPPORAG)
    write(CHANGED)
    sweep = ["-m", *WITHOUT_CALLS, "method=vanilla,hipporag"]
    assert len(said(*sweep)) == 1
    assert SAID.search(planned(*WITHOUT_CALLS, "method=raptor"))


def test_only_what_moved_is_not_said(write: Write) -> None:
    write(corpus())
    ran(*HIPPORAG)
    write(corpus()[::-1])
    assert "corpus:" not in planned(*HIPPORAG)
    assert said(*HIPPORAG) == []


def test_another_corpus_under_the_same_name_is_no_change(write: Write) -> None:
    write(corpus())
    ran(*HIPPORAG)
    write([document(number) for number in range(40, 60)] + [{**document(60), "id": "d1"}])
    assert "20 of 21 documents new, 1 changed, 19 gone" in planned(*HIPPORAG)
    write_set(Path("mine"), [{**document(61), "id": "e"}], [{**QUESTION, "evidence": ["e"]}])
    assert "corpus:" not in planned(*HIPPORAG)


def test_a_build_that_failed_is_no_version(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write(corpus())
    monkeypatch.setattr(toy_runs, "stops_on", {"Bob"})
    assert command("run", *HIPPORAG, "build.extraction=llm").code != 0
    assert not list(Path("artifacts").glob(f"*/{FOLDER}/*"))


def test_a_graph_for_each_scope_has_no_history(write: Write) -> None:
    words = [*HIPPORAG, "graph.per=partition"]
    rows = [{**row, "scope": "s"} for row in corpus()]
    write_set(Path("mine"), rows, [{**QUESTION, "scope": "s"}])
    ran(*words)
    assert list(Path("artifacts").glob("*/graph/*/recipe.json"))
    assert not list(Path("artifacts").glob(f"*/{FOLDER}"))


def test_the_calls_of_a_changed_corpus_are_counted_before_and_after(write: Write) -> None:
    write(corpus())
    assert said(*EXTRACTING) == []
    write(CHANGED)
    plan = planned(*EXTRACTING)
    assert f"extraction: 6 calls instead of 42, {calls_left.COUNTED}" in plan
    assert re.search(r"(?m)^  extraction +6 ", plan)
    assert said(*EXTRACTING)[1:] == ["building: 6 calls instead of 42"]
    assert "instead" not in planned(*EXTRACTING)


def test_a_document_that_comes_back_costs_nothing(write: Write) -> None:
    write(corpus())
    ran(*EXTRACTING)
    write(CHANGED)
    ran(*EXTRACTING)
    write([*CHANGED, document(5)])
    assert "1 of 22 documents new (since version 2" in planned(*EXTRACTING)
    assert "extraction: 0 calls instead of 44" in planned(*EXTRACTING)
    assert said(*EXTRACTING)[1:] == ["building: 0 calls instead of 44"]


def test_what_a_stopped_build_has_paid_is_not_expected_again(
    write: Write, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(corpus())
    ran(*EXTRACTING)
    write([*corpus(), document(20), document(21)])
    assert "extraction: 4 calls instead of 44" in planned(*EXTRACTING)
    monkeypatch.setattr(toy_runs, "stops_on", {"Town 21"})
    assert command("run", *EXTRACTING).code != 0
    monkeypatch.setattr(toy_runs, "stops_on", set[str]())
    assert "extraction: 3 calls instead of 44" in planned(*EXTRACTING)
    calls.clear()
    assert said(*EXTRACTING)[1:] == ["building: 4 calls instead of 44"]
    assert len(calls) == 3


def test_calls_that_prompts_do_not_tell_are_in_proportion(write: Write) -> None:
    write(corpus())
    ran(*SUMMARISING)
    write(CHANGED)
    found = re.search(r"graph: (\d+) calls instead of (\d+), in prop", planned(*SUMMARISING))
    assert found
    left, whole = map(int, found.groups())
    assert left == -(-whole * 3 // 21)


def test_no_proportion_is_taken_where_the_version_before_was_not_built(write: Write) -> None:
    write(corpus())
    ran(*HIPPORAG)
    write(CHANGED)
    plan = planned(*SUMMARISING)
    assert "corpus: 2 of 21" in plan and "instead" not in plan


def test_no_call_is_saved_without_stored_replies(write: Write) -> None:
    write(corpus())
    ran(*EXTRACTING)
    write(CHANGED)
    assert "instead" not in planned(*EXTRACTING, "cache.mode=refresh")
    assert "instead" not in planned(*EXTRACTING, "cache.mode=off")
    assert len(said(*EXTRACTING, "cache.mode=off")) == 1


def test_planning_a_changed_corpus_calls_and_writes_nothing(
    write: Write, calls: list[str], tmp_path: Path
) -> None:
    write(corpus())
    ran(*EXTRACTING)
    write(CHANGED)
    calls.clear()

    def files() -> dict[str, bytes]:
        """All files but the stores, which the run before may still be closing."""
        every = (path for path in tmp_path.rglob("*") if path.is_file())
        return {str(path): path.read_bytes() for path in every if path.parent.name != "cache"}

    before = files()
    planned(*EXTRACTING)
    assert "instead" not in planned(*EXTRACTING, "cache.path=other.sqlite")
    assert files() == before
    assert calls == []


def test_a_larger_corpus_is_estimated_and_not_looked_up(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(corpus())
    ran(*EXTRACTING)
    write(CHANGED)
    monkeypatch.setattr(calls_left, "MOST_COUNTED", 20)
    line = f"extraction: 6 calls instead of 42, {calls_left.IN_PROPORTION}"
    assert line in planned(*EXTRACTING)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["method=raptor"], "the tree is clustered anew"),
        (["method=lgraphrag"], "communities are found anew (build.communities=leiden_grown keeps"),
    ],
)
def test_what_is_made_anew_beyond_the_change_is_said(
    words: list[str], said: str, tmp_path: Path
) -> None:
    asked = ["dataset=toy", *words, *WEIGHTLESS, "answer=off", "reference_rows=off",
             f"paths.home={tmp_path}", "dataset.parts=2"]  # fmt: skip
    assert said not in ran(*asked, "dataset.part=1").err
    assert said in command("plan", *asked, "dataset.part=2").out
    assert said in ran(*asked, "dataset.part=2").err
