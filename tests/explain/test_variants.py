"""Variants of a stored run, ranks of passages, and ablations."""

import json

import pytest
from toy_runs import TOY, WEIGHTLESS, command, command_error, run_folder, write_set

from graphrag_bench.config.compose import compose_settings
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.data.chunks import ChunkTable
from graphrag_bench.errors import UserError
from graphrag_bench.explain import ablation
from graphrag_bench.explain.ablation import Change, MethodVariants, apply_changes, parse_change
from graphrag_bench.explain.names import LocatedDocument, lost_step
from graphrag_bench.explain.question import RunQuestions
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.stored import find_run

FILLED = [*TOY, "answer=off", "reference_rows=off"]
QUIET = [*FILLED, "budget_context=native"]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    load_plugins()
    home = tmp_path_factory.mktemp("home")
    for method in ("hipporag", "example_new_method"):
        run_folder(*QUIET, f"method={method}", "method.top_k=2", f"paths.home={home}")
    return home


def run(home, method="hipporag"):
    (folder,) = home.glob(f"runs/toy/{method}/*")
    return find_run(str(folder), home)


CASES = {"empty": [{"op": "chunk.vdb", "top_k": 3}],
         "otherwise": [{"op": "node.ppr", "damping": 0.5}]}  # fmt: skip
METHOD = {
    "convert": [{"op": "question.entities.nlp"}],
    "retrieve": [{"op": "node.link", "min_score": 0.5}, {"switch": "nodes", "cases": CASES}],
}


def test_a_step_is_named_by_its_operator_or_place():
    for name in ("node.ppr", "retrieve.1.cases.otherwise.0"):
        changes = [Change("set", name, "damping", 0.85), Change("drop", "node.link")]
        _, given = apply_changes(METHOD, changes)
        assert given == ["method.retrieve.0.cases.otherwise.0.damping"]
        product, _ = apply_changes(METHOD, changes[:1])
        assert product["retrieve"][1]["cases"]["otherwise"] == [{"op": "node.ppr", "damping": 0.85}]
    assert METHOD["retrieve"][1]["cases"]["otherwise"] == [{"op": "node.ppr", "damping": 0.5}]
    product, _ = apply_changes(METHOD, [Change("drop", "node.link")])
    assert product["retrieve"][0]["switch"] == "nodes"
    assert [place.path for place in ablation.step_places(METHOD)][-2:] == [
        "retrieve.1.cases.empty.0", "retrieve.1.cases.otherwise.0",
    ]  # fmt: skip
    assert parse_change("node.ppr.damping=0.85") == Change("set", "node.ppr", "damping", 0.85)
    for word in ("node.ppr.damping", "damping=1"):
        with pytest.raises(UserError, match=word):
            parse_change(word)
    with pytest.raises(UserError, match=r"'node.pr'.*node\.ppr"):
        apply_changes(METHOD, [Change("drop", "node.pr")])


@pytest.mark.parametrize(("normaliser", "found"), [("unicode", 1.0), ("squad", 0.0)])
def test_a_variant_compares_texts_as_the_run(tmp_path, normaliser, found):
    question = {"id": "q", "text": "Isk?", "answers": ["Isk north"], "evidence": ["a"]}
    write_set(tmp_path, [{"id": "a", "text": "Isk“ north"}], [question])
    words = [*WEIGHTLESS, "dataset=jsonl", f"dataset.root={tmp_path}", "method=bm25", "answer=off"]
    values = compose_settings([*words, f"evaluation.normaliser={normaliser}"])
    variants = MethodVariants.of_settings({**values, "paths": {"home": str(tmp_path)}}, calls=False)
    scores, _ = variants.retrieve(variants.experiment)
    assert scores["q"]["answer_in_context"] == found


