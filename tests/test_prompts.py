"""Prompts: variables, errors, and texts that are not templates."""

import pytest

from graphrag_bench.errors import UserError
from graphrag_bench.prompts import Message, Prompt

ANSWER = "methods:vanilla/prompts/answer.j2"


@pytest.fixture
def prompt(tmp_path):
    file = tmp_path / "answer.j2"
    return lambda text: file.write_text(text) and Prompt(ANSWER, str(tmp_path))


def test_a_template_has_one_message_or_one_per_block(prompt):
    assert prompt("Ask {{ question }}").render({"question": "why"}) == (Message("user", "Ask why"),)
    blocks = prompt(
        "{# {{ nothing }} #}{% block user %}Ask {{ question }}{% for one in pieces %}{{ one.text }}"
        "{% endfor %}{% endblock %}{% block system %}Be brief.{% endblock %}"
    )
    assert blocks.variables == {"pieces", "question"}
    messages = blocks.render({"question": "why", "pieces": ()})
    assert messages == (Message("system", "Be brief."), Message("user", "Ask why"))


def test_errors_name_the_prompt(prompt):
    for text, named in (
        ("{{ question }}", "answer.j2.*'question'"),
        ("{{ text.__class__.__mro__ }}", "unsafe"),
        ("fine\n{% for piece in pieces %}", "answer.j2', line 2"),
    ):
        with pytest.raises(UserError, match=named):
            assert prompt(text).variables
            prompt(text).render({"text": "Who?"})
    for name, message in (
        ("answer.j2", "'package:path'"),
        ("no_such_package:answer.j2", "no_such_package"),
        ("methods:vanilla/prompts/answr.j2", r"'answer\.j2'"),
        ("methods:nowhere/answer.j2", "methods:nowhere/answer.j2"),
    ):
        with pytest.raises(UserError, match=message):
            _ = Prompt(name).text


def test_texts_are_not_parsed_as_templates_and_a_file_replaces_the_packaged_prompt(prompt):
    text = "{{ 7 * 7 }} {% for x in y %} {# gone #} {{ question.__class__ }} <b> & {}"
    (message,) = prompt("Passage: {{ text }}").render({"text": text})
    assert message.content == f"Passage: {text}"
    packaged, own = Prompt(ANSWER), prompt("my own words")
    assert own.text == "my own words" and own.digest != packaged.digest
    assert prompt(packaged.text).digest == packaged.digest
