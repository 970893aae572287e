"""The last prompt of every method row of the papers' tables, as it is sent for one question.

Those of tests/papers/prompts are reviewed by eye.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from graphrag_bench.config.compose import composed
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.data.dataset import load_card
from graphrag_bench.llm.calls import Chat
from graphrag_bench.papers.choices import table_runs
from graphrag_bench.papers.printed import Recipe, load_table, table_names
from graphrag_bench.pipeline.pipeline import run
from graphrag_bench.pipeline.steps import Execution
from graphrag_bench.progress import Progress
from graphrag_bench.prompts import FormName, answer_form
from graphrag_bench.run.execute import build_resources, start_state
from graphrag_bench.run.experiment import Experiment

pytestmark = pytest.mark.slow
FOLDER = Path(__file__).parent / "prompts"
MODELS = (
    "embedder=hashing", "llm=scripted", "llm._target_=paper_reader.reader", "workers=1",
    "nlp._target_=toy_runs.Capitals",
)  # fmt: skip
TOY = ("dataset=toy",)
WORLD = (
    "dataset=world", "dataset.size=30", "dataset.n_questions=8", "method.scorer=cosine",
)  # fmt: skip
"""For lists; a scorer that is trained would take seconds, and order near ties by the processor."""
_UNPLAIN = re.compile(r"[^\w.-]+")
ABSTRACT, SPECIFIC, LISTED = "q6", "q5", "q3"
"""The questions whose prompts are kept: for texts, anything else, and lists."""


@dataclass(frozen=True)
class Sent:
    """A file of prompts: the first row of a method, and the form of answer that its set wants."""

    name: str
    row: str
    form: FormName

    @property
    def question(self) -> str:
        if self.form == "list":
            return LISTED
        return ABSTRACT if self.form in ("paragraph", "summary") else SPECIFIC

    @property
    def words(self) -> tuple[str, ...]:
        """The settings of its run, models and folders aside."""
        return f"row={self.row}", *(WORLD if self.form == "list" else TOY), f"answers={self.form}"


@cache
def sent() -> tuple[Sent, ...]:
    """A file for each method of each paper; another for prose, and for another method of ours.

    Rows that differ by model, data set, number or seed alone share that of the first.
    """
    files: dict[tuple[str, ...], Sent] = {}
    for recipe, words in _answered():
        table, form = recipe.table, _form(recipe, words)
        row = next(row for row, own in table_runs(table.full_name).rows.items() if own == words)
        name = f"{table.owner}/{_UNPLAIN.sub('-', recipe.method_name)}"
        own = (word for word in words if word.startswith(("method=", "profile=")))
        taken = {one.name for one in files.values()}
        free = next(one for one in (name, f"{name}.{form}", f"{name}.{table.name}")
                    if one not in taken)  # fmt: skip
        files.setdefault((name, str(answer_form(form).prose), *own), Sent(free, row, form))
    return tuple(files.values())


def _answered() -> Iterator[tuple[Recipe, tuple[str, ...]]]:
    """The runs on the first set of each table that answer, with the settings of their rows."""
    for table in map(load_table, table_names()):
        for cell in table.cells:
            part = table.parts(cell)[0]
            for recipe in part.sides:
                words = recipe.row_words if cell.dataset == table.datasets[0] else None
                if words and recipe.method and "answer=off" not in words:
                    yield recipe, words


def _form(recipe: Recipe, words: tuple[str, ...]) -> FormName:
    """The form of answer to the first set of a table, as its card and the row have it."""
    if recipe.place.abstract:
        return "paragraph"
    forms = load_card(recipe.place.ran or "").answers
    form: FormName = forms if isinstance(forms, str) else forms["default"]
    return "free" if form == "short" and "answers=free" in words else form


def shown(one: Sent, home: Path) -> str:
    """What the file holds: how the prompt comes about, then its messages, each after its role."""
    experiment = Experiment.prepare(composed([*one.words, *MODELS, f"paths.home={home}"]))
    reader = experiment.models.bare("llm")
    resources = build_resources(experiment, experiment.models, Progress())
    resources |= {name: reader for name in ("llm", "llm_build") if name in resources}
    (question,) = [row for row in experiment.selection()[0] if row.id == one.question]
    reader.prompts.clear()
    start = partial(start_state, experiment, table=resources["chunk_table"])
    list(run([question], experiment.method.pipeline, Execution(resources), start=start))
    head = f"{' '.join(one.words)}, question {one.question}"
    return "\n".join([head, *_lines(reader.prompts[-1])]) + "\n"


def _lines(chat: Chat) -> Iterator[str]:
    for message in chat:
        yield from ("", f"[{message.role}]", message.content)


def path(name: str) -> Path:
    """The file of a name such as `pathrag/PathRAG`."""
    return FOLDER / f"{name}.txt"


def write_all() -> None:
    """Write the prompts of all rows anew, and none beside them."""
    for file in FOLDER.glob("*/*.txt"):
        file.unlink()
    with TemporaryDirectory() as home:
        for one in sent():
            path(one.name).parent.mkdir(parents=True, exist_ok=True)
            path(one.name).write_text(shown(one, Path(home)), encoding="utf-8")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which every artifact is built once."""
    load_plugins()
    return tmp_path_factory.mktemp("prompts")


def test_there_is_a_file_for_every_method_of_every_table_and_none_beside() -> None:
    files = {*FOLDER.glob("*/*.txt")}
    assert files == {path(one.name) for one in sent()}


@pytest.mark.parametrize("one", sent(), ids=lambda one: one.name)
def test_the_last_prompt_of_a_row_is_the_one_of_its_file(one: Sent, shared: Path) -> None:
    """Written anew by `write_all`."""
    stored = path(one.name).read_text(encoding="utf-8")
    assert shown(one, shared).splitlines() == stored.splitlines()
