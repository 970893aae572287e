import json
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import fake_vllm
import pytest
from published_sets import written
from toy_runs import run_folder

from graphrag_bench.config.compose import compose_settings
from graphrag_bench.config.settings import check_settings
from graphrag_bench.errors import UserError
from graphrag_bench.llm import vllm
from graphrag_bench.llm.cache import Cache
from graphrag_bench.llm.calls import Completion, ServerFailed
from graphrag_bench.llm.vllm import Vllm
from graphrag_bench.run.model_check import check_models

NAME = "own/model"


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Put the program on PATH; the result reads its starts."""
    path, starts = tmp_path / "bin" / "vllm", tmp_path / "starts.jsonl"
    path.parent.mkdir()
    path.write_text(f'#!/bin/sh\nexec {sys.executable} {fake_vllm.__file__} "$@"\n')
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(path.parent), prepend=os.pathsep)
    monkeypatch.setattr(vllm, "_POLL", 0.02)

    def plays(**how):
        monkeypatch.setenv("FAKE_VLLM", json.dumps({"starts": str(starts), **how}))
        return lambda: [json.loads(line) for line in starts.read_text().splitlines()]

    return plays


@pytest.fixture
def made(tmp_path: Path) -> Any:
    with ExitStack() as models:

        def make(**settings: Any) -> Vllm:
            model = Vllm(**{"model": NAME, **settings})
            model.folder = tmp_path
            models.callback(model.close)
            return model

        yield make


def gone(start: dict[str, Any], seconds: float = 8.0) -> bool:
    processes, until = [Path(f"/proc/{pid}") for pid in start["pids"]], time.monotonic() + seconds
    while any(one.exists() for one in processes) and time.monotonic() < until:
        time.sleep(0.02)
    return not any(one.exists() for one in processes)


def test_it_starts_on_a_free_port_and_ends(program, made, chat, tmp_path, monkeypatch):
    monkeypatch.setenv("VLLM_API_KEY", "planted-key")
    starts, store = program(in_use=True), Cache(tmp_path / "replies.sqlite")
    how = {"revision": "abc", "dtype": "half", "window": 4096, "args": ["--quantization=awq"]}
    model = made(**how)
    assert model.identity and not (tmp_path / "starts.jsonl").exists()
    prompts = [chat(f"{n}") for n in range(40)]
    replies = model.attached(store=store).complete(prompts, max_tokens=5)
    assert {(one.text, one.model) for one in replies} == {("Paris", NAME)}
    failed, start = starts()
    assert start["words"][:3] == ["serve", NAME, "--quantization=awq"]
    flags = "--enable-prefix-caching --revision=abc --dtype=half --max-model-len=4096"
    assert {"--host=127.0.0.1", *flags.split()} < set(start["words"])
    (port,) = (word for word in start["words"] if word.startswith("--port="))
    assert port not in failed["words"]
    assert (tmp_path / "vllm.log").read_text() == "VLLM_API_KEY is None\n"
    model.close()
    assert gone(start)
    assert isinstance(model.complete([chat("again")], max_tokens=5)[0], Completion)
    assert len(starts()) == 3
    monkeypatch.setenv("PATH", "/nowhere")
    stored = made(version="0.11.0", **how).attached(store=store)
    assert stored.complete(prompts[:1], max_tokens=5)[0].cached
    with pytest.raises(UserError, match="pip install vllm"):
        made().identity  # noqa: B018
    store.close()


def test_it_ends_when_the_process_is_killed(program, tmp_path):
    starts = program()
    code = (
        "from graphrag_bench.llm.vllm import Vllm\nfrom graphrag_bench.prompts import Message\n"
        f"model = Vllm({NAME!r})\nmodel.complete([(Message('user', 'x'),)], max_tokens=5)\n"
        "print('served', flush=True)\ninput()\n"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code], text=True, **pipes) as process:
        assert process.stdout is not None and process.stdout.readline() == "served\n"
        (start,) = starts()
        assert not gone(start, 0.1)
        process.send_signal(signal.SIGKILL)
    assert gone(start)


def test_a_failed_start_is_one_line_for_all_waiting_calls(program, made, chat, tmp_path):
    starts = program(fails="memory")
    with pytest.raises(UserError) as failed:
        made(parallel=4).complete([chat(f"{n}") for n in range(4)], max_tokens=5)
    message = str(failed.value)
    assert all(word in message for word in ("CUDA out of memory", NAME, str(tmp_path / "vllm.log")))
    assert "\n" not in message and "pid=" not in message
    assert gone(*starts())


CAUSES = {
    "no GPU": "infer device type; nvidia-smi", "memory": "out of memory; --gpu-memory-utilization",
    "shared memory": "3.1/79.1 GiB; nvidia-smi", "cache": "No available memory; llm.window",
    "gated": "gated repo; HF_TOKEN", "forbidden": "gated repo; HF_TOKEN",
    "unknown": "Repository Not Found; llm.model", "invalid": "Invalid repository ID; llm.model",
    "window": "max_position_embeddings=2048; llm.window", "flag": "--no-such-flag",
    "port": "already in use",
}  # fmt: skip


def test_the_cause_of_a_failed_start_is_read_from_its_log(tmp_path):
    model = Vllm(NAME)
    model._log = tmp_path / "vllm.log"
    for log, words in CAUSES.items():
        model._log.write_text(fake_vllm.LOGS[log])
        assert all(word in model._cause() for word in words.split("; ")), log


def test_a_server_that_ends_is_named_with_its_cause(program, made, chat):
    program(die_after=0)
    with pytest.raises(ServerFailed, match="CUDA out of memory"):
        made().complete([chat("x")], max_tokens=5)


def test_the_identity_has_all_that_changes_a_reply_and_wrong_flags_are_refused(program, tmp_path):
    def identity(**settings: Any) -> str:
        return Vllm(**{"model": NAME, "version": "0.11.0", **settings}).identity

    program()
    base = Vllm(NAME).identity  # the program tells its version
    assert base.startswith(f"{NAME}:") and base.endswith(":vllm-0.11.0")
    same = {"window": 99, "parallel": 2, "timeout": 1.0,
            "args": ["--gpu-memory-utilization=0.5", "--tensor-parallel-size=2"]}  # fmt: skip
    assert {identity(), *(identity(**{name: value}) for name, value in same.items())} == {base}
    other = {"model": "b", "revision": "c", "dtype": "half", "version": "0.12.0",
             "args": ["--quantization=awq"], "decoding": {"seed": 1}}  # fmt: skip
    one_changed = {identity(**{name: value}) for name, value in other.items()}
    assert len(one_changed | {base}) == 1 + len(other)
    weights = written(tmp_path / "weights", {"config.json": "{}"})
    stored = identity(model=str(weights))
    (weights / "config.json").write_text("[]")
    assert stored.startswith("weights:") and identity(model=str(weights)) != stored
    for args in (["--api-key=x"], ["quantization=awq"]):
        with pytest.raises(UserError, match=r"llm\.args"):
            Vllm(NAME, args=args)


@pytest.mark.slow
def test_a_run_logs_into_its_folder_and_doctor_ends_the_model(program, home):
    starts, model = program(), ["llm=vllm", f"llm.model={NAME}", "embedder=hashing"]
    assert (run_folder(*model, "dataset=toy", "method=vanilla", "limit=1") / "vllm.log").exists()
    words = [*model, "nlp._target_=toy_runs.Capitals"]
    checks = check_models(check_settings(compose_settings(words)))
    assert [one.passed for one in checks if one.part == "llm"] == [True, True]
    _, start = starts()
    assert gone(start)
