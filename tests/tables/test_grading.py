"""Grades of figures, and the mismatches that they name."""

from dataclasses import replace

from test_paper_runs import stub

from graphrag_bench.papers.names import PrintedSetting
from graphrag_bench.papers.printed import PrintedSize, Recipe, load_table, printed_sizes
from graphrag_bench.tables import grading

TABLE5 = load_table("zhou2025/table5")
(CELL,) = [c for c in TABLE5.cells
           if (c.dataset, c.method, c.metric) == ("PopQA", "HippoRAG", "Accuracy")]  # fmt: skip
SIZES = {"documents": 33_595, "tokens": 2_630_554}
THEIRS = Recipe(TABLE5, CELL)
SETTINGS = grading.settings_of_words(THEIRS.words or (), "popqa")


def fields(graded):
    return [one.field for one in graded.mismatches]


def ours(**changes):
    """A run like the paper's except for these conditions and fields of metrics."""
    fields = {"card": "popqa", "sizes": SIZES, "settings": SETTINGS, "papers_prompts": True}
    fields |= {name: changes.pop(name) for name in (*fields, "verified") if name in changes}
    metrics = {"dataset": "popqa", "n": 1172, "llm": "Meta-Llama-3-8B-Instruct:ab12",
               "embedder": "sentence-transformers:BAAI/bge-m3@1"}  # fmt: skip
    return grading.RunConditions(stub("hipporag", **(metrics | changes)), **fields)


def theirs(place=None, **paper):
    """The cell with other fields of its data set and of `paper.yaml`."""
    other = TABLE5.paper.datasets["PopQA"].model_copy(update=place or {})
    update = {"datasets": {**TABLE5.paper.datasets, "PopQA": other}, **paper}
    return replace(THEIRS, table=replace(TABLE5, paper=TABLE5.paper.model_copy(update=update)))


def by(model):
    """The cell with another model."""
    return replace(THEIRS, cell=replace(CELL, llm=model))


def test_grades_by_the_field_that_differs():
    """2 % of 33,595 documents: 671.9; of 2,630,554 tokens: 52,611.08; of 1,172 questions: 23.44."""
    sample = {"sampled queries=100": PrintedSetting(also=["limit=100"])}
    sampled = replace(theirs(settings_of_rows=sample), cell=replace(CELL, setting=tuple(sample)))
    llms = ("Llama-3.1-8B-Instruct", "Llama-3-70B-Instruct", "scripted:0")
    of_cell = [
        ("A", "", THEIRS, [{}, {"embedder": ""}]),
        ("A", "", by("GPT-4o"), [{"llm": "gpt-4o-2024-08-06:1"}]),
        ("B", "prompts", THEIRS, [{"papers_prompts": False}]),
        ("B", "questions", THEIRS, [
            {"n": 1171}, {"sizes": {"documents": 34_266, "tokens": 2_577_943}, "n": 1149}]),
        ("B", "questions", sampled, [{"n": 100, "limit": 100}]),
        ("B", "embedder", THEIRS, [{"embedder": "hashing:256"}]),
        ("B", "model", THEIRS, [{"llm": "Meta-Llama-3-8B-Instruct.Q4_K_M.gguf@1"}]),
        ("B", "build model", THEIRS, [{"llm_build": "gpt-4o-mini:1"}]),
        ("B", "damping", THEIRS, [{"settings": {**SETTINGS, "method.damping": 0.9}}]),
        ("B", "card", THEIRS, [{"verified": False}]),
        ("C", "data", THEIRS, [{"dataset": "sample", "card": "sample"}]),
        ("C", "data", theirs({"card": None}), [{}]),
        ("C", "data", theirs({"abstract": True}), [{}]),
        ("C", "model", THEIRS, [{"llm": llm} for llm in llms]),
        ("C", "model", by("GPT-4o"), [{"llm": "gpt-4o-mini:1"}]),
        ("C", "model", by("GPT-4o-mini"), [{"llm": "gpt-4o:1"}]),
        ("C", "documents", THEIRS, [{"sizes": {**SIZES, "documents": 1_890}}]),
        ("C", "tokens", THEIRS, [{"sizes": {**SIZES, "tokens": 2_577_942}}]),
        ("C", "questions", THEIRS, [{"n": 1148}, {"limit": 1172}, {"split": "test"}]),
        ("C", "regime", THEIRS, [{"settings": {**SETTINGS, "regime": "house"}}]),
        ("C", "corpus size", THEIRS, [{"sizes": {}}]),
    ]  # fmt: skip
    for letter, field, recipe, changes in of_cell:
        for change in changes:
            graded = grading.grade(ours(**change), recipe)
            named = [one.field for one in graded.major] if letter == "C" else fields(graded)
            assert (graded.letter, named) == (letter, [field] if field else []), change


