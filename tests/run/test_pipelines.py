"""The pipelines of all methods under context budgets, path pooling and regimes."""

from itertools import product

import pytest
from small_worlds import World
from toy_runs import TOY, command_error, metrics, plan_of, records, run_error, run_folder, write_set

from graphrag_bench.config.compose import compose_settings, method_values
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.config.sources import method_file, names, with_profile
from graphrag_bench.errors import UserError
from graphrag_bench.pipeline.pipeline import StepOptions, build
from graphrag_bench.pipeline.reader_prompts import COMMON, own_answers
from graphrag_bench.pipeline.steps import Execution, run_steps
from graphrag_bench.prompts import REFUSAL, ContextBudget, Prompt, answer_form
from graphrag_bench.run.budgets import LEAST, ContextWindow, context_blocks, packers
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.method import able_to_pool
from graphrag_bench.values import Piece, Question, RetrievalState
from operators.answer.generation import reader_values

pytestmark = pytest.mark.slow

QUIET = [*TOY, "answer=off", "reference_rows=off"]


@pytest.fixture(autouse=True)
def _plugins(home):
    load_plugins()


def prepared(name, *words):
    base = ["dataset=toy", "embedder=hashing", f"method={name}"]
    return Experiment.prepare(compose_settings([*base, *words]))


def served(name, window, *words):
    reader = "llm=openai_compatible", "llm.model=m", f"llm.window={window or 'null'}"
    return prepared(name, *reader, *words)


def blocks_of(name, setting, *words):
    return [op.settings.get(setting) for op in packers(prepared(name, *words).method.pipeline)]


def test_blocks_follow_the_budget():
    native = ("budget_context=native", "method.top_k=4")
    assert [blocks_of("vanilla", "top_k", *words) for words in ((), native)] == [[None], [4]]
    assert blocks_of("llightrag", "top_k") == ["auto", "auto", None]
    assert blocks_of("llightrag", "top_k", "profile=upstream")[:2] == [None, None]
    words = ("profile=upstream", "budget_context=2000")  # 3,000 of 16,000 are 375 of 2,000
    assert blocks_of("fastgraphrag", "share", *words) == [500, 375, 1125]
    points = "method.point_budget=300"
    assert blocks_of("pankrag", "budget", points).count(300) == 0
    assert blocks_of("pankrag", "budget", points, "budget_context=native").count(300) == 1


@pytest.mark.parametrize("profile", ["default", "paper", "zhou2025", "upstream"])
def test_fixed_tokens_of_blocks_fit_the_budget_of_the_method(profile):
    """Otherwise the last block, PathRAG's paths, is cut entirely."""
    unpacked = set()
    for name in names("method"):
        raw = method_values(with_profile(method_file(name), profile, "default"))
        steps = packers(build(raw)[0])
        unpacked |= set() if steps else {name}
        shares = [op.settings.get("share") for op in steps if "context" in op.operator.returns]
        own = [share for share in shares if isinstance(share, int) and share > 1]
        assert not own or sum(own) <= raw["budget"], name
    assert unpacked == {"zeroshot", "dalk"}


def lists(*words):
    pipeline = prepared(*words).method.pipeline
    return {op.operator.name: op.settings.get("top_k") for op in pipeline.operators()}


def test_lists_are_lengthened_to_fill_the_budget_unless_a_model_reads_them():
    for name, filling, longer in (
        ("vanilla", "chunk", {("chunk.vdb", 20)}), ("raptor", "node", {("node.vdb", 20)}),
        ("rerank", "chunk", set()), ("graphrag_er", "", set()),
    ):  # fmt: skip
        budget = prepared(name, "budget_context=1000").context_budget
        assert (budget.tokens, budget.mode, budget.filling) == (1000, "equal", filling)
        native, equal = (lists(name, f"budget_context={n}").items() for n in ("native", 1000))
        assert {item for item in equal - native if item[1] is not None} == longer


def test_window_limits_groups_and_the_budget_of_a_profile():
    for window, most in ((None, 12000), (8192, 6100)):
        ops = served("ggraphrag", window, "profile=upstream").method.pipeline.operators()
        assert {op.settings.get("group_tokens") for op in ops} == {None, most}
    whole, cut = (served("fastgraphrag", n, "profile=upstream") for n in (None, 8192))
    assert [one.context_budget.tokens for one in (whole, cut)] == [16000, 6100]
    both = prepared("lgraphrag", "regime=published", "budget_context=1000", "method.budget=90")
    assert both.context_budget.tokens == 90
    blocks = context_blocks(cut.method.pipeline, cut.context_budget, cut.window.median_chunk)
    assert [block.n_tokens for block in blocks] == [1525, 1144, 3431]
    for own, *windows in ((None, None, 8096), (4096, 4096, 4096), (128_000, 128_000, 8096)):
        runs = (served("vanilla", own, "profile=zhou2025", f"regime={regime}")
                for regime in ("house", "published"))  # fmt: skip
        assert [run.window.tokens for run in runs] == windows  # of the source as published


