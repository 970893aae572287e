"""Whose prompt answers in which regime: one clause and one prompt for prose, or each its own."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from toy_runs import TOY, by_python, plan_of

from graphrag_bench.config.compose import composed
from graphrag_bench.config.sources import names
from graphrag_bench.pipeline.reader_prompts import COMMON, own_answers
from graphrag_bench.prompts import REFUSAL, FormName, Message, Prompt, answer_form
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.values import Piece, Question
from operators.answer.direct import reader_values

IN_SEARCH = {"tog": ["answer.if_enough (retrieve)"], "pankrag": ["answer.direct (retrieve)"]}


@cache
def experiment(method: str, regime: str = "house") -> Experiment:
    return by_python(method, regime=regime)


def shown(*pieces: Piece, dependencies: tuple[tuple[str, str], ...] = ()) -> str:
    """The common prompt about some pieces, or of a closed book."""
    return text_of(
        COMMON.render(reader_values(Question("q", "Who?"), pieces or None, dependencies))
    )


def text_of(chat: Sequence[Message]) -> str:
    return "\n".join(message.content for message in chat)


def final_prompt(method: str, regime: str) -> Prompt:
    """The prompt of the method's last answer."""
    steps = experiment(method, regime).method.pipeline.generate
    ops = [op for step in steps for op in step.operators() if "answer" in op.operator.returns]
    prompt = ops[-1].settings["prompt"]
    assert isinstance(prompt, Prompt)
    return prompt


def wording(prompt: Prompt, form: FormName) -> str:
    """What the prompt says of one passage, with a question that wants this form."""
    values = reader_values(Question("q", "Who?", form=form), [piece("chunk", "Ada.")])
    return text_of(prompt.render({**values, "points": (), "triples": (), "reasoning": ""}))


@pytest.mark.parametrize("name", names("method"))
def test_the_house_has_one_clause_in_every_form_and_one_prompt_for_prose(name: str) -> None:
    house, published = (experiment(name, regime) for regime in ("house", "published"))
    assert COMMON.name in prompt_files(house, ["generate"])
    assert COMMON.name not in prompt_files(house, ["convert", "retrieve"])
    assert COMMON.name not in prompt_files(published, ["convert", "retrieve", "generate"])
    assert own_answers(house.method.pipeline.operators()) == IN_SEARCH.get(name, [])
    prompt = final_prompt(name, "house")
    for form in ("short", "list", "choice", "paragraph", "summary") if name != "zeroshot" else ():
        licence = answer_form(form).licence
        text = wording(prompt, form)
        assert text.count(licence) == 1
        assert text.count(REFUSAL) == 1 and "do not know" not in text and "general" not in text
        assert (text == wording(COMMON, form)) == answer_form(form).prose


def test_as_published_is_the_wording_of_the_source_and_no_clause_without_one() -> None:
    for method, wanted in (("lgraphrag", "general knowledge"), ("tog", "from what you know"),
                           ("vanilla", ""), ("pathrag", ""), ("pathcorag", ""),
                           ("pankrag", ""), ("subgraphrag", ""), ("zeroshot", "")):  # fmt: skip
        for form in ("short", "summary"):
            text = wording(final_prompt(method, "published"), form)
            assert REFUSAL not in text
            assert wanted in text
            assert wanted or not any(word in text for word in ("do not know", " only", "nothing"))


def test_a_prompt_of_ones_own_without_the_clause_is_named_by_plan(tmp_path: Path) -> None:
    (tmp_path / "answer.j2").write_text("{{ question }} {{ pieces }} {{ manner }}")
    more = ["answers=short", f"method.prompts={tmp_path}"]
    plan = plan_of(*TOY, "method=vanilla", *more)
    assert answer_form("short").licence in plan
    assert "'licence': methods:vanilla/prompts/answer.j2" in plan


def piece(kind: str, text: str) -> Piece:
    return Piece(kind, "1", text, 1.0, 5)


def prompt_files(experiment: Experiment, stages: Sequence[str]) -> set[str]:
    """The names of the prompts of the steps of these stages."""
    pipeline = experiment.method.pipeline
    steps = [step for stage in stages for step in getattr(pipeline, stage)]
    values = [value for one in steps for op in one.operators() for value in op.settings.values()]
    return {file.name for value in values if isinstance(value, Prompt) for file in value.files}


def test_it_is_in_the_key_by_content(tmp_path: Path) -> None:
    own = Experiment.prepare(composed([*TOY, "method=vanilla"])).key
    published = Experiment.prepare(composed([*TOY, "method=vanilla", "regime=published"])).key
    assert published != own
    (tmp_path / "common.j2").write_text("Another: {{ question }} {{ blocks }}")
    words = [*TOY, "method=vanilla", f"method.prompts={tmp_path}"]
    assert Experiment.prepare(composed(words)).key not in (own, published)


def test_rows_of_tables_have_their_head_and_plain_texts_of_the_same_kind_have_none() -> None:
    table = shown(piece("chunk", '0,"Ada, a founder."'), piece("chunk", "1,Otto."))
    assert "-----Passages-----\nid,content\n0," in table
    text = shown(piece("chunk", "Ada, a founder."), piece("relationship", "ada, founded, norvik"))
    assert "-----Passages-----\nAda, a founder.\n-----Relationships-----\nada, founded" in text
    assert "id,content" not in text


def test_sub_answers_are_shown_and_a_closed_book_is_told_of_no_context() -> None:
    text = shown(piece("path", "a -> b"), dependencies=(("Who built it?", "Ada"),))
    assert "Known: Who built it? Answer: Ada" in text
    assert "was retrieved" in text
    assert "retrieved" not in shown() and REFUSAL not in shown()
    empty = text_of(COMMON.render(reader_values(Question("q", "Who?"), ())))
    assert REFUSAL in empty
    assert shown().endswith("Question: Who?\nShort answer:")
