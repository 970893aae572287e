"""Import the results of other systems as runs, and export runs as TREC and BEIR files."""

import csv
import hashlib
from io import StringIO
from pathlib import Path
from typing import Any

from graphrag_bench.config.settings import DatasetSettings, EvaluationSettings
from graphrag_bench.data.dataset import DEV_SHARE, Gold, evidence_names, item_documents
from graphrag_bench.data.rankings import NO_PASSAGE, Ranking, read_rankings
from graphrag_bench.data.readers import judged
from graphrag_bench.errors import UserError
from graphrag_bench.fingerprint import digest
from graphrag_bench.run.folder import REFERENCES, Row, RunFolder, write_rows, write_whole
from graphrag_bench.run.scoring import dataset_of, score, scoring_of
from graphrag_bench.run.stored import StoredRun, scored_questions
from graphrag_bench.text import safe_name
from graphrag_bench.values import Question
from graphrag_bench.version import commit

METHOD = "imported-"
"""Prefix of the method name of an imported run."""
MOST_UNMATCHED = 0.01
TREC, QRELS = "run.trec", "qrels.trec"
_NOTHING: dict[str, Any] = {
    "role": "", "profile": "", "fidelity": "", "parameters": {}, "limit": None, "split": "all",
    "dev_share": DEV_SHARE, "answer_forms": {}, "regime": "", "own_answers": [],
    "budget_context": None, "extraction": "", "extraction_statistics": {}, "tokenizer": "",
    "llm": "", "llm_build": "", "embedder": "", "long_texts": [], "build_rates": {}, "prices": {},
    "cost": {"stages": {}, "steps": {}, "questions": {}, "models": [], "mixed": False},
    "estimate": {},
}  # fmt: skip
"""Placeholders in `metrics.json` for values that an imported run does not have."""


def import_run(
    file: Path, title: str, settings: DatasetSettings, home: str | Path,
    *, reference: str = "", allow_unmatched: bool = False,
) -> StoredRun:  # fmt: skip
    """Store the rankings and answers of the system `title` as a run, and score the run.

    `reference` is the publication of the system.
    """
    if not (name := title.strip()):
        raise UserError("name= is empty. Set it to the name of the system.")
    dataset = dataset_of(settings, home)
    rankings = read_rankings(file, dataset)
    n_passages, unmatched = rankings.n_passages, rankings.unmatched
    if not allow_unmatched and len(unmatched) > MOST_UNMATCHED * n_passages:
        raise UserError(
            f"{file}: {len(unmatched) / n_passages:.1%} of {n_passages} passages match no "
            f"document. The first of them is '{' '.join(unmatched[0].split())[:80]}'. Check the "
            "corpus, or add --allow-unmatched."
        )
    content = hashlib.sha256(file.read_bytes()).hexdigest()
    origin = {"file": file.name, "sha256": content, "reference": reference}
    method = METHOD + safe_name(name).lower()
    key = digest(dataset.corpus_digest, dataset.questions_digest, name, origin)
    folder = RunFolder(Path(home) / "runs" / safe_name(dataset.name) / method / key)
    rows = {q.id: _row(q, rankings.of[q.id]) for q in dataset.questions if q.id in rankings.of}
    evaluation = EvaluationSettings()
    scored = {"evaluation": evaluation.model_dump()}
    config = {"dataset": settings.absolute.model_dump(), "method": {"name": method}}
    about = {
        "dataset": dataset.name, "card": dataset.card.name, "corpus": dataset.corpus_digest,
        "gold": dataset.gold_digest, "selected": len(dataset.questions), "commit": commit(),
        "method": method, "title": f"{name} (imported {content[:8]})", "key": key,
        "settings": {f"imported.{what}": value for what, value in origin.items() if value},
        "imported": {**origin, "passages": n_passages, "unmatched": len(unmatched)},
    }  # fmt: skip
    with folder.exclusive():
        write_rows(folder.file("records"), rows.values())
        folder.write_config({**config, "imported": origin, **scored})
        folder.write_json(REFERENCES, {"dataset": safe_name(dataset.corpus_name), "artifacts": []})
        ordered = [rows[one.id] for one in dataset.interleaved() if one.id in rows]
        scoring = scoring_of(dataset, evaluation, folder, rows)
        metrics = score(ordered, dataset.gold, (), scoring)
        answer = "on" if metrics["answered"] else "off"
        folder.write_metrics(_NOTHING | metrics | about | scored | {"answer": answer})
    return StoredRun(folder, dataset)


