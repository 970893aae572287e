"""Runs and artifacts on a local hub, by the real client."""

import json

import pytest
from file_server import serving
from toy_runs import TOY, command, run_folder

from graphrag_bench.run.folder import RunFolder, write_rows
from graphrag_bench.run.stored import StoredRun

REPO = "mira/tarn"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    words = ["method=bm25", "limit=3", "reference_rows=off", f"paths.home={home}"]
    run_folder(*TOY, *words)
    return home


@pytest.fixture
def hub(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_TOKEN", "hf_of_the_test")
    with serving() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.address)
        yield server


def done(*words):
    ended = command(*words)
    assert ended.code == 0, ended.err
    return ended


def pushed(hub):
    start = f"/datasets/{REPO}/resolve/main/"
    return {name[len(start) :]: one for name, one in hub.files.items() if name.startswith(start)}


def refused(*words):
    ended = command(*words)
    assert ended.code == 2 and len(ended.err.splitlines()) == 1, ended.err
    return ended.err


def test_a_pulled_run_has_the_tables_and_scores_of_the_original(hub, home, tmp_path):
    hub.publish(REPO, {"README.md": b"# Mine\n\n## other\n\nkept\n"})
    sent = done("runs", "push", "bm25", REPO, "--home", str(home)).out
    files = pushed(hub)
    everything = b"".join(files.values())
    assert str(home).encode() not in everything and b"hf_of_the_test" not in everything
    (key,) = (home / "runs/toy/bm25").iterdir()
    stored = RunFolder(key).metrics()["metrics"]
    shown = (f"| mrr | {stored['mrr']['mean']:.3f} |", "method=bm25", "kept")
    assert all(text in files["README.md"].decode() for text in shown)
    got = done("runs", "pull", REPO, "--home", str(tmp_path)).out
    assert sent.split("content: ")[1] == got.split("content: ")[1]
    assert done("runs", "pull", REPO, "--home", str(tmp_path)).out.startswith("present")
    scored = tmp_path / "runs/toy/bm25" / key.name
    assert done("table", str(key)).out == done("table", str(scored)).out
    done("runs", "score", str(scored))
    assert RunFolder(scored).metrics()["metrics"] == stored
    (scored / "records.jsonl").write_text("{}\n")
    assert str(scored) in refused("runs", "pull", REPO, "--home", str(tmp_path))
    assert (scored / "records.jsonl").read_text() == "{}\n"


def test_unsafe_names_and_other_digests_are_refused(hub, tmp_path):
    place = "runs/toy/bm25/abc"
    for name in ("../../x", "/srv/x", "a/../../../../x.jsonl", "run.log", "records.jsonl"):
        digests = json.dumps({name: "0" * 64}).encode()
        hub.publish(REPO, {f"{place}/sha256.json": digests, f"{place}/{name}": b"{}"})
        assert name in refused("runs", "pull", REPO, "--home", str(tmp_path / "in"))
        assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_texts_are_left_out_without_the_flag(hub, home):
    (folder,) = (home / "runs/toy/bm25").iterdir()
    contexts, run = folder / "contexts.jsonl", StoredRun(RunFolder(folder))
    stored = contexts.read_text()
    first, *rest = map(json.loads, stored.splitlines())
    last = run.rows[first["question"]]["context"]["pieces"][-1]["id"]
    (text,) = (one.passage for one in run.require_dataset().documents if one.id == last)
    first["texts"][-1], shown = text, text.splitlines()[-1].encode()
    write_rows(contexts, [first, *rest])
    push = ("runs", "push", "bm25", REPO, "--home", str(home))
    assert ": 1 contexts" in done(*push).out
    assert shown not in b"".join(pushed(hub).values())
    done(*push, "--with-texts")
    assert shown in b"".join(pushed(hub).values())
    contexts.write_text(stored)


def test_an_artifact_goes_and_comes_with_its_inputs(hub, home, tmp_path):
    (key,) = (one.name for one in (home / "artifacts").glob("*/chunk_table/*"))
    refused("artifacts", "push", key, REPO, "--home", str(home))
    sent = done("artifacts", "push", key, REPO, "--with-texts", "--home", str(home)).out
    got = done("artifacts", "pull", REPO, key[:6], "--home", str(tmp_path)).out
    assert sent.strip() == got.splitlines()[-1]
    assert refused("artifacts", "pull", REPO, "zz").endswith(f"There are: {key}.\n")
    assert len(list(tmp_path.glob(f"artifacts/*/chunk_table/{key}"))) == 1


def test_failures_of_the_hub_are_one_line(hub, home, tmp_path, monkeypatch):
    pull = ("runs", "pull", REPO, "--home", str(tmp_path))
    assert REPO in refused(*pull)
    hub.publish(REPO, {})
    assert REPO in refused(*pull)
    assert "no/such/name" in refused("runs", "pull", "no/such/name")
    monkeypatch.delenv("HF_TOKEN")
    assert "HF_TOKEN" in refused("runs", "push", "bm25", "mira/new", "--home", str(home))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert "127.0.0.1:9" in refused(*pull)