def test_key_contains_the_budget_and_the_prompt(tmp_path):
    (tmp_path / "common.j2").write_text("Another: {{ question }} {{ blocks }}")
    each = ([], ["budget_context=1000"], ["regime=published", "budget_context=1000"],
            ["budget_context=native"], [f"method.prompts={tmp_path}"])  # fmt: skip
    assert len({prepared("vanilla", *words).key for words in each}) == 5
    assert prepared("vanilla", f"budget_context={LEAST}").key == prepared("vanilla").key
    assert prepared("zeroshot").key == prepared("zeroshot", "budget_context=native").key


def test_equal_budgets_are_filled_and_native_ones_keep_k():
    for words, budget, n_passages in (
        ("", LEAST, 8), ("regime=published", None, 4),  # 8 are all, and the file says 4
        ("method.top_k=4", LEAST, 4), ("method.generate.0.top_k=3", LEAST, 3),
        # as published a number of tokens is a cap: two passages of about 27 fit into 60
        ("regime=published budget_context=60", 60, 2), ("method.budget=60", None, 2),
        ("budget_context=100", 100, 4),
    ):  # fmt: skip
        folder = run_folder(*QUIET, "method=vanilla", *words.split())
        assert metrics(folder)["budget_context"] == budget
        assert metrics(folder)["whole_corpus"] == (n_passages == 8)
        assert max(len(row["context"]["pieces"]) for row in records(folder)) == n_passages


def test_conflicting_budgets_are_refused():
    for name, words, part in (("zeroshot", "budget_context=60", "zeroshot"),
                              ("kgp", "method.budget=500 budget_context=60", "method.budget=500"),
                              ("vanilla", "budget_context=nativ", "native")):  # fmt: skip
        with pytest.raises(UserError, match=part):
            prepared(name, *words.split())


LONG = "Ada Marsh wrote to Otto Brandt about the bridge at Norvik, and he answered. "


def test_auto_fits_four_chunks_within_the_window():
    """4 x 1,260 / 0.33 = 15,273; (8,192 - 1,112) / 1.15 = 6,156."""
    for chunk, window, margin, auto in (
        (1260, 128_000, 1.0, 15_300), (1260, 8192, 1.15, 6100), (1260, None, 1.15, 6100),
        (120, 128_000, 1.0, 2400), (120, 2048, 1.0, 900),
    ):  # fmt: skip
        assert ContextWindow(chunk, chunk, window, 1112, margin).auto == auto


def test_prompt_without_room_for_a_chunk_is_refused(tmp_path):
    rows = [{"id": f"b{n}", "title": f"Book {n}", "text": LONG * 300} for n in range(3)]
    folder = write_set(tmp_path / "books", rows, [{"id": "q", "text": "Who?", "evidence": ["b0"]}])
    books = [*(word for word in QUIET if not word.startswith(("dataset", "llm.")))]
    books += ["dataset=jsonl", f"dataset.root={folder}", "chunking=token"]
    for size, least, most in ((1200, 1000, 1300), (300, 250, 350)):
        words = [*books, "method=vanilla", "llm.window=128000", f"chunking.size={size}"]
        assert least < Experiment.prepare(compose_settings(words)).window.median_chunk < most
    assert "budget_context=3200" in run_error(*books, "method=llightrag", "llm.window=4096")
    folder = run_folder(*books, "method=llightrag", "llm.window=4096", "budget_context=1000")
    assert metrics(folder)["usage"]["contexts_without_chunks"] == 1
    words = ["answer=on", "method=vanilla", "llm.window=4096", "budget_context=5000"]
    assert "5000 is too large" in run_error(*books, *words)


TABLES = ["lgraphrag", "vgraphrag", "llightrag", "glightrag", "hlightrag", "fastgraphrag",
          "graphrag_er", "gretriever", "lightrag_mix"]  # fmt: skip
"""Methods that pack ranked relationships as a table."""
ALL = [*TABLES, "pankrag", *({"subgraphrag"} & set(names("method")))]

CHAIN = World("three hops from Ada Marsh, and a hub", facts=(
    (("Ada Marsh", "founded", "Norvik"), ("Norvik", "stands on", "Mount Tarn")),
    (("Mount Tarn", "lies in", "Velia"), ("Otto Brandt", "visited", "Mount Tarn")),
    (("Otto Brandt", "taught", "Mira Holt"), ("Otto Brandt", "left", "Kessel")),
    (("Otto Brandt", "built", "Ostra"), ("Otto Brandt", "sold", "Lund")),
))  # fmt: skip


def method(name, **settings):
    return method_values({**with_profile(method_file(name), "default", "default"), **settings})


def final(values, budget=None, **pooling):
    pipeline, problems = build(values, StepOptions(pooling=pooling or None))
    assert not problems
    resources = {**CHAIN.resources, "context_budget": ContextBudget(budget)}
    start = RetrievalState(Question("q", "which land holds the mountain that Ada Marsh chose?"))
    (outcome,) = run_steps(pipeline.steps(answering=False), [start], Execution(resources))
    return outcome


