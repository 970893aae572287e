"""Terminal output has no control characters, and addresses have no secrets."""

import io
import sys

import pytest

from graphrag_bench.errors import UserError
from graphrag_bench.terminal import (
    check_server,
    clean,
    clean_line,
    clean_output,
    refuse_secrets,
    without_secrets,
)


def test_printable_text_is_unchanged() -> None:
    text = "Schrödinger – ωμέγα, كتاب, नमस्ते\u200d, 👩\u200d🔬\ta\nb"
    assert clean(text) == text
    assert clean_line("a\nb\tc") == "a b c"
    assert clean("a\x1b[31mb") == "a [31mb"


def test_unencodable_characters_become_question_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stored)
    with clean_output():
        sys.stdout.write("é\ud800")
    stored.flush()
    assert stored.buffer.getvalue() == b"? "


# ---- addresses with secrets

PASSWORD = "pass-planted-word"
SECRETS = (
    f"http://someone:{PASSWORD}@host:81/v1",
    f"https://{PASSWORD}@host:81/v1",
    f"http://host:81/v1?x=1&token={PASSWORD}",
)


@pytest.mark.parametrize("address", SECRETS)
def test_address_with_a_secret_is_refused_without_printing_it(address: str) -> None:
    for refuse in (check_server, refuse_secrets):
        with pytest.raises(UserError, match=r"llm\.base_url.*host:81/v1") as raised:
            refuse("llm.base_url", address)
        assert PASSWORD not in str(raised.value)
    with pytest.raises(UserError, match=r"llm\.base_url"):
        refuse_secrets("", {"llm": {"base_url": [address]}})


def test_text_without_a_secret_is_unchanged() -> None:
    for text in ("http://host:81/v1?version=2", "C:/x@y", "a@b.org", "http://host/a@b"):
        assert without_secrets(text) == text


@pytest.mark.parametrize(
    "address", ["http://:80/v1", "http://127.0.0.1:99999/v1", "http://127.0.0.1:0/v1", "ftp://h/v"]
)
def test_invalid_server_address_is_refused(address: str) -> None:
    with pytest.raises(UserError, match=r"embedder\.base_url") as raised:
        check_server("embedder.base_url", address)
    assert address in str(raised.value)
