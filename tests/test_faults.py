"""Faults end in the result or in one error, and no call is paid twice.

Real processes are killed with SIGKILL, real servers fail, and texts and files are hostile.
"""

import io
import re
import tarfile
from dataclasses import dataclass
from pathlib import Path

import killing
import pytest
from fake_openai import FakeOpenAI
from killing import Fault
from refused_locks import AVAILABLE
from toy_runs import TOY, WEIGHTLESS, command, metrics, records, run_error, run_folder, write_set

from graphrag_bench.artifacts.sharing import import_artifacts
from graphrag_bench.errors import UserError
from graphrag_bench.files import project_folder, read_yaml

pytestmark = pytest.mark.slow

N_CALLS = 22
"""Two distinct calls for each of 6 documents and of 5 questions."""
IMPATIENT = ["llm.retries=2"]


@dataclass(frozen=True)
class Towns:
    """A run on six towns, and the home (`whole`) of the same run without faults."""

    fake: FakeOpenAI
    root: Path
    home: Path
    whole: Path

    def words(self, url, *more):
        return killing.built_by_llm(self.root, self.home, url, *more)

    def answered(self, url):
        return self.fake.stats(url).answered

    def finish(self, url, *more):
        run_folder(*self.words(url, *more)[1:])
        assert killing.determined(self.home) == killing.determined(self.whole)


@pytest.fixture(scope="module")
def undisturbed(fake, tmp_path_factory):
    home, url = tmp_path_factory.mktemp("undisturbed"), fake.scenario(reads=True)
    towns = Towns(fake, killing.tiny_set(tmp_path_factory.mktemp("sets") / "towns"), home, home)
    towns.finish(url)
    answered = towns.answered(url)
    assert (answered.total(), len(answered)) == (N_CALLS, N_CALLS)
    return towns


@pytest.fixture
def towns(undisturbed, home):
    return Towns(undisturbed.fake, undisturbed.root, home, undisturbed.home)


def test_killed_run_resumes_to_the_same_bytes(towns):
    """Kill before an artifact is named, in a row of the journal, before the records are sorted."""
    url = towns.fake.scenario(reads=True)
    faults = Fault("rename", 1), Fault("append", 8, no_locks=AVAILABLE), Fault("replace", 3)
    for fault in faults:
        assert killing.start(towns.words(url), towns.home, fault).ended().code == -9, fault
    towns.finish(url)
    assert towns.answered(url).total() == N_CALLS


def test_kill_repeats_only_calls_in_flight(towns):
    """The run is killed while it builds, and again while it answers."""
    url = towns.fake.scenario(reads=True, latency=0.05)
    for n_calls in (5, 15):
        process = killing.start(towns.words(url), towns.home)
        killing.wait_for_calls(towns.fake, url, n_calls, process)
        assert process.alive
        process.killed()
    towns.finish(url)
    answered = towns.answered(url)
    assert len(answered) == N_CALLS
    assert answered.total() <= N_CALLS + 2 * killing.CONCURRENCY


@pytest.mark.parametrize("no_locks", [False, True][: 1 + AVAILABLE])
def test_two_processes_build_and_pay_once(towns, no_locks):
    url = towns.fake.scenario(reads=True, latency=0.02)
    fault = Fault(no_locks=no_locks)
    both = [killing.start(towns.words(url), towns.home, fault) for _ in range(2)]
    ends = [process.ended() for process in both]
    assert [ended.code for ended in ends] == [0, 0]
    assert "waiting for another process" in ends[0].err + ends[1].err
    files = killing.determined(towns.home).items()
    assert dict(row for row in files if "/table." not in row[0]) == killing.determined(towns.whole)
    assert set(towns.answered(url).values()) == {1}


def test_shards_equal_one_process(towns):
    url = towns.fake.scenario(reads=True)
    for part in ("shard=1/2", "shard=2/2"):
        run_folder(*towns.words(url, part)[1:])
    towns.finish(url)
    assert towns.answered(url).total() == N_CALLS


