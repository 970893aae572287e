"""What every registered offline builder keeps to: the same input, the same bytes."""

import json
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import test_contracts
from gnn_checkpoints import checkpoint
from small_worlds import Babbling, Capitals, Obliging, dataset, process_output

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.artifacts.plan import AMBIENT, Planned, plan
from graphrag_bench.artifacts.store import RECIPE, Store
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.contract import REQUIRED, Builder, builders
from graphrag_bench.data.dataset import Gold
from graphrag_bench.data.subgraphs import Subgraphs
from graphrag_bench.data.training import TrainingSet
from graphrag_bench.embedding.embedder import Hashing
from graphrag_bench.embedding.model_files import Checkpoint
from graphrag_bench.errors import UserError
from graphrag_bench.fingerprint import digest
from graphrag_bench.progress import Progress
from graphrag_bench.run.method import complete
from graphrag_bench.run.models import Models
from graphrag_bench.values import Question

pytestmark = pytest.mark.slow

load_plugins()
BUILDERS = [one for one in builders.all() if "import_from" not in one.needs]
"""All but the importers, which are tested with files of their own."""

TEXTS = dataset(
    ("ada", "Ada Marsh", "Ada Marsh founded Norvik. Ada Marsh was born in Norvik."),
    ("otto", "Otto Brandt", "Otto Brandt taught Mira Holt. Mira Holt met Ada Marsh."),
    ("again", "Otto Brandt", "Otto Brandt taught Mira Holt. Mira Holt met Ada Marsh."),
    ("naive", "", "Nothing is said of anybody here."),
    *((f"visit {i}", "", f"Ada Marsh visited Place{i} in a {i}th year.") for i in range(10)),
)
"""Thirteen different passages: a tree of them has summaries."""
TRIPLES = {
    "ada": [("Ada Marsh", "person.founded", "Norvik"), ("Ada Marsh", "person.met", "m.01")],
    "otto": [("m.01", "person.taught", "Mira Holt"), ("Ada Marsh", "person.met", "m.01")],
}
CORPUS = replace(TEXTS, subgraphs=Subgraphs.of(TRIPLES.items()))
LEARNT = replace(
    CORPUS,
    questions=(
        Question("ada", "What did Ada found?", "ada", ("Ada Marsh",)),
        Question("otto", "Who met m.01?", "otto", ("m.01",)),
    ),
    gold={"ada": Gold(answer_entities=("Norvik",)), "otto": Gold(answer_entities=("Ada Marsh",))},
)
USUAL = {
    "chunk_table": "presplit",
    "extraction": "nlp",
    "text_extraction": "nlp",
    "fact_extraction": "nlp",
    "pseudo_questions": "nlp",
    "schema_extraction": "nlp",
    "graph": "kg",
    "communities": "leiden",
    "triple_scorer": "cosine",
    "reports": "extractive",
    "gnn_weights": "trained",
}
"""What a builder is built from, where there are several variants of that."""
QUICK: Mapping[tuple[str, str], Mapping[str, int]] = {
    ("gnn_weights", "trained"): {
        "hidden": 4, "layers": 1, "epochs": 1, "world_size": 12, "questions": 6,
    }
}  # fmt: skip
"""Settings of builders that would take long with their defaults."""
OTHERWISE = {"attribute_index": {"graph": "attributed"}}
"""What else a resource is built from, where the usual graph has not what it takes."""

each_builder = pytest.mark.parametrize("builder", BUILDERS, ids=lambda builder: builder.name)


def inputs(home: Path) -> dict[str, Any]:
    """What is not built: the corpus, an OpenIE file of it, and models without weights."""
    docs = [
        {
            "passage": document.passage,
            "extracted_entities": Capitals().entities(document.text),
            "extracted_triples": [["Ada Marsh", "founded", "Norvik"], ["odd", "one"]],
        }
        for document in CORPUS.documents
    ]
    home.mkdir(parents=True, exist_ok=True)
    (home / "openie.json").write_text(json.dumps({"docs": docs}), encoding="utf-8")
    model = Obliging()
    return {
        "corpus": CORPUS,
        "training": TrainingSet("tiny", lambda _: LEARNT, lambda: len(LEARNT.questions)),
        "openie": home / "openie.json",
        "embedder": Hashing(32),
        "nlp": Capitals(),
        "llm": model,
        "llm_build": model,
        "checkpoint": Checkpoint(str(checkpoint(home / "checkpoint"))),
    }


