"""A server that fails during a build: nothing incomplete passes for whole, and nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fake_openai import FakeOpenAI
from toy_runs import Ended, command, metrics

from cli.killing import determined, served

pytestmark = pytest.mark.slow

TOY = ["dataset=toy", "method=hipporag", "method.conversion=llm", "build.extraction=llm"]
TOY += ["embedder=hashing", "reference_rows=off", "workers=1"]
IMPATIENT = ["llm.patience={total: 5.0, first_pause: 0.01, longest_pause: 0.02}"]
UNREAD = "Otto Brandt"
"""Two of the passages name him."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(url: str, *settings: str) -> Ended:
    return command("run", *TOY, *served(url), *IMPATIENT, *settings)


def sealed(home: Path, resource: str) -> list[dict[str, object]]:
    found = sorted(home.glob(f"artifacts/*/{resource}/*/recipe.json"))
    return [json.loads(path.read_text()) for path in found]


def n_chunk_prompts(fake: FakeOpenAI, url: str) -> int:
    """How many of the requests were about a passage."""
    bodies = fake.stats(url).bodies
    return sum("Passage:" in body["messages"][-1]["content"] for body in bodies)


def test_an_outage_stops_the_build_and_the_next_run_asks_for_the_rest_alone(
    fake: FakeOpenAI, home: Path
) -> None:
    whole = run(fake.scenario(reads=True), "paths.home=whole")
    n_calls = sum(metrics(whole.folder)["cost"]["stages"]["build"][k]["calls"] for k in ("paid",))
    failing = fake.scenario(reads=True, out_after=2)
    stopped = run(failing, "llm.limits={concurrency: 1}", "paths.home=out")
    assert stopped.code == 1
    assert "extraction (extraction.llm) is not built" in stopped.err
    assert "6 of the 8 parts of its step are missing" in stopped.err
    assert "the server failed 5 calls in a row" in stopped.err
    assert "larger model" not in stopped.err and "Traceback" not in stopped.err
    assert not sealed(home / "out", "extraction") and not sealed(home / "out", "graph")
    healthy = fake.scenario(reads=True)
    done = run(healthy, "paths.home=out")
    assert done.code == 0, done.err
    assert fake.stats(failing).answered.total() == 2
    assert n_chunk_prompts(fake, healthy) == n_calls - 2
    same, other = determined(home / "whole"), determined(home / "out")
    assert {name: other[name] for name in same if "artifacts" in name} == {
        name: held for name, held in same.items() if "artifacts" in name
    }


def test_a_part_that_the_server_failed_is_never_sealed(fake: FakeOpenAI, home: Path) -> None:
    stopped = run(fake.scenario(reads=True, fail_word=UNREAD))
    assert stopped.code == 1
    assert "extraction (extraction.llm) is not built" in stopped.err
    assert "2 of the 8 parts of its step are missing" in stopped.err
    assert "failures.allow_incomplete=true" in stopped.err
    assert not sealed(home, "extraction")


def test_incomplete_is_said_in_key_and_tables_and_the_next_run_asks_for_the_rest(
    fake: FakeOpenAI, home: Path
) -> None:
    whole = run(fake.scenario(reads=True), "paths.home=whole")
    asked = ["failures.allow_incomplete=true", "answer=off"]
    part = run(fake.scenario(reads=True, fail_word=UNREAD), *asked)
    assert part.code == 0, part.err
    held = metrics(part.folder)
    assert held["incomplete"] == {"extraction": "2 parts"}
    assert held["title"].endswith("(incomplete)")
    assert "(incomplete)" in part.out and "built while the server failed" in part.out
    assert "extraction without 2 parts" in (part.folder / "table.md").read_text()
    assert held["build_rates"]["build extraction"]["failed"] > 0
    assert part.folder.name != whole.folder.name
    (recipe,) = sealed(home, "extraction")
    assert recipe["settings"]["missing_parts"].startswith("2 parts")
    (good,) = sealed(home / "whole", "extraction")
    assert recipe["key"] != good["key"]
    healthy = fake.scenario(reads=True)
    done = run(healthy, *asked)
    assert done.code == 0, done.err
    assert metrics(done.folder)["incomplete"] == {} and "incomplete)" not in done.out
    assert done.folder.name == whole.folder.name
    assert n_chunk_prompts(fake, healthy) == 4  # two passages: entities, then triples
    assert good["key"] in {one["key"] for one in sealed(home, "extraction")}


def test_calls_of_building_are_in_the_faults_of_a_table(fake: FakeOpenAI, home: Path) -> None:
    done = run(fake.scenario(reads=True, filter_word=UNREAD), "answer=off", "columns=all")
    assert done.code == 0, done.err
    rates = metrics(done.folder)["build_rates"]["build extraction"]
    assert rates["calls"] == 14 and rates["failed"] == round(2 / 14, 4)
    assert "faults" in done.out


def test_embeddings_that_the_server_fails_stop_the_build(fake: FakeOpenAI, home: Path) -> None:
    words = ["dataset=toy", "method=vanilla", "llm=scripted", "llm._target_=toy_runs.reader"]
    words += [
        "reference_rows=off",
        "answer=off",
        "embedder=openai_compatible",
        "embedder.model=fake",
    ]
    words += ["embedder.dimension=8", "embedder.api_key_env=null"]
    said = {"error": {"message": "This model's maximum context length is 8192 tokens."}}
    url = fake.scenario(raw_status=400, raw_body=json.dumps(said))
    stopped = command("run", *words, f"embedder.base_url={url}")
    assert stopped.code == 1 and "Traceback" not in stopped.err
    assert "chunk_index" in stopped.err and "maximum context length" in stopped.err
    assert not sealed(home, "chunk_index")
