"""Every object of the Python interface is shown in less than 300 characters."""

import pytest
from toy_runs import READER

import graphrag_bench as gb

MOST = 300


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What a notebook gets hold of, by name."""
    home = tmp_path_factory.mktemp("home")
    data = gb.dataset("sample")
    world = gb.dataset("world", size=60)
    settings = {"embedder": "hashing", "llm": READER, "paths": {"home": str(home)}}
    pipeline = gb.method("hipporag", conversion="llm", **settings)
    pipeline.settings["nlp"] = {"_target_": "toy_runs.Capitals"}
    run = pipeline.run(data, limit=3)
    answered = pipeline.ask("Who taught Ada Marsh?", "toy")
    resources = run.experiment.models
    result = {
        "dataset": data, "world set": world, "world": world.world, "document": data.documents[0],
        "question": data.questions[0], "gold": data.gold[data.questions[0].id],
        "pipeline": pipeline, "run": run, "result": run.result,
        "experiment": run.experiment, "run folder": run.result.folder, "answered": answered,
        "context": answered.context, "context piece": answered.context.pieces[0],
        "trace": answered.trace[0], "models": resources,
    }  # fmt: skip
    for step in answered.trace:
        result |= {f"{step.step} {slot}": value for slot, value in step.wrote.items()}
    store = run.experiment.store()
    wanted = {"graph", "chunk_table"}
    result |= store.resources(run.experiment.plan, wanted, run.experiment.models)
    return result


def test_every_object_has_a_short_form(objects: dict[str, object]) -> None:
    assert {"graph", "chunk_table", "run", "dataset", "answered"} <= set(objects)
    lengths = {name: len(repr(value)) for name, value in objects.items()}
    assert {name: n for name, n in lengths.items() if n >= MOST} == {}
    assert all("\n" not in repr(value) for value in objects.values())


def test_short_forms_say_what_there_is(objects: dict[str, object]) -> None:
    assert "documents=<" in repr(objects["dataset"])
    assert repr(objects["run"]).startswith("<Run hipporag on sample: 3 questions, 3 answered, 0 f")
    assert repr(objects["pipeline"]).startswith("<Pipeline hipporag: ")
    assert "ids=[" in repr(objects["retrieve.0 node.link nodes"])
