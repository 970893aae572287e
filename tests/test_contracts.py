"""Properties of every registered operator and builder."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

import numpy as np
import pytest
import tested
from small_worlds import WORLDS, Babbling, Obliging, World, dataset, process_output
from toy_runs import Capitals

from graphrag_bench import values as kinds
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.path_values import Exploration, RankedPaths, StepNodes
from graphrag_bench.arrays import DECIMALS
from graphrag_bench.artifacts.plan import UNKEYED_NEEDS, PlannedArtifact, plan
from graphrag_bench.artifacts.store import RECIPE, Store
from graphrag_bench.contract import REQUIRED, Builder, Operator, builders, operators
from graphrag_bench.data.dataset import Gold, TrainingSet
from graphrag_bench.data.subgraphs import Subgraphs
from graphrag_bench.embedding.embedder import Hashing
from graphrag_bench.errors import UnreadableReply, UserError
from graphrag_bench.fingerprint import digest
from graphrag_bench.progress import Progress
from graphrag_bench.prompts import Prompt
from graphrag_bench.run.method import complete
from graphrag_bench.run.models import Models
from graphrag_bench.run.record import summary
from graphrag_bench.values import Context, Question, Ranked

pytestmark = pytest.mark.slow

tested.load()
OPERATORS = [op for op in operators.all() if op.origin.startswith(tested.PACKAGES)]
assert len(OPERATORS) > (10 if tested.PLUGIN else 100)
SOMETHING_FROM_NOTHING = {
    *("node.ppr", "chunk.ppr"),  # without seeds the walk starts everywhere
    *("node.match", "node.link", "node.by_keyword", "query.low", "query.high"),  # the question
    *("relationship.hybrid", "chunk.pick.similar_and_dense"),  # the vectors alone decide
    "thoughts.next",  # a follow-up of the question
    *tested.more("from_nothing"),
}
"""Operators that return rows for empty input."""
PROMPT = Prompt("methods:vanilla/prompts/answer.j2")
MODELS = {"llm", "llm_build", "llm_judge"}
LISTS = {
    "nodes", "relationships", "chunks", "communities", "mentions", "query", "keywords",
    "subgraph", "exploration", "paths", "reasoning_steps", "step_nodes",
}  # fmt: skip
ORDERED = Ranked | kinds.Mentions | kinds.Query | kinds.Keywords
COUNTED = ORDERED | kinds.Subgraph | Exploration | RankedPaths | StepNodes
VECTORS = kinds.NodeScores | kinds.RelationshipScores | kinds.ChunkScores

both_models = pytest.mark.parametrize("model", [Obliging, Babbling])


def each(items: Iterable[Any]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("op", [*items], ids=lambda op: op.name)


class Way(NamedTuple):
    """Settings and optional reads of a call."""

    settings: Mapping[str, Any]
    optional: bool = True


def ways(op: Operator) -> Iterator[Way]:
    """Yield the defaults with and without optional reads, then every other choice of a setting."""
    defaults = defaults_of(op)
    yield Way(defaults, optional=False)
    yield Way(defaults)
    for name, setting in op.settings.items():
        for choice in choices(setting.annotation):
            yield Way({**defaults, name: choice})


def defaults_of(op: Operator) -> dict[str, Any]:
    defaults = {name: setting.default for name, setting in op.settings.items()}
    return {name: PROMPT if one is REQUIRED else one for name, one in defaults.items()}


def choices(annotation: Any) -> tuple[Any, ...]:
    if get_origin(annotation) is Annotated:
        return choices(get_args(annotation)[0])
    if annotation is bool:
        return (True, False)
    return get_args(annotation) if get_origin(annotation) is Literal else ()


def call(op: Operator, world: World, values: Mapping[str, Any], way: Way) -> dict[str, Any]:
    row = reads(op, world, values, way)
    return by_slot(op, op([row], **needs(op, world), **way.settings)[0])


def reads(op: Operator, world: World, values: Mapping[str, Any], way: Way) -> list[Any]:
    """The values that an operator reads; other operators write the slots that a world lacks."""

    def value(slot: str) -> Any:
        if slot in values:
            return values[slot]
        writers = (one for one in OPERATORS if slot in one.writes)
        writer = next(one for one in writers if all(read.slot != slot for read in one.reads))
        return call(writer, world, values, next(ways(writer)))[slot]

    wanted = [way.optional or not read.optional for read in op.reads]
    return [value(read.slot) if use else None for read, use in zip(op.reads, wanted, strict=True)]


@cache
def several(name: str, of: str) -> list[tuple[Way, dict[str, Any]]]:
    """The result of each way to call an operator; it must not change its input."""
    op, world = operators.get(name), next(world for world in WORLDS if world.name == of)
    values, graph = world.values("several"), world.resources["graph"]
    before = plainly(values), graph.weight.tolist(), graph.node_chunk.toarray().tolist()
    result = [(way, call(op, world, values, way)) for way in ways(op)]
    assert before == (plainly(values), graph.weight.tolist(), graph.node_chunk.toarray().tolist())
    return result


def needs(op: Operator, world: World) -> dict[str, Any]:
    return {name: world.resources[name] for name in op.needs}


def by_slot(op: Operator, result: Any) -> dict[str, Any]:
    values = result if isinstance(result, tuple) else (result,)
    return dict(zip(op.returns, values, strict=True))


def plain(value: Any) -> Any:
    """A value as JSON, rounded as in rankings."""
    if isinstance(value, VECTORS):
        return value.values.round(DECIMALS).tolist()
    assert json.loads(json.dumps(stored := summary(value))) == stored  # `ask` stores nothing
    return stored


def plainly(values: Mapping[str, Any]) -> dict[str, Any]:
    return {slot: plain(value) for slot, value in values.items()}


@each(OPERATORS)
def test_operators_declare_calls_and_supply_prompt_variables(op):
    defaults = defaults_of(op)
    assert bool(MODELS & set(op.needs)) == (op.max_calls(defaults) > 0)
    assert all(one.variables <= op.supplies for one in defaults.values() if isinstance(one, Prompt))


@each(OPERATORS)
def test_rankings_are_sorted_finite_limited_and_in_range(op):
    for world in WORLDS:
        for way, first in several(op.name, world.name):
            others = (call(op, world, world.values(amount), way) for amount in ("one", "none"))
            for slot, result in (pair for written in (first, *others) for pair in written.items()):
                if isinstance(result, Ranked):
                    check_ranked(op, world, way, slot, result)
                elif isinstance(result, VECTORS):
                    assert np.isfinite(result.values).all()


def check_ranked(op: Operator, world: World, way: Way, slot: str, result: Ranked[Any]) -> None:
    n_communities = len(world.resources["communities"])
    n_rows = getattr(world.resources["graph"], f"n_{slot}", n_communities)
    assert np.isfinite(result.scores).all()
    assert ((result.ids >= 0) & (result.ids < n_rows)).all()
    most = way.settings.get("top_k")
    assert len(result) <= (most if isinstance(most, int) else len(result))
    keys = list(zip(-result.scores.round(DECIMALS), result.ids, strict=True))
    assert op.order or keys == sorted(set(keys))


@each(op for op in OPERATORS if LISTS & {read.slot for read in op.reads})
def test_empty_input_gives_empty_output(op):
    for world in WORLDS:
        result = call(op, world, world.values("none"), Way(defaults_of(op)))
        sizes = [
            len(value.pieces) if isinstance(value, Context) else len(value)
            for value in result.values()
            if isinstance(value, COUNTED | Context)
        ]
        # without facts there are no relationships, and no chunk is above the threshold
        needs_facts = op.writes == ("relationships",) or op.name == "chunk.pick.similar_and_dense"
        there_are_some = any(world.facts) or not needs_facts
        assert any(sizes) == (op.name in SOMETHING_FROM_NOTHING and there_are_some), world.name


@each(OPERATORS)
def test_output_does_not_depend_on_the_order_of_input(op):
    for world in WORLDS:
        values = world.values("several")
        turned = {slot: reverse(value) for slot, value in values.items()}
        for way, first in several(op.name, world.name):
            assert plainly(first) == plainly(call(op, world, values, way)), world.name
            second = {} if op.order else call(op, world, turned, way)
            for slot, result in second.items():
                if isinstance(result, Ranked | VECTORS):
                    assert plain(result) == plain(first[slot]), world.name


def reverse(value: Any) -> Any:
    if isinstance(value, ORDERED):
        return type(value)(*(part[::-1] for part in vars(value).values()))
    return value


@each(op for op in OPERATORS if op.batched)
def test_a_batch_equals_single_calls(op):
    for world in WORLDS:
        block = [world.values(amount) for amount in ("several", "none", "one", "several")]
        for way in ways(op):
            rows = [reads(op, world, values, way) for values in block]
            together = op(rows, **needs(op, world), **way.settings)
            for values, result in zip(block, together, strict=True):
                single = call(op, world, values, way)
                assert plainly(by_slot(op, result)) == plainly(single), world.name


@both_models
@each(op for op in OPERATORS if op.calls)
def test_a_question_makes_at_most_the_declared_calls(op, model):
    n_calls = []
    for way in ways(op):
        row, counting = reads(op, WORLDS[0], WORLDS[0].values("several"), way), model()
        models = dict.fromkeys(MODELS & {*op.needs}, counting)
        with suppress(UnreadableReply) if model is Babbling else nullcontext():
            op([row], **{**needs(op, WORLDS[0]), **models}, **way.settings)
        assert counting.n_calls <= op.max_calls(way.settings)
        n_calls.append(counting.n_calls)
    assert max(n_calls) > 0


BUILDERS = [
    one for one in builders.all()
    if "import_from" not in one.needs and one.function.__module__.startswith(tested.BUILDERS)
]  # fmt: skip
"""All tested builders except the importers."""
TEXTS = dataset(
    ("ada", "Ada Marsh", "Ada Marsh founded Norvik. Ada Marsh was born in Norvik."),
    ("otto", "Otto Brandt", "Otto Brandt taught Mira Holt. Mira Holt met Ada Marsh."),
    ("again", "Otto Brandt", "Otto Brandt taught Mira Holt. Mira Holt met Ada Marsh."),
    ("naive", "", "Nothing is said of anybody here."),
    *((f"visit {i}", "", f"Ada Marsh visited Place{i} in a {i}th year.") for i in range(10)),
)
"""Thirteen passages: enough for a tree with summaries."""
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
    "chunk_table": "presplit", "extraction": "nlp", "text_extraction": "nlp", "graph": "kg",
    "fact_extraction": "nlp", "pseudo_questions": "nlp", "communities": "leiden",
    "triple_scorer": "cosine", "reports": "extractive", **tested.more("usual"),
}  # fmt: skip
"""The variants that other artifacts are built from."""
OTHERWISE = tested.more("otherwise")
"""Other variants for resources that the usual graph does not suit."""
QUICK: Mapping[tuple[str, str], Mapping[str, int]] = tested.more("quick")
"""Settings of builders that are slow by default."""
LENIENT = {"graph.tkg_llm", "graph.rkg_llm", *tested.more("lenient")}
"""Builders that accept any reply."""


def given(home: Path) -> dict[str, Any]:
    """The resources that are not built: corpus, OpenIE file, models."""
    triples = [["Ada Marsh", "founded", "Norvik"], ["odd", "one"]]
    docs = [{"passage": one.passage, "extracted_entities": Capitals().entities(one.text),
             "extracted_triples": triples} for one in CORPUS.documents]  # fmt: skip
    home.mkdir(parents=True, exist_ok=True)
    (home / "openie.json").write_text(json.dumps({"docs": docs}), encoding="utf-8")
    training = TrainingSet("tiny", lambda _: LEARNT, lambda: len(LEARNT.questions))
    model = Obliging()
    return {
        "corpus": CORPUS, "training": training, "openie": home / "openie.json",
        "embedder": Hashing(32), "nlp": Capitals(), "llm": model, "llm_build": model,
        **tested.more("given", home),
    }  # fmt: skip


def planned(builder: Builder) -> list[PlannedArtifact]:
    special = OTHERWISE.get(builder.resource, {})
    chosen = {**USUAL, **special, builder.resource: builder.variant}
    choices = {name: {"variant": one, **QUICK.get((name, one), {})} for name, one in chosen.items()}
    complete(choices, CORPUS)
    identities = {name: lambda name=name: name for name in Models.NAMES}
    return plan({builder.resource}, choices, identities)


def built(builder: Builder, home: Path) -> tuple[Any, Path]:
    (own,) = (one for one in planned(builder) if one.resource == builder.resource)
    result = resources(builder, home, {builder.resource})[builder.resource]
    return result, Store(home / "artifacts").folder(own)


def resources(builder: Builder, home: Path, wanted: set[str]) -> dict[str, Any]:
    primitives, store = given(home), Store(home / "artifacts", Progress(quiet=True))
    return primitives | store.resources(planned(builder), wanted - set(primitives), primitives)


def content(folder: Path) -> Mapping[str, str]:
    """A digest of every file in a folder, by name, without durations."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    timed = rb'"seconds": [\d.e-]+|"ledger.jsonl": "\w+"'
    texts = {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
    return {name: digest(re.sub(timed, b"", text).hex()) for name, text in texts.items()}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("builders")


@pytest.fixture(scope="module", autouse=True)
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Future[str]]:
    statement = "import sys, test_contracts as t; print(t.digest_of_all(sys.argv[1]))"
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(process_output, statement, 1, str(tmp_path_factory.mktemp("there")))


