"""The last prompt of each method in the papers' tables, for one question.

The files of tests/papers/prompts are reviewed by eye; their first line has the settings.
"""

import re
from functools import partial
from pathlib import Path

import pytest

from graphrag_bench.config.compose import compose_settings
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.papers.printed import load_table, table_names
from graphrag_bench.pipeline.pipeline import run
from graphrag_bench.pipeline.steps import Execution
from graphrag_bench.progress import Progress
from graphrag_bench.run.execute import build_resources, start_state
from graphrag_bench.run.experiment import Experiment

pytestmark = pytest.mark.slow
FOLDER = Path(__file__).parent / "prompts"
FILES = sorted(path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.glob("*/*"))
MODELS = ("embedder=hashing", "llm=scripted", "llm._target_=counting_reader.paper_reader",
          "workers=1", "nlp._target_=toy_runs.Capitals")  # fmt: skip


def written(head: str, home: Path) -> str:
    """The content of a file: first line, then the messages with their roles."""
    words, _, asked = head.partition(", question ")
    settings = compose_settings([*words.split(), *MODELS, f"paths.home={home}"])
    experiment = Experiment.prepare(settings)
    reader = experiment.models.unwrapped("llm")
    resources = build_resources(experiment, experiment.models, Progress())
    resources |= {name: reader for name in ("llm", "llm_build") if name in resources}
    (question,) = [row for row in experiment.selection()[0] if row.id == asked]
    reader.prompts.clear()
    start = partial(start_state, experiment, table=resources["chunk_table"])
    list(run([question], experiment.method.pipeline, Execution(resources), start=start))
    messages = (f"\n[{message.role}]\n{message.content}" for message in reader.prompts[-1])
    return "\n".join([head, *messages]) + "\n"


def write(name: str, head: str, home: Path) -> None:
    """Rewrite a file such as `pathrag/PathRAG` with this first line."""
    load_plugins()
    (FOLDER / f"{name}.txt").write_text(written(head, home), encoding="utf-8")


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    load_plugins()
    return tmp_path_factory.mktemp("prompts")


def test_every_answering_method_has_a_prompt_file():
    recipes = [one for table in map(load_table, table_names()) for cell in table.cells
               for part in table.parts(cell)[:1] for one in part.sides]  # fmt: skip
    answering = {
        f"{one.table.owner}/" + re.sub(r"[^\w-]+", "-", one.method_name) for one in recipes
        if one.row_words is not None and "answer=off" not in one.row_words
    }  # fmt: skip
    assert {name.partition(".")[0] for name in FILES} == answering


@pytest.mark.parametrize("name", FILES)
def test_the_last_prompt_equals_its_file(name, shared):
    stored = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    assert written(stored.partition("\n")[0], shared).splitlines() == stored.splitlines()
