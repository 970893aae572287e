"""A password in an address is refused before anything is written, and nowhere shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_runs import TOY, command, refused

from graphrag_bench import api
from graphrag_bench.addresses import check_server, refuse_secrets, without_secrets
from graphrag_bench.errors import UserError

PASSWORD = "pass-planted-word"
SECRETS = (
    f"http://someone:{PASSWORD}@host:81/v1",
    f"https://{PASSWORD}@host:81/v1",
    f"http://host:81/v1?api_key={PASSWORD}",
    f"http://host:81/v1?x=1&token={PASSWORD}",
)
SERVER = ["dataset=toy", "method=vanilla", "embedder=hashing", "llm=openai_compatible"]
SERVER += ["llm.model=m", "llm.api_key_env=null"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("address", SECRETS)
def test_an_address_with_a_secret_is_refused_without_it(address: str) -> None:
    for refuse in (check_server, refuse_secrets):
        with pytest.raises(UserError, match=r"llm\.base_url.*host:81/v1") as raised:
            refuse("llm.base_url", address)
        assert PASSWORD not in str(raised.value)
    with pytest.raises(UserError, match=r"llm\.base_url"):
        refuse_secrets("", {"llm": {"base_url": [address]}})


@pytest.mark.parametrize("name", ["run", "plan", "doctor"])
def test_commands_refuse_it_and_write_nothing(home: Path, name: str) -> None:
    said = refused(*SERVER, f'llm.base_url="{SECRETS[0]}"', name=name)
    assert PASSWORD not in said and "host:81/v1" in said
    assert not [path for path in home.rglob("*") if path.is_file()]


def test_a_sweep_python_and_a_fetch_refuse_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED_ADDRESS", SECRETS[0])
    monkeypatch.setenv("HF_ENDPOINT", SECRETS[0])
    words = [*SERVER, "llm.base_url=${oc.env:PLANTED_ADDRESS}", "method.top_k=1,2"]
    assert PASSWORD not in refused("-m", *words)
    assert PASSWORD not in refused("dataset=hotpotqa", name="fetch")
    llm = {"_target_": "graphrag_bench.llm.openai_compatible.OpenAICompatible"}
    llm |= {"model": "m", "base_url": SECRETS[0]}
    with pytest.raises(UserError, match="host:81/v1") as raised:
        api.method("vanilla", llm=llm, embedder="hashing").experiment(api.dataset("toy"))
    assert PASSWORD not in str(raised.value)


def test_what_holds_no_secret_is_left_alone() -> None:
    for text in ("http://host:81/v1?version=2", "C:/x@y", "a@b.org", "http://host/a@b"):
        assert without_secrets(text) == text
    words = [*TOY, "method=bm25", "answer=off", "reference_rows=off", "limit=1", "paths.home=a@b"]
    assert command("run", *words).code == 0


@pytest.mark.parametrize(
    "address",
    [
        "http://",
        "http://:80/v1",
        "http://127.0.0.1:99999/v1",
        "http://127.0.0.1:0/v1",
        "ftp://h/v1",
    ],
)
def test_an_address_that_names_no_server_is_refused(address: str) -> None:
    with pytest.raises(UserError, match=r"embedder\.base_url") as raised:
        check_server("embedder.base_url", address)
    assert address in str(raised.value)
