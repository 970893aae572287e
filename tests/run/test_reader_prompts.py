"""Answer prompts of the regimes house and published."""

from pathlib import Path

import pytest
from toy_runs import TOY, plan_of

from graphrag_bench.config.compose import compose_settings, method_values
from graphrag_bench.config.plugins import load_plugins
from graphrag_bench.config.sources import method_file, names, with_profile
from graphrag_bench.pipeline.pipeline import Pipeline, StepOptions, build
from graphrag_bench.pipeline.reader_prompts import COMMON, own_answers
from graphrag_bench.prompts import REFUSAL, FormName, Prompt, answer_form
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.values import Piece, Question
from operators.answer.generation import reader_values

IN_SEARCH = {"tog": ["answer.if_enough (retrieve)"], "pankrag": ["answer.direct (retrieve)"]}


def final_prompt(pipeline: Pipeline) -> Prompt:
    """Return the prompt of the method's last answer."""
    ops = [op for step in pipeline.generate for op in step.operators()
           if "answer" in op.operator.returns]  # fmt: skip
    prompt = ops[-1].settings["prompt"]
    assert isinstance(prompt, Prompt)
    return prompt


def wording(prompt: Prompt, form: FormName) -> str:
    """Render the prompt for one passage and a question of this answer form."""
    passage = Piece("chunk", "1", "Ada.", 1.0, 5)
    values = reader_values(Question("q", "Who?", form=form), [passage])
    chat = prompt.render({**values, "points": (), "triples": (), "reasoning": ""})
    return "\n".join(message.content for message in chat)


def prompt_files(pipeline: Pipeline, *stages: str) -> set[str]:
    """Return the names of the prompts in these stages."""
    steps = [step for stage in stages for step in getattr(pipeline, stage)]
    values = [value for one in steps for op in one.operators() for value in op.settings.values()]
    return {file.name for value in values if isinstance(value, Prompt) for file in value.files}


@pytest.mark.parametrize("name", names("method"))
def test_house_regime_has_one_clause_and_one_prose_prompt(name: str) -> None:
    load_plugins()
    values = method_values(with_profile(method_file(name), "default", "default"))
    house, published = (
        build(values, StepOptions(regime=regime))[0] for regime in ("house", "published")
    )
    assert COMMON.name in prompt_files(house, "generate")
    assert COMMON.name not in prompt_files(house, "convert", "retrieve")
    assert COMMON.name not in prompt_files(published, "convert", "retrieve", "generate")
    assert own_answers(house.operators()) == IN_SEARCH.get(name, [])
    prompt = final_prompt(house)
    for form in ("short", "list", "choice", "paragraph", "summary") if name != "zeroshot" else ():
        licence = answer_form(form).licence
        text = wording(prompt, form)
        assert text.count(licence) == 1
        assert text.count(REFUSAL) == 1 and "do not know" not in text and "general" not in text
        assert (text == wording(COMMON, form)) == answer_form(form).prose


def test_plan_names_a_prompt_without_the_clause(tmp_path: Path) -> None:
    (tmp_path / "answer.j2").write_text("{{ question }} {{ pieces }} {{ manner }}")
    plan = plan_of(*TOY, "method=vanilla", "answers=short", f"method.prompts={tmp_path}")
    assert answer_form("short").licence in plan
    assert "'licence': methods:vanilla/prompts/answer.j2" in plan


def test_key_contains_the_prompt(tmp_path: Path) -> None:
    (tmp_path / "common.j2").write_text("Another: {{ question }} {{ blocks }}")
    words = [[], ["regime=published"], [f"method.prompts={tmp_path}"]]
    runs = [Experiment.prepare(compose_settings([*TOY, "method=vanilla", *more])) for more in words]
    assert len({run.key for run in runs}) == 3
