"""Evidence recall of `long_texts=cut` and `windows` by the place of a question's facts.

    python scripts/long_texts_by_place.py chunks DATASET ROOT FOLDER
    python scripts/long_texts_by_place.py recall HOME FOLDER

`chunks` writes a data set's chunks of 1,200 tokens into FOLDER as a separate corpus, so that
evidence is a chunk and not a document. `recall` compares the two runs below HOME over the questions
of FOLDER, which `questions kind=specific` made for that corpus. The place of a fact is where the
closest pair of its two names ends in its chunk.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

from graphrag_bench.data.readers import read_dataset
from graphrag_bench.evaluation.statistics import mean_with_interval, paired_difference
from graphrag_bench.models.model_files import tokenizer_file
from graphrag_bench.models.sentence_embedder import SentenceEmbedder
from graphrag_bench.models.window_tokens import OwnTokens
from graphrag_bench.offline.chunking import token
from graphrag_bench.report.rendering import shown_p
from graphrag_bench.runs.folder import read_lines, write_rows
from graphrag_bench.runs.stored import stored_runs

CUTS = (2, 5, 10)
MODES = ("cut", "windows")


def write_chunks(dataset: str, root: str, folder: Path) -> None:
    """The chunks as `corpus.jsonl`, with a placeholder question."""
    folder.mkdir(parents=True, exist_ok=True)
    table = token(corpus=read_dataset(dataset, root, None, {}, home="."))
    rows = [
        {"id": f"c{row:04d}", "title": "", "text": text} for row, text in enumerate(table.texts)
    ]
    write_rows(folder / "corpus.jsonl", rows)
    write_rows(folder / "questions.jsonl", [{"id": "none", "text": "What?", "answers": []}])


def end_of_fact(text: str, head: str, tail: str) -> int | None:
    """The character at which the closest pair of both names ends; None without both."""
    first, second = (
        [match.span() for match in re.finditer(re.escape(name), text, re.IGNORECASE)]
        for name in (head, tail)
    )
    pairs = [(max(a[1], b[1]) - min(a[0], b[0]), max(a[1], b[1])) for a in first for b in second]
    return min(pairs)[1] if pairs else None


def places(folder: Path) -> dict[str, str]:
    """For each question whether all its facts end within the window; "" where none is found."""
    embedder = SentenceEmbedder()
    file = tokenizer_file(embedder._folder)
    assert file is not None and embedder.window is not None
    tokens = OwnTokens.of_file(file)
    room = embedder.window - tokens.n_special
    texts = {row["id"]: row["text"] for row in read_lines(folder / "corpus.jsonl")}
    found = {}
    for row in read_lines(folder / "questions.jsonl"):
        ends: list[int | None] = []
        for fact in row["origin"]:
            head, _, tail = fact.split(" | ")
            stood = [
                (texts[name], end_of_fact(texts[name], head, tail)) for name in row["evidence"]
            ]
            told = [tokens.counts([text[:end]])[0] for text, end in stood if end is not None]
            ends.append(min(told, default=None))
        known = [end for end in ends if end is not None]
        inside = "all facts within" if max(known, default=0) <= room else "a fact past"
        found[row["id"]] = f"{inside} the first {embedder.window} tokens"
        if len(known) < len(ends):
            found[row["id"]] = "a name is not found as written"
    return found


def recall(home: Path, folder: Path) -> None:
    """Print a row for each place and k: n, both means with intervals, and their difference."""
    placed = places(folder)
    runs: dict[str, Mapping[str, Mapping[str, float]]] = {}
    for run in stored_runs(home):
        for mode in MODES:
            if f"long={mode}(" in run.metrics["embedder"] and set(run.gold) == set(placed):
                runs[mode] = run.scores
    print("| facts of the question | n | k | cut [95 %] | windows [95 %] | difference [95 %] | p |")
    print("|---|---|---|---|---|---|---|")
    for place in ("all", *sorted(set(placed.values()))):
        names = [name for name, where in placed.items() if place in ("all", where)]
        for k in CUTS:
            both = [[runs[mode][name][f"evidence_recall@{k}"] for name in names] for mode in MODES]
            means = [mean_with_interval(values) for values in both]
            cells = [f"{one.mean:.3f} [{one.low:.3f}, {one.high:.3f}]" for one in means]
            found = paired_difference(*both)
            change = f"{found.mean:+.3f} [{found.low:+.3f}, {found.high:+.3f}] | {shown_p(found.p)}"
            print(f"| {place} | {len(names)} | {k} | {' | '.join(cells)} | {change} |")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["chunks", dataset, root, folder]:
            write_chunks(dataset, root, Path(folder))
        case ["recall", home, folder]:
            recall(Path(home), Path(folder))
        case _:
            sys.exit(__doc__)