def test_a_variant_scores_as_a_run_with_that_setting(home, tmp_path):
    words = ["method=hipporag", "method.top_k=2", "method.damping=0.85"]
    whole = run_folder(*QUIET, *words, f"paths.home={tmp_path}")
    variants = MethodVariants.of_run(run(home), home)
    after, _ = variants.retrieve(variants.make(parse_change("node.ppr.damping=0.85")))
    stored = find_run(str(whole), tmp_path)
    for question, scores in after.items():
        assert scores.items() <= stored.scores[question].items()
    with pytest.raises(UserError, match="'node_scores'"):
        variants.make(Change("drop", "node.ppr"))
    with pytest.raises(UserError, match="'damping'"):
        variants.make(Change("set", "node.ppr", "dampin", 0.9))
    with pytest.raises(UserError, match="'damping' is 'x'") as refusal:
        variants.make(Change("set", "node.ppr", "damping", "x"))
    assert "this version" not in str(refusal.value)


@pytest.mark.parametrize(
    ("words", "step", "name"),
    [(["method=bm25"], "chunk.bm25", "retrieve.0"),
     (["method=vanilla"], "context.chunks", "generate.0"),
     (["method=hipporag"], "retrieve.1.cases.empty.0", "retrieve.1.cases.empty.0")],
)  # fmt: skip
def test_a_variant_fills_its_context_as_a_run_with_that_setting(tmp_path, words, step, name):
    words = [*FILLED, *words, f"paths.home={tmp_path}"]
    variants = MethodVariants.of_settings(compose_settings(words), calls=False)
    assert variants.experiment.context_budget.filling == "chunk"
    changed = variants.make(parse_change(f"{step}.top_k=1"))
    with_setting = Experiment.prepare(compose_settings([*words, f"method.{name}.top_k=1"]))
    assert (changed.context_budget.filling, changed.key) == ("", with_setting.key)


def test_ranks_of_a_passage_agree_with_each_step(home):
    questions = RunQuestions(run(home), home)
    for name, row in questions.run.rows.items():
        packed = {piece["id"]: n for n, piece in enumerate(row["context"]["pieces"], 1)}
        for rank, document in enumerate(row["documents"], 1):
            result = questions.document(document, name).ranks(row)
            assert [one.rank for one in result if one.slot == "chunks"][-1] == rank
            assert (result[-1].slot, result[-1].rank) == ("context", packed.get(document))
            assert (lost_step(result) is None) == (document in packed)


def test_a_row_that_a_step_returns_twice_keeps_both_ranks():
    table = ChunkTable.of([("a", "", "Ada."), ("b", "", "Bo.")])
    trace = [{"step": "retrieve.0 x", "wrote": {"chunks": {"ids": [0, 0, 1], "scores": [3, 2, 1]}}}]
    first, second = (LocatedDocument(name, table, None).ranks({"trace": trace})[0] for name in "ab")
    assert [row[1] for row in first.rows] == [1, 2]
    assert (second.rank, second.n) == (3, 3)


def test_show_prints_ranks_of_a_passage_and_the_step_that_lost_it(home):
    path = str(run(home).folder.path)
    shown = command("show", path, "q1", "ada").out
    assert "chunks: " in shown and "lost at " not in shown
    packed = {piece["id"] for piece in run(home).rows["q1"]["context"]["pieces"]}
    out = next(row.id for row in run(home).require_dataset().documents if row.id not in packed)
    assert "lost at " in command("show", path, "q1", out).out
    for words, name in (("q1 adda", "'ada'"), ("q11 ada", "q1"), ("q1 ada --calls", "--calls")):
        assert name in command_error(path, *words.split(), name="show")


def test_an_ablation_has_every_removable_step_and_names_the_others(home):
    words = ("--set", "node.ppr.damping=0.9", "--json")
    (table,) = json.loads(command("ablate", str(run(home).folder.path), *words).out)
    assert "evidence_recall@5" in {row["metric"] for row in table["rows"]}
    variants = MethodVariants.of_run(run(home, "example_new_method"), home)
    table = ablation.ablation(variants, "evidence_recall@2")
    n = {row[:2]: row[2] for row in table.rows}
    assert n["the whole method", ""] == "5"
    for arm in ("graph", "dense"):
        assert n["retrieve.0 branch", f"without arm '{arm}'"] == "5"
    assert any(note.startswith("not tried: ") for note in table.notes)
    with pytest.raises(UserError, match="evidence_recall@2"):
        ablation.ablation(variants, "evidence_recal@2")
