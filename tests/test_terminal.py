"""Terminal output has no control characters, and addresses have no secrets."""

import io
import sys

import pytest

from graphrag_bench import terminal
from graphrag_bench.errors import UserError
from graphrag_bench.terminal import check_server, clean, refuse_secrets


def test_control_characters_become_spaces_and_printable_text_is_unchanged():
    text = "Schrödinger – ωμέγα, كتاب, नमस्ते\u200d, 👩\u200d🔬\ta\nb"
    assert clean(text) == text and clean("a\x1b[31mb") == "a [31mb"
    assert terminal.clean_line("a\nb\tc") == "a b c"


def test_unencodable_characters_become_question_marks(monkeypatch):
    stored = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stored)
    with terminal.clean_output():
        sys.stdout.write("é\ud800")
    stored.flush()
    assert stored.buffer.getvalue() == b"? "


@pytest.mark.parametrize(
    "address",
    ["http://someone:planted@host:81/v1", "https://planted@host:81/v1",
     "http://host:81/v1?x=1&token=planted"],
)  # fmt: skip
def test_address_with_a_secret_is_refused_without_printing_it(address):
    for refuse in (check_server, refuse_secrets):
        with pytest.raises(UserError, match=r"llm\.base_url.*host:81/v1") as raised:
            refuse("llm.base_url", address)
        assert "planted" not in str(raised.value)
    with pytest.raises(UserError, match=r"llm\.base_url"):
        refuse_secrets("", {"llm": {"base_url": [address]}})


def test_text_without_a_secret_is_unchanged():
    for text in ("http://host:81/v1?version=2", "C:/x@y", "a@b.org", "http://host/a@b"):
        assert terminal.without_secrets(text) == text


@pytest.mark.parametrize(
    "address", ["http://:80/v1", "http://127.0.0.1:99999/v1", "http://127.0.0.1:0/v1", "ftp://h/v"]
)
def test_invalid_server_address_is_refused(address):
    with pytest.raises(UserError, match=r"embedder\.base_url") as raised:
        check_server("embedder.base_url", address)
    assert address in str(raised.value)