@pytest.mark.parametrize("builder", BUILDERS, ids=lambda builder: builder.name)
def test_artifacts_survive_a_round_trip(builder, home, tmp_path):
    assert all(setting.default is not REQUIRED for setting in builder.settings.values())
    result, folder = built(builder, home)
    assert type(result) is builder.produces
    assert builder.provides <= (result.attributes if builder.produces is Graph else set())
    if json.loads((folder / RECIPE).read_text()).get("same_as"):
        return
    builder.produces.load(folder).save(tmp_path)
    saved = content(tmp_path)
    assert saved
    assert saved.items() <= content(folder).items()


@both_models
@pytest.mark.parametrize("builder", [b for b in BUILDERS if b.calls], ids=lambda b: b.name)
def test_builders_make_the_declared_calls_and_refuse_unreadable_models(
    builder, model, home, tmp_path
):
    """An unreadable reply costs one more call; the error names the setting."""
    counting = model()
    needed = resources(builder, home, set(builder.needs) - UNKEYED_NEEDS)
    needed |= {"llm": counting, "llm_build": counting, "scratch": tmp_path}
    needed["progress"] = Progress(quiet=True)
    defaults = {name: setting.default for name, setting in builder.settings.items()}
    arguments = {**{need: needed[need] for need in builder.needs}, **defaults, **builder.fixed}
    if model is Obliging or builder.name in LENIENT:
        builder.function(**arguments)
    else:
        with pytest.raises(UserError, match=rf"(?s)none of.*build\.{builder.resource}="):
            builder.function(**arguments)
    n_chunks = len({document.passage for document in CORPUS.documents})
    if isinstance(builder.calls, int):  # other builders estimate their calls
        assert counting.n_calls <= builder.calls * n_chunks * (2 if model is Babbling else 1)


def digest_of_all(home: str) -> str:
    artifacts = [content(built(one, Path(home))[1]) for one in BUILDERS]
    pairs = [(op, way) for op in OPERATORS for way in islice(ways(op), 2)]
    values = WORLDS[0].values("several")
    return digest([artifacts, [plainly(call(op, WORLDS[0], values, way)) for op, way in pairs]])


def test_results_do_not_depend_on_hash_seed_or_threads(there, home):
    """The other process has another hash seed; this one has one thread."""
    assert there.result() == digest_of_all(str(home))