def _row(question: Question, ranking: Ranking) -> Row:
    row: Row = {"question": question.id, "scope": question.scope, "status": "retrieved"}
    row |= {"imported": True, "documents": list(ranking.documents)}
    if ranking.answer is not None:
        row |= {"status": "answered", "answer": ranking.answer}
    if len(set(ranking.ranks)) < len(ranking.ranks):
        row["ranks"] = list(ranking.ranks)
    return row


def export_trec(run: StoredRun, folder: Path) -> int:
    """Write a run's rankings to `run.trec` and its gold to `qrels.trec`. Return the question count.

    If the data set cannot be read, all stored questions are exported, without `qrels.trec`. A
    question without documents gets the placeholder `NO_PASSAGE`. Documents of the same rank get the
    same score; trec_eval sorts them by name. A gold item of several documents keeps its own name.
    """
    scored = set(scored_questions(run)) if run.dataset else set(run.rows)
    rows = [row for name, row in run.rows.items() if name in scored and "documents" in row]
    if not rows:
        raise UserError(f"{run.folder.path} has no rankings to export.")
    tag = safe_name(str(run.metrics["title"]))
    run_lines, gold_lines = [], []
    for row in rows:
        name, gold = row["question"], run.gold.get(row["question"], Gold())
        _refuse_alternatives("TREC", name, [one for one, _ in gold.parts if len(one.split()) > 1])
        documents = evidence_names(gold, row["documents"]) or [NO_PASSAGE]
        most = max(ranks := row.get("ranks") or range(1, len(documents) + 1))
        for document, rank in zip(documents, ranks, strict=True):
            run_lines.append(_line(name, "Q0", document, rank, most - rank + 1, tag))
        gold_lines += [_line(name, 0, one, grade) for one, grade in gold.graded.items()]
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / TREC, "".join(run_lines))
    if run.dataset:
        write_whole(folder / QRELS, "".join(gold_lines))
    return len(rows)


def export_beir(run: StoredRun, folder: Path) -> int:
    """Write the data set of a run in the BEIR format, and return the number of questions.

    A question without gold documents gets the placeholder `NO_PASSAGE` with score 0, because BEIR
    ignores questions without qrels. Raises UserError for gold with alternative documents, and for
    a folder with files other than those of `export_trec`.
    """
    data = run.require_dataset()
    for name, gold in data.gold.items():
        _refuse_alternatives("BEIR", name, [one for one, of in gold.parts if len(of) > 1])
    if there := sorted({one.name for one in folder.glob("*")} - {TREC, QRELS}):
        found = ", ".join([*there[:5], "..."][: len(there)])
        raise UserError(f"The folder '{folder}' is not empty: {found}. Choose an empty folder.")
    documents = ({"_id": one.id, "title": one.title, "text": one.text} for one in data.documents)
    write_rows(folder / "corpus.jsonl", documents)
    write_rows(folder / "queries.jsonl", ({"_id": q.id, "text": q.text} for q in data.questions))
    rows = [
        (question, document, grade)
        for question, gold in ((one.id, data.gold[one.id]) for one in data.questions)
        for name, grade in (gold.graded or {NO_PASSAGE: 0}).items()
        for document in item_documents(gold, name)
    ]
    lines = StringIO()
    csv.writer(lines, "excel-tab", lineterminator="\n").writerows([judged.COLUMNS, *rows])
    split = data.settings.get("split", judged.TEST)
    write_whole(folder / judged.QRELS / f"{split}.tsv", lines.getvalue())
    return len(data.questions)


def _refuse_alternatives(layout: str, question: str, alternatives: list[str]) -> None:
    if alternatives:
        raise UserError(
            f"For question '{question}', any of the documents '{alternatives[0]}' is correct, but "
            f"{layout} qrels cannot express alternatives."
        )


def _line(*fields: object) -> str:
    if bad := [field for field in fields if len(str(field).split()) != 1]:
        raise UserError(f"'{bad[0]}' contains white space, which TREC files do not allow.")
    return " ".join(map(str, fields)) + "\n"
