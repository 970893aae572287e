"""Runs of commands on the toy set, with a reader and a tagger without weights."""

import contextlib
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from graphrag_bench.cli.main import main
from graphrag_bench.config.compose import compose_settings
from graphrag_bench.embedding.nlp import Relation, Sentence
from graphrag_bench.errors import UserError
from graphrag_bench.llm.calls import CallFailed, RunStopped
from graphrag_bench.llm.scripted import Scripted, last_user_message
from graphrag_bench.report.rendering import markdown
from graphrag_bench.report.tables import run_table
from graphrag_bench.run.execute import execute
from graphrag_bench.run.experiment import Experiment
from graphrag_bench.run.plan import describe

CAPITALS = re.compile(r"[A-Z][a-z]+(?: [A-Z][a-z]+)*")
QUESTION_WORDS = {"Question", "Who", "What", "How", "Into", "Did", "Which"}
WEIGHTLESS = ["embedder=hashing", "llm=scripted", "llm._target_=toy_runs.reader",
              "nlp._target_=toy_runs.Capitals"]  # fmt: skip
TOY = ["dataset=toy", *WEIGHTLESS]
READER = {"_target_": "toy_runs.reader", "replies": {"capital of France": "Paris"}}
TAGGER = {"_target_": "toy_runs.Capitals"}

reader_prompts = []
fails_on = set()
"""The reader refuses prompts that contain one of these texts."""
stops_on = set()
"""The reader stops the run at prompts that contain one of these texts."""


def reader(replies: Mapping[str, str] | Sequence[tuple[str, str]] = ()):  # settings are checked
    return Scripted(replies, ada_marsh)


def ada_marsh(chat):
    text, names = last_user_message(chat), Capitals().entities(last_user_message(chat))
    reader_prompts.append(text)
    if any(words in text for words in stops_on):
        raise RunStopped("the reader was told to stop")
    if any(words in text for words in fails_on):
        return CallFailed("refused", "the reader was told to fail")
    asking = [f"What of {name}?" for name in names]
    steps = {name: [name] for name in names}
    n_passages = len(re.findall(r"(?m)^\[\d+\] ", text))
    replies = {
        "named_entities": {"named_entities": names},
        '"points"': {"points": [{"description": "Ada Marsh", "score": 80}]},
        '"final_query"': planned(names),
        '"reasoning_steps"': {"reasoning_steps": list(steps), "extended_queries": steps},
        "sub_questions": {"sub_questions": asking},
        '"order"': {"order": list(range(n_passages, 0, -1))},
        '"useful"': {"useful": [1, 2]},
    }
    fitting = (json.dumps(one) for mark, one in replies.items() if mark in chat[0].content)
    return next(fitting, "Ada Marsh")


def planned(names):
    """Return a plan: a question for each name, an overview of the first, and a final question."""

    def hop(name, query, *, abstract=False):
        return {"hop_id": name, "sub_query": query, "if_abstract": abstract, "dependencies": []}

    hops = [hop(f"1-{row}", f"What of {name}?") for row, name in enumerate(names, 1)]
    themes = hop("0-1", "Which themes does <A1-1> have?", abstract=True)
    sequences = [{"sequence_id": "1", "hop": hops}, {"sequence_id": "0", "hop": [themes]}]
    final = {"final_query": "All?", "if_abstract": False, "dependencies": []}
    return {"query": "", "path": {"sequences": sequences, "final_query": [final]}}


class Capitals:
    """Tagger: capitalised words are names, and the words between two names a relation."""

    identity = "capitals:1"

    def sentences(self, texts):
        for text in texts:
            yield [_sentence(part) for part in re.split(r"(?<=\.) ", text)]

    def entities(self, text):
        return [name for name in CAPITALS.findall(text) if name not in QUESTION_WORDS]


def _sentence(text):
    result = list(CAPITALS.finditer(text))
    relations = [Relation(head.group(), text[head.end() : tail.start()].strip(), tail.group())
                 for head, tail in pairwise(result)]  # fmt: skip
    names = tuple((match.group(), "PERSON") for match in result)
    lemmas = tuple(dict.fromkeys(word for word in text.split() if word.islower()))
    return Sentence(text, names, (), tuple(relations), lemmas=lemmas)


@dataclass(frozen=True)
class CommandResult:
    code: int
    out: str
    err: str

    @property
    def folders(self):
        lines = self.out.splitlines()
        return [Path(line.removeprefix("run: ")) for line in lines if line.startswith("run: ")]

    @property
    def folder(self):
        return self.folders[0]

    @property
    def methods(self):
        return [folder.parent.name for folder in self.folders]


def command(*arguments):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(arguments))
    return CommandResult(code, out.getvalue(), err.getvalue())


def output(*arguments):
    """Return what a command prints, which must exit with 0."""
    ended = command(*map(str, arguments))
    assert ended.code == 0, ended.err
    return ended.out


def run_command(*arguments):
    ended = command("run", *arguments)
    assert ended.code == 0, ended.err
    return ended


def run_folder(*words):
    """Run by functions, without table and reference rows; return the run folder."""
    execute(experiment := Experiment.prepare(compose_settings(words)))
    return experiment.folder.path.resolve()


def table_of(folder):
    return markdown(run_table([metrics(folder)]))


def plan_of(*words):
    return describe(Experiment.prepare(compose_settings(words)))


def run_error(*words, exit_code=2):
    """Run by functions; return the message of its UserError."""
    with pytest.raises(UserError) as error:
        run_folder(*words)
    assert error.value.exit_code == exit_code
    return str(error.value)


def command_error(*arguments, name="run", code=2):
    ended = command(name, *arguments)
    assert ended.code == code, ended.out
    (message,) = [one for one in ended.err.splitlines() if one.startswith("graphrag-bench")]
    assert "Traceback" not in ended.err
    return ended.err[ended.err.index(message) :]


def records(folder):
    return [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]


def metrics(folder):
    return dict(json.loads((folder / "metrics.json").read_text()))


def write_set(folder, corpus, questions):
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in (("corpus", corpus), ("questions", questions)):
        if not isinstance(rows, bytes):
            rows = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
        (folder / f"{name}.jsonl").write_bytes(rows)
    return folder


def write_scopes(folder, *towns):
    """Write a data set with a document and a question in each scope; return its settings."""
    corpus = [{"id": town, "title": town, "text": f"{town} was founded by Ada Marsh.",
               "scope": town} for town in towns]  # fmt: skip
    questions = [{"id": f"q-{town}", "text": f"Who founded {town}?", "answers": ["Ada Marsh"],
                  "evidence": [town], "scope": town} for town in towns]  # fmt: skip
    root = write_set(folder, corpus, questions)
    return ["dataset=jsonl", f"dataset.root={root}", "graph.per=partition"]
