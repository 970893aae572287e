"""A password in an address is refused before anything is written, and nowhere shown."""

from pathlib import Path

import pytest
from toy_runs import refused

from graphrag_bench.errors import UserError
from graphrag_bench.terminal import check_server, refuse_secrets, without_secrets

PASSWORD = "pass-planted-word"
SECRETS = (
    f"http://someone:{PASSWORD}@host:81/v1",
    f"https://{PASSWORD}@host:81/v1",
    f"http://host:81/v1?x=1&token={PASSWORD}",
)
SERVER = ["dataset=toy", "method=vanilla", "embedder=hashing", "llm=openai_compatible"]
SERVER += ["llm.model=m", "llm.api_key_env=null"]


@pytest.mark.parametrize("address", SECRETS)
def test_an_address_with_a_secret_is_refused_without_it(address: str) -> None:
    for refuse in (check_server, refuse_secrets):
        with pytest.raises(UserError, match=r"llm\.base_url.*host:81/v1") as raised:
            refuse("llm.base_url", address)
        assert PASSWORD not in str(raised.value)
    with pytest.raises(UserError, match=r"llm\.base_url"):
        refuse_secrets("", {"llm": {"base_url": [address]}})


def test_a_run_refuses_it_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    message = refused(*SERVER, f'llm.base_url="{SECRETS[0]}"')
    assert PASSWORD not in message and "host:81/v1" in message
    assert not [path for path in tmp_path.rglob("*") if path.suffix in (".yaml", ".json")]


def test_what_holds_no_secret_is_left_alone() -> None:
    for text in ("http://host:81/v1?version=2", "C:/x@y", "a@b.org", "http://host/a@b"):
        assert without_secrets(text) == text


@pytest.mark.parametrize(
    "address",
    ["http://", "http://:80/v1", "http://127.0.0.1:99999/v1", "http://127.0.0.1:0/v1", "ftp://h/v"],
)
def test_an_address_that_names_no_server_is_refused(address: str) -> None:
    with pytest.raises(UserError, match=r"embedder\.base_url") as raised:
        check_server("embedder.base_url", address)
    assert address in str(raised.value)
