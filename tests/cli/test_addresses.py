"""A password in an address is refused before anything is written, and nowhere shown."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from toy_runs import TOY, WEIGHTLESS, command, refused

from graphrag_bench import api
from graphrag_bench.addresses import without_secrets
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


def nothing_written(home: Path) -> bool:
    files = [path for path in home.rglob("*") if path.is_file()]
    return not any(PASSWORD.encode() in path.read_bytes() for path in files)


@pytest.mark.parametrize("address", SECRETS)
@pytest.mark.parametrize("name", ["llm", "llm_build", "embedder"])
def test_every_command_refuses_it_with_one_message(home: Path, address: str, name: str) -> None:
    group = "llm@llm_build" if name == "llm_build" else name
    words = [*SERVER, f"{group}=openai_compatible", f'{name}.base_url="{address}"']
    for command_name, more in (
        ("run", []), ("plan", []), ("doctor", []), ("run", ["-m", "method.top_k=1,2"]),
        ("ask", ["Who?"]),
        ("run", ["-m", f'{name}.base_url="{address}",http://b/v1']),
    ):  # fmt: skip
        said = refused(*more, *words, name=command_name)
        assert PASSWORD not in said and "host:81/v1" in said
        assert "held a user name, a password or a key" in said
    assert nothing_written(home)


def test_a_sweep_writes_none_even_where_a_file_of_settings_holds_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTED_ADDRESS", SECRETS[0])
    words = [*SERVER, "llm.base_url=${oc.env:PLANTED_ADDRESS}", "method.top_k=1,2"]
    said = refused("-m", *words)
    assert PASSWORD not in said and "host:81/v1" in said
    assert nothing_written(home)


def test_python_refuses_it_too(home: Path) -> None:
    llm = {"_target_": "graphrag_bench.models.openai_compatible.OpenAICompatible"}
    llm |= {"model": "m", "base_url": SECRETS[0]}
    made = api.method("vanilla", llm=llm, embedder="hashing")
    with pytest.raises(UserError) as raised:
        made.experiment(api.dataset("toy"))
    assert PASSWORD not in str(raised.value) and "llm.base_url=http://host:81/v1" in str(
        raised.value
    )


def test_a_fetch_refuses_it_as_its_endpoint(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", SECRETS[0])
    said = refused("dataset=hotpotqa", name="fetch")
    assert PASSWORD not in said and "held a user name" in said


def test_what_holds_no_secret_is_left_alone() -> None:
    for text in ("http://host:81/v1?version=2", "C:/x@y", "a@b.org", "http://host/a@b"):
        assert without_secrets(text) == text
    words = [*TOY, "method=vanilla", "reference_rows=off", "limit=1", "paths.home=a@b"]
    assert command("run", *words).code == 0
    (config,) = Path("a@b").glob("runs/*/*/*/config.yaml")
    assert yaml.safe_load(config.read_text())["llm"]["_target_"] == "toy_runs.reader"
    assert WEIGHTLESS


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("http://", "it names no host"),
        ("http://:80/v1", "it names no host"),
        ("http://127.0.0.1:99999/v1", "Port out of range 0-65535"),
        ("http://127.0.0.1:0/v1", "no server can be reached there"),
        ("ftp://host/v1", "it begins with http:// or https://"),
    ],
)
@pytest.mark.parametrize("name", ["llm", "embedder"])
def test_an_address_that_names_no_server_is_refused_with_one_message(
    address: str, said: str, name: str
) -> None:
    own = [f"{name}=openai_compatible", f"{name}.model=m", f"{name}.base_url={address}"]
    message = refused(*SERVER, *own)
    assert f"{name}.base_url is '{address}'" in message and said in message