def test_budget_stops_the_run_and_a_larger_one_resumes_it(towns):
    url, limit = towns.fake.scenario(reads=True), "budget.tokens=5000"
    assert limit in run_error(*towns.words(url, limit)[1:], exit_code=1)
    assert 0 < towns.fake.stats(url).tokens <= 5000
    towns.finish(url, "budget.tokens=90000")
    assert towns.answered(url).total() == N_CALLS


def test_server_faults_change_no_result(towns):
    shares = dict.fromkeys(("429", "timeout", "cut"), 0.15)
    url = towns.fake.scenario(reads=True, timeout=0.1, retry_after=0.01, shares=shares)
    towns.finish(url)
    assert shares.keys() <= (+towns.fake.stats(url).faults).keys()
    assert towns.answered(url).total() == N_CALLS


def test_invalid_json_is_corrected_by_a_second_call(towns):
    url = towns.fake.scenario(reads=True, shares={"broken": 0.3})
    run = run_folder(*towns.words(url)[1:])
    (folder,) = towns.whole.glob("runs/*/*/*")
    assert [row["answer"] for row in records(run)] == [row["answer"] for row in records(folder)]
    n_faults = towns.fake.stats(url).faults["broken"]
    assert n_faults > 0 and towns.answered(url).total() <= N_CALLS + n_faults


def test_outage_stops_the_build_and_the_next_run_resumes_it(towns):
    failing = towns.fake.scenario(reads=True, out_after=3)
    words = towns.words(failing, *IMPATIENT, "llm.limits={concurrency: 1}")
    assert "extraction.llm" in run_error(*words[1:], exit_code=1)
    assert not list(towns.home.glob("artifacts/*/extraction/*/recipe.json"))
    healthy = towns.fake.scenario(reads=True)
    towns.finish(healthy)
    assert towns.answered(failing).total() + towns.answered(healthy).total() == N_CALLS


def test_failure_limit_stops_a_step(fake, home):
    url = fake.scenario(reads=True, filter_word="Otto Brandt")  # in 2 of 8 passages
    words = ["dataset=toy", *killing.built_by_llm("", home, url, *IMPATIENT, "workers=1")[3:]]
    message = run_error(*words, "failures.after=4", exit_code=1)
    assert "extraction.llm" in message and "failures.limit" in message
    assert not list(home.rglob("records.jsonl"))
    folder = run_folder(*words, "paths.home=two")
    stored = metrics(folder)
    assert stored["extraction_statistics"]["failed_chunks"] == 2
    assert stored["failed"] == sum(row["status"] == "failed" for row in records(folder)) > 0


def test_full_disk_ends_in_one_error_and_the_run_resumes(towns):
    url = towns.fake.scenario(reads=True)
    stopped = killing.start(towns.words(url), towns.home, Fault(most_bytes=2_000)).ended()
    assert stopped.code in (1, 2), stopped.err
    assert "Traceback" not in stopped.err and stopped.err.count("graphrag-bench run: ") == 1
    towns.finish(url)


def test_damaged_run_is_reported_and_a_lost_row_is_run_again(home):
    words = [*TOY, "answer=off", "reference_rows=off"]
    folder = run_folder(*words, "method=bm25")
    whole = (folder / "records.jsonl").read_bytes()
    (folder / "records.jsonl").write_bytes(whole[:-40])
    run_folder(*words, "method=bm25")
    assert (folder / "records.jsonl").read_bytes() == whole
    other = run_folder(*words, "method=vanilla")
    (folder / "metrics.json").write_text("[1")
    for shown in (command("runs", "ls"), command("table", "runs")):
        assert shown.code == 0, shown.err
        assert folder.name in shown.out + shown.err
    assert other.name in command("runs", "ls").out
    assert "metrics.json" in run_error(*words, "method=bm25")


