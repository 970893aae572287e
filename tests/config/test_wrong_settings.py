"""Errors of settings name the setting and the valid value. Settings without effect are errors."""

from pathlib import Path

import pytest
from toy_runs import TOY, command, command_error

from graphrag_bench.config.compose import cells, compose_settings, composition
from graphrag_bench.errors import UserError
from graphrag_bench.run.command import Command, refuse_unused
from graphrag_bench.run.experiment import Experiment

pytestmark = pytest.mark.usefixtures("home")


@pytest.mark.parametrize(
    ("words", "names"),
    [
        # unknown names are answered with the nearest
        ("method=hiporag", "method; hipporag"), ("method=", "bm25"), ("vanilla", "'vanilla'"),
        ("llm@llm_build=scrpted", "llm; scripted"), ("llm@llm_biuld=local", "llm@llm_build"),
        ("hydra/launcher=basc", "'basc'; 'basic'"), ("hydra.nonsense=3", "'hydra.nonsense'"),
        ("limt=3", "'limt'; limit"), ("graph.imprt_from=x", "imprt_from; 'graph.import_from'"),
        ("method.topk=3", "topk; top_k"), ("method.retrive.0.top_k=3", "retrive; retrieve"),
        ("method.retrieve.0.topk=3", "topk; top_k"), ("llm.replys=3", "replys; replies"),
        ("method.retrieve.7.top_k=3", "method.retrieve[7]"), ("chunking.sise=3", "chunking; sise"),
        ("method.retrieve.first.top_k=3", "'first'"), ("llm_build.model=x", "llm@llm_build"),
        ("build.chunk_tabel=token", "chunk_table"), ("build.chunk_table=tokens", "token"),
        ("~nothing", "nothing"), ("llm_build=scripted", "llm@llm_build=scripted"),
        ("source@method=bm25", "method=NAME"), ("evaluation.baseline=vanila", "'vanilla'"),
        ("evaluation.compared=[acuracy]", "evaluation.compared; 'acuracy'; 'accuracy'"),
        # values of a wrong type or range
        ("limit=0", "limit=0"), ("limit=[3", "limit=[3"),
        ("limit=1,2", "limit=1,2"), ("answer=maybe", "answer='maybe'; 'on' or 'off'"),
        ("evaluation.cuts=[0]", "evaluation.cuts.0=0"), ("plugins=[nothing_here]", "nothing_here"),
        ("plugins=nothing_here", "'nothing_here'"),
        ("method.top_k=four", "top_k; 'four'"), ("method.retrieve=chunk.vdb", "chunk.vdb"),
        ("method.name=mine", "method.name; method=NAME"), ("method.role=king", "'king'; floor"),
        ("+method.build=graph", "method.build='graph'"), ("+method.given=[]", "method.given=[]"),
        ("build.chunk_table=3", "build.chunk_table=3"), ("method.prompts=/dev/null", "/dev/null"),
        ("llm.replies=3", "llm.replies"),
        ("llm._target_=nowhere.Model", "llm._target_; nowhere.Model"),
        (f"limit={'9' * 6000}", "limit"),
        ("chunking=token chunking.size=9 chunking.overlap=9", "overlap 9; size 9"),
        ("paths.shared_artifacts=/dev/null", "/dev/null"),
    ],
    ids=lambda text: text[:40],
)  # fmt: skip
def test_invalid_setting_is_named_with_the_valid_one(words, names):
    with pytest.raises(UserError) as refusal:
        values = compose_settings([*TOY, "method=vanilla", *words.split()])
        experiment = Command().experiment(values, swept=False)
        experiment.store().resources(experiment.plan, {"chunk_table"}, experiment.models)
    message = str(refusal.value)
    assert [name for name in names.split("; ") if name not in message] == [], message
    assert len(message) < 1500


def test_unparsable_value_is_named_with_a_hint_on_quoting():
    with pytest.raises(UserError, match=r"^'dataset.root=\[/data \(old'.*quotes"):
        compose_settings([*TOY, "dataset.root=[/data (old"])


def test_sweep_without_cells_is_refused():
    for word, name in (
        ("method.damping=interval(0,1)", "interval"),
        ("method=glob(nono*)", "bm25"), ("method=choice(bm52)", "bm25"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=name):
            for cell in cells(composition(TOY), [*TOY, word]) or ():
                compose_settings(cell)


def test_invalid_commands_exit_with_2_and_write_nothing(home):
    for words, name in (("--limit 3", "--limit"), ("method=vanilla,bm25", "-m"),
                        ("method.damping=interval(0.1,0.9)", "run -m"),
                        ("-m method=vanilla,hipporag method.dampnig=1,2", "method.damping"),
                        ):  # fmt: skip
        assert name in command_error(*TOY, *words.split())
    assert command("rum").code == 2
    assert list(home.iterdir()) == []


def check(methods, words):
    Path("own.graphml").write_text("<graphml><graph><node id='ada'/></graph></graphml>")
    given = words.split()
    every = [compose_settings([*TOY, f"method={name}", *given]) for name in methods.split(",")]
    refuse_unused(given, [Experiment.prepare(values, swept=True) for values in every])


def test_unused_setting_is_refused():
    for methods, words, named in (
        ("bm25,vanilla", "build.extraction=nlp", "build.extraction"),
        ("bm25", "embedder.dimension=64 llm@llm_build=scripted", "(?s)embedder.dim.*llm_build"),
        ("vanilla,bm25", "nlp.model=other", "llm, embedder"),
        ("hipporag", "llm@llm_build=scripted llm_build.seed=1", "llm_build.seed"),
        ("lgraphrag", "pooling=off pooling.search=bfs", "pooling=rerank"),
        ("vanilla", "dev_share=0.3", "split=dev"),
        ("bm25", "graph.import_from=own.graphml", "graph.import_from"),
    ):
        with pytest.raises(UserError, match=named):
            check(methods, words)
    for name, more in (("run", []), ("ask", ["Who was it?"])):
        words = [*TOY, "method=bm25", "embedder.dimension=64", *more]
        assert "embedder.dimension" in command_error(*words, name=name)


def test_used_setting_is_accepted():
    for methods, words in (
        ("hipporag", "method.damping=0.3 method.retrieve.0.dedupe=true build.graph.synonymy=add "
         "llm@llm_build=scripted build.extraction=llm llm.tokenizer=cl100k"),
        ("hipporag", "graph.import_from=own.graphml"),
        ("lgraphrag", "pooling=rerank pooling.search=bfs pooling.linking=[vectors]"),
        ("vanilla", "chunking=token chunking.size=1200 split=dev dev_share=0.3"),
        ("bm25,vanilla", "embedder.dimension=64"),  # one that reads it is enough
        # how much is done, and how; and what holds for a whole comparison
        ("bm25", "limit=2 workers=1 budget.tokens=9 trace=off reference_rows=off shard=1/2 "
         "failures.limit=0.5 evaluation.cuts=[1,2] paths.home=elsewhere answer=off "
         "profile=zhou2025 fidelity=paper graph.per=all method.title=mine embedder=bge"),
    ):  # fmt: skip
        check(methods, words)