def planned(builder: Builder) -> list[Planned]:
    """The plan of an artifact and of all it is built from."""
    special = OTHERWISE.get(builder.resource, {})
    chosen = {**USUAL, **special, builder.resource: builder.variant}
    choices = {
        resource: {"variant": variant, **QUICK.get((resource, variant), {})}
        for resource, variant in chosen.items()
    }
    complete(choices, CORPUS)
    identities = {name: lambda name=name: name for name in Models.NAMES}
    return plan({builder.resource}, choices, identities)


def built(builder: Builder, home: Path) -> tuple[Any, Path]:
    """The artifact, and the folder it stands in."""
    (own,) = (one for one in planned(builder) if one.resource == builder.resource)
    return resources(builder, home, {builder.resource})[builder.resource], store(home).folder(own)


def resources(builder: Builder, home: Path, wanted: set[str]) -> dict[str, Any]:
    """Some of what the plan of a builder holds, built or given."""
    primitives = inputs(home)
    result = store(home).resources(planned(builder), wanted - set(primitives), primitives)
    return primitives | result


def store(home: Path) -> Store:
    return Store(home / "artifacts", Progress(quiet=True))


def content(folder: Path) -> Mapping[str, str]:
    """A digest of every file below a folder, by name; times are left aside."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): digest(timeless(path)) for path in files}


def timeless(path: Path) -> str:
    """What a file says, without the seconds that anything took."""
    if path.suffix not in (".json", ".jsonl"):
        return path.read_bytes().hex()
    timed = r'"seconds": [\d.e-]+|"ledger.jsonl": "\w+"'
    return re.sub(timed, "", path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where each artifact is built once for all tests of this module."""
    return tmp_path_factory.mktemp("builders")


@pytest.fixture(scope="module", autouse=True)
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Future[str]]:
    """The digest of all that another process builds beside the tests of this module."""
    statement = "import sys, test_builder_contracts as t; print(t.digest_of_all(sys.argv[1]))"
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(process_output, statement, 1, str(tmp_path_factory.mktemp("there")))


@each_builder
def test_every_setting_has_a_default(builder):
    assert all(setting.default is not REQUIRED for setting in builder.settings.values())


@each_builder
def test_loaded_and_saved_again_it_is_the_same_bytes_and_has_what_it_provides(
    builder, home, tmp_path
):
    result, folder = built(builder, home)
    assert type(result) is builder.produces
    assert builder.provides <= (result.attributes if builder.produces is Graph else set())
    if json.loads((folder / RECIPE).read_text()).get("same_as"):
        return
    builder.produces.load(folder).save(tmp_path)
    saved = content(tmp_path)
    assert saved
    assert saved.items() <= content(folder).items()


LENIENT = {"graph.tkg_llm", "graph.rkg_llm", "graph.heterogeneous_llm"}
"""Builders that take any text, and ask about what is long alone."""


@pytest.mark.parametrize("model", [Obliging, Babbling])
@pytest.mark.parametrize(
    "builder", [one for one in BUILDERS if one.calls], ids=lambda one: one.name
)
def test_a_chunk_costs_the_calls_announced_and_a_model_that_is_never_readable_is_refused(
    builder, model, home, tmp_path
):
    """One call more for each unreadable reply; the refusal has a sample and names what to do."""
    counting = model()
    needs = resources(builder, home, set(builder.needs) - AMBIENT)
    needs |= {"llm": counting, "llm_build": counting}
    needs |= {"progress": Progress(quiet=True), "scratch": tmp_path}
    defaults = {name: setting.default for name, setting in builder.settings.items()}

    def build() -> None:
        given = {need: needs[need] for need in builder.needs}
        builder.function(**given, **defaults, **builder.fixed)

    if model is Obliging or builder.name in LENIENT:
        build()
    else:
        with pytest.raises(UserError) as raised:
            build()
        for words in ("(0%)", "it depends", f"build.{builder.resource}="):
            assert words in str(raised.value)
    n_chunks = len({document.passage for document in CORPUS.documents})
    if isinstance(builder.calls, int):  # others cannot know before what will be there
        assert counting.n_calls <= builder.calls * n_chunks * (2 if model is Babbling else 1)


def digest_of_all(home: str) -> str:
    """A digest of every artifact, and of what every operator gives."""
    artifacts = [content(built(one, Path(home))[1]) for one in BUILDERS]
    return digest([artifacts, test_contracts.digest_of_all()])


def test_nothing_depends_on_the_order_of_sets_or_the_number_of_threads(there, home):
    """Python's own hashes differ from process to process, and this one has one thread."""
    assert there.result() == digest_of_all(str(home))