def unordered(context):
    lines = [one.text.partition(",")[2] for one in context.pieces if one.kind == "relationship"]
    return [*(one for one in context.pieces if one.kind != "relationship"), sorted(lines)]


@pytest.mark.parametrize("name", TABLES)
def test_rerank_changes_only_the_order_of_relationships(name):
    """300 tokens cut the tables of most methods."""
    base = final(method(name), 300)
    new = final(method(name), 300, mode="rerank")
    before, after = base.get("context"), new.get("context")
    assert unordered(before) == unordered(after)
    assert before.n_tokens == after.n_tokens and before.share == after.share
    for slot in ("nodes", "chunks", "communities"):
        one, other = (state.get(slot) for state in (base, new))
        assert one is other or one.ids.tolist() == other.ids.tolist()


def test_pooling_raises_the_path_from_the_question_entity():
    """Base scores, sums of degrees: Ada-Norvik 3, Norvik-Tarn 5, Tarn-Velia 4, Otto-Tarn 8, four
    more of Otto 6; the lowest is 3. The path of three from Ada has mean 4: its rows have 4 + 3,
    4 + 3/2 and 4 + 3/3; the others stand for themselves, 8 + 3 and 6 + 3.
    """
    plain = method("graphrag_er", top_k=20)
    base = final(plain).get("relationships")
    assert base.ids.tolist() == [3, 4, 5, 6, 7, 1, 2, 0]
    new = final(plain, mode="rerank").get("relationships")
    assert new.ids.tolist() == [2, 1, 0, 7, 6, 5, 4, 3]
    assert new.scores.tolist() == pytest.approx([5, 5.5, 7, 9, 9, 9, 9, 11])


def test_reselect_keeps_the_number_of_relationships():
    plain = method("glightrag", top_k=3)
    base = final(plain)
    new = final(plain, mode="reselect")
    assert len(new.get("relationships")) == len(base.get("relationships")) == 3
    assert set(new.get("relationships").ids) != set(base.get("relationships").ids)
    assert new.get("nodes").ids.tolist() == base.get("nodes").ids.tolist()
    assert len(final(plain, mode="reselect", top_k=5).get("relationships")) == 5
    no_longer = final(plain, mode="reselect", coarse_k=3)
    assert set(no_longer.get("relationships").ids) == set(base.get("relationships").ids)


def test_methods_that_pack_relationships_can_be_pooled():
    assert set(able_to_pool()) == set(ALL)
    message = command_error(*TOY, "method=hipporag", "pooling=rerank", name="plan")
    assert "hipporag" in message and "fastgraphrag, glightrag" in message
    for name, mode in product(ALL, ("rerank", "reselect")):
        pipeline, problems = build(method(name), StepOptions(pooling={"mode": mode}))
        assert not problems and "path.pool" in [op.operator.name for op in pipeline.operators()]


IN_SEARCH = {"tog": ["answer.if_enough (retrieve)"], "pankrag": ["answer.direct (retrieve)"]}


def wording(prompt, form):
    passage = Piece("chunk", "1", "Ada.", 1.0, 5)
    values = reader_values(Question("q", "Who?", form=form), [passage])
    chat = prompt.render({**values, "points": (), "triples": (), "reasoning": ""})
    return "\n".join(message.content for message in chat)


def prompt_files(pipeline, *stages):
    steps = [step for stage in stages for step in getattr(pipeline, stage)]
    values = [value for one in steps for op in one.operators() for value in op.settings.values()]
    return {file.name for value in values if isinstance(value, Prompt) for file in value.files}


@pytest.mark.parametrize("name", names("method"))
def test_house_regime_has_one_clause_and_one_prose_prompt(name):
    values = method(name)
    house, published = (build(values, StepOptions(regime=r))[0] for r in ("house", "published"))
    assert COMMON.name in prompt_files(house, "generate")
    assert COMMON.name not in prompt_files(house, "convert", "retrieve")
    assert COMMON.name not in prompt_files(published, "convert", "retrieve", "generate")
    assert own_answers(house.operators()) == IN_SEARCH.get(name, [])
    ops = [op for step in house.generate for op in step.operators()]
    prompt = [op for op in ops if "answer" in op.operator.returns][-1].settings["prompt"]
    for form in ("short", "list", "choice", "paragraph", "summary") if name != "zeroshot" else ():
        licence = answer_form(form).licence
        text = wording(prompt, form)
        assert text.count(licence) == 1
        assert text.count(REFUSAL) == 1 and "do not know" not in text and "general" not in text
        assert (text == wording(COMMON, form)) == answer_form(form).prose


def test_plan_names_a_prompt_without_the_clause(tmp_path):
    (tmp_path / "answer.j2").write_text("{{ question }} {{ pieces }} {{ manner }}")
    plan = plan_of(*TOY, "method=vanilla", "answers=short", f"method.prompts={tmp_path}")
    assert answer_form("short").licence in plan
    assert "'licence': methods:vanilla/prompts/answer.j2" in plan