def test_changed_artifact_is_found_by_verify(home):
    run_folder(*TOY, "method=vanilla", "answer=off", "reference_rows=off")
    (path,) = home.glob("artifacts/toy/chunk_index/*/vectors.npy")
    bytes_ = path.read_bytes()
    path.write_bytes(bytes_[:-1] + bytes([bytes_[-1] ^ 1]))
    ended = command("artifacts", "verify")
    assert ended.code == 1 and "vectors.npy" in ended.out
    path.write_bytes(bytes_[:40])
    assert path.parent.name in run_error(*TOY, "method=vanilla", "method.top_k=1", "answer=off")


@pytest.mark.parametrize("name", ["../../evil/a/b", "toy/graph/0123/x", "x", "a link"])
def test_archive_with_an_unsafe_path_or_link_is_refused(home, name):
    info, file = tarfile.TarInfo(name.replace("a link", "toy/graph/0123/x")), home / "a.tar.gz"
    if name == "a link":
        info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
    with tarfile.open(file, "w:gz") as archive:
        info.size = int(info.isreg())
        archive.addfile(info, io.BytesIO(b"x"))
    with pytest.raises(UserError, match=re.escape(str(file))):
        import_artifacts(file, home / "theirs" / "artifacts")
    assert [path.name for path in home.rglob("*") if path.is_file()] == ["a.tar.gz"]


def test_yaml_and_methods_execute_no_code(home):
    for text in ("a: !!python/object/apply:os.system ['touch ran']", "a: [1"):
        with pytest.raises(UserError, match=r"card\.yaml"):
            read_yaml(text, "card.yaml")
    (home / "configs" / "method").mkdir(parents=True)
    vanilla = (project_folder("configs") / "method" / "vanilla.yaml").read_text()
    target = "top_k: {_target_: subprocess.getoutput, cmd: touch ran}"
    evil = re.sub("(?m)^top_k: .*$", target, vanilla.replace("vanilla", "evil"))
    (home / "configs" / "method" / "evil.yaml").write_text(evil)
    assert "evil" in run_error(*TOY, "method=evil")
    assert not (home / "ran").exists() and not list(home.glob("runs/*/*/*"))


STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
EVIL = "\x1b]0;owned\x07\x1b[31mred\u202e\r\x00 ../../evil {x} ${llm.model} {{x}} <script>evil()"


def test_hostile_texts_are_only_data(home):
    corpus = [
        {"id": f"d{row}{EVIL}", "title": f"Alba{EVIL}{row}", "text": f"Ada Marsh made{EVIL} {row}."}
        for row in range(3)
    ]
    questions = [{"id": f"q{EVIL}", "text": f"Who made Alba{EVIL}?", "answers": [f"Ada{EVIL}"],
                  "evidence": [f"d0{EVIL}"], "type": EVIL}]  # fmt: skip
    write_set(home / "set", corpus, questions)
    words = ["dataset=jsonl", "dataset.root=set", *WEIGHTLESS, "method=hipporag"]
    words += ["reference_rows=off", "llm.replies={Alba: 'Ada \x1b[31m <script>evil()'}"]
    folder = run_folder(*words)
    (row,) = records(folder)
    assert row["status"] == "answered" and row["question"] == f"q{EVIL}"
    for shown in (
        ["runs", "ls"], ["table", "runs"], ["runs", "show", folder.name],
        ["show", str(folder), f"q{EVIL}"], ["ask", *words, f"Who made Alba{EVIL}?"],
        ["run", *words, f"method.{EVIL}=1"], [f"nothing{EVIL}"],
        ["view", folder.name, "--out", "page"],
    ):  # fmt: skip
        ended = command(*shown)
        assert "Traceback" not in ended.err and not STEERING.search(ended.out + ended.err), shown
    assert ended.code == 0, ended.err
    assert "<script>evil" not in Path("page/index.html").read_text()
    assert not list(home.parent.glob("evil*")) and not list(home.rglob("evil*"))
    assert not [path for path in home.rglob("*.npy") if b"pickle" in path.read_bytes()[:200]]