def test_the_sentence_has_both_values_with_major_mismatches_first():
    graded = grading.grade(ours(embedder="hashing:256", n=9), THEIRS, "judge", "house")
    assert fields(graded) == ["questions", "judge", "protocol of the judge", "embedder"]
    ends = graded.sentence.split("; ")[0], str(graded.mismatches[-1])
    assert ends == ("questions: 9, not 1,172", "embedder: hashing:256, not BGE-M3")
    unsaid = theirs({"questions": None}, embedder=None)
    other = replace(unsaid, table=replace(unsaid.table, paper_name="pathrag"))
    graded = grading.grade(ours(), other)
    assert fields(graded) == ["corpus size", "number of questions", "embedder"]
    assert (graded.letter, {one.theirs for one in graded.mismatches}) == ("B", {""})


def test_counts_are_graded_by_the_size_of_the_corpus():
    table = load_table("zhou2025/table4")
    cells = [c for c in table.cells if (c.dataset, c.metric) == ("PopQA", "# of Tokens")]
    (counted,) = [Recipe(table, cell) for cell in cells]
    for same in ({"limit": 1, "n": 1, "llm": ""}, {"settings": {**SETTINGS, "regime": "house"}}):
        assert grading.grade(ours(**same), counted).letter == "A"
    part = grading.grade(ours(sizes={**SIZES, "documents": 9}), counted)
    assert (part.letter, fields(part)) == ("C", ["documents"])


def test_printed_sizes_are_found_by_card_and_agree_within_their_rounding():
    sizes = {"tokens": 3_280_174, "documents": 29_898}
    assert {one.what: one.value for one in printed_sizes("zhou2025", "musique")} == sizes
    assert printed_sizes("zhou2025tr", "musique") == printed_sizes("zhou2025", "musique")
    assert printed_sizes("pathrag", "ultradomain_mix") == ()
    cell = load_table("zhou2025/table4").cells[0]
    for note, value, same, other in (
        ("printed 2.3M", 2_300_000, 2_250_000, 2_249_999), ("", 1_000, 1_020, 1_021),
        ("printed 2M", 2_000_000, 1_500_000, 1_499_999),
        ("printed 619K", 619_000, 606_620, 606_619),
    ):  # fmt: skip
        size = PrintedSize.of(replace(cell, shown=str(value), note=note), "tokens")
        assert size.agrees(same) and not size.agrees(other)


def test_settings_of_steps_are_named_only_if_no_parameter_differs():
    shallow, deep, chunking = "method.damping", "method.retrieve.0.damping", "chunking.variant"
    for ours, theirs, names in (
        ({shallow: 0.5, deep: 0.5, "method.title": "mine"}, {shallow: 0.1, deep: 0.1},
         ["damping: 0.5, not 0.1"]),
        ({deep: 0.5}, {deep: 0.1}, ["retrieve.0.damping: 0.5, not 0.1"]),
        ({}, {"build.graph": "kg"}, ["build.graph: –, not kg"]),
        ({chunking: "presplit"}, {chunking: "auto"}, []),
        ({chunking: "presplit"}, {chunking: "token"}, ["chunking.variant: presplit, not token"]),
    ):  # fmt: skip
        assert list(map(str, grading.different_settings(ours, theirs))) == names
