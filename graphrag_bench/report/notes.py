"""The notes under a table of runs: models, sources, and, begun by `!`, warnings.

A note is a condition and a sentence. Those of one run are `_OF_A_RUN`, formatted with the fields of
`metrics.json`; those that compare runs are functions.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from graphrag_bench.embedding.long_texts import Fit
from graphrag_bench.report.rows import (
    INFLATED,
    REFERENCE_ROLES,
    corpus_notes,
    differing,
    grouped,
    mark,
    regime_of,
    verified_notes,
)

Run = Mapping[str, Any]
Note = tuple[Callable[[Run], object], str]
"""Whether it holds of a run, and its sentence as a format string."""
MOST_UNEQUAL = 1.1
"""The ratio of two mean context lengths above which a comparison has a warning."""
FEW_CLUSTERS = 10
FAILED = "! some questions failed: means are over the others; run again to retry them"
_MOST_NAMED = 3
_WAYS = ("failed", "malformed", "cut")
_KINDS = {"community": "reports", "path": "paths", "chunk": "chunks", "node": "nodes",
          "relationship": "relationships"}  # fmt: skip
_IMPORTED: tuple[Note, ...] = (
    (lambda run: run.get("imported"),
     "{title}: imported results (file {imported[file]}, sha256 {imported[sha256]}); context, "
     "tokens, time and cost are unknown"),
    (lambda run: run.get("imported", {}).get("reference"),
     "{title}: published at {imported[reference]}"),
    (lambda run: run.get("imported", {}).get("unmatched"),
     "! {title}: {imported[unmatched]} of {imported[passages]} passages match no document and "
     "count as passages without evidence"),
    (lambda run: run.get("imported") and run["n"] < run["selected"],
     "! {title}: its file has {n} of {selected} questions; means are over these"),
)  # fmt: skip
_OF_A_RUN: tuple[Note, ...] = (
    (lambda run: run.get("repeats", {}).get("changed"),
     "{title}: {repeats[changed]} of {repeats[questions]} answers differ between repeats"),
    (lambda run: run.get("repeats", {}).get("changed") == 0,
     "! {title}: all {repeats[n]} repeats gave the same answers (as at temperature 0): a spread of "
     "0 says nothing of other seeds or models"),
    (lambda run: run["usage"].get("contexts_without_chunks"),
     "! {title}: the budget cut every retrieved chunk from {usage[contexts_without_chunks]} of "
     "{n} contexts; raise budget_context or use smaller chunks"),
    (lambda run: run["usage"].get("reports_cut_per_question"),
     "! {title}: {usage[reports_cut_per_question]:g} of {usage[reports_per_question]:g} community "
     "reports a question were not read (cut by the budget, or by max_groups of points.map)"),
)  # fmt: skip
_OF_ANY_RUN: tuple[Note, ...] = (
    (lambda run: run.get("whole_corpus"),
     "! the whole corpus fits into the context: retrieval decides nothing here; set a smaller "
     "budget_context"),
    (mark, INFLATED),
    (lambda run: run["cost"]["mixed"],
     "! more than one model or build has served one step: see cost.models"),
    (lambda run: run["failed"], FAILED),
)  # fmt: skip
"""Notes that name no run, there where they hold of any."""


def run_notes(runs: Sequence[Run]) -> tuple[str, ...]:
    """Return the notes of a main table; what begins with `!` is a warning."""
    answering = [run for run in runs if answers(run)]
    readers = _values(answering, "llm") if any(run["llm"] for run in answering) else ""
    readers = f"answers by {readers}; " if readers else ""
    roles = {run["role"] for run in answering}
    floor = "closed-book is the reader's lower bound; " if "floor" in roles else ""
    ceiling = "oracle (gold passages as context) is its upper bound; " if "ceiling" in roles else ""
    clusters = (one.get("clusters", 0) for run in runs for one in run["metrics"].values())
    return (
        f"{readers}build model {_values(runs, 'llm_build')}; embedder {_values(runs, 'embedder')}",
        f"profile {_values(runs, 'profile')}, fidelity {_values(runs, 'fidelity')}; extraction: "
        f"{_extractions(runs)}; commit {_values(runs, 'commit')}; contexts counted in tokens of "
        f"{_values(runs, 'tokenizer')}",
        f"{floor}{ceiling}intervals are 95 % bootstrap over {resampling_units(clusters)}",
        *build_faults(runs),
        *imported_notes(runs),
        *mixed_regimes(runs),
        *corpus_notes(runs),
        *scored_again(runs),
        *_prices(runs),
        *long_text_notes(runs),
        *_asking(runs),
        *_repeats(runs),
        *_unequal_contexts(runs),
        *same_contexts(runs),
        *_rankings_beside_contexts(runs),
        *training_notes(runs),
        *_notes_of(runs, _OF_A_RUN),
        *(f"! {run['title']}: {flag}" for run in runs for flag in run.get("flags", ())),
        *verified_notes(runs),
        *(sentence for holds, sentence in _OF_ANY_RUN if any(map(holds, runs))),
        *(f"{run['title']}: {error}" for run in runs for error in run["errors"][:2]),
    )


def build_faults(runs: Iterable[Run]) -> list[str]:
    """Return a warning with the share of chunks whose extraction failed, was malformed or cut.

    One line for the same numbers of several runs, none where all is whole. The graph lacks what
    these chunks have not given; a chunk may be at fault in several ways.
    """
    faults: dict[str, list[Run]] = {}
    for run in runs:
        counts = run["extraction_statistics"]
        if n := counts.get("faulty_chunks"):
            ways = ", ".join(f"{counts[f'{way}_chunks']:,.0f} {way}" for way in _WAYS)
            share = n / counts["chunks"]
            line = f"extraction at fault in {share:.1%} of {counts['chunks']:,.0f} chunks ({ways})"
            faults.setdefault(line, []).append(run)
    return [f"! {line}: {_titles(group)}" for line, group in faults.items()]


def mixed_regimes(runs: Iterable[Run]) -> list[str]:
    """Return a warning where runs of several regimes are side by side, with the titles of each."""
    groups = sorted(grouped(filter(regime_of, runs), regime_of).items())
    users = "; ".join(f"{name}: {_titles(group)}" for name, group in groups)
    return [f"! regimes differ, {users} (regime)"] if len(groups) > 1 else []


def _notes_of(runs: Sequence[Run], notes: Iterable[Note]) -> Iterator[str]:
    for holds, sentence in notes:
        yield from (sentence.format_map(run) for run in runs if holds(run))


def imported_notes(runs: Sequence[Run]) -> Iterator[str]:
    """Yield the file and source of each imported run, and warnings of what matched nothing."""
    return _notes_of(runs, _IMPORTED)


def answers(run: Run) -> bool:
    """Return whether a run answers questions, or has answered some."""
    return bool(run["answered"]) or run.get("answer") != "off"


def _values(runs: Sequence[Run], name: str) -> str:
    return ", ".join(sorted({str(run[name]) for run in runs if run[name]})) or "none"


def _titles(runs: Iterable[Run]) -> str:
    return ", ".join(dict.fromkeys(str(run["title"]) for run in runs))


def _extractions(runs: Sequence[Run]) -> str:
    texts = set()
    for run in runs:
        counts = ", ".join(f"{k} {v}" for k, v in sorted(run["extraction_statistics"].items()))
        texts.add(f"{run['extraction']} ({counts})" if counts else run["extraction"])
    return "; ".join(sorted(texts - {""})) or "none"


def resampling_units(clusters: Iterable[int]) -> str:
    """Return what bootstrap samples are drawn over: questions, or scopes and their numbers.

    `clusters` are those of each mean, 0 for one over questions.
    """
    numbers = sorted({*clusters} - {0})
    if not numbers:
        return "questions"
    few = ": few, so that intervals are too narrow" if numbers[0] <= FEW_CLUSTERS else ""
    return f"scopes ({', '.join(map(str, numbers))} that questions share{few})"


def _repeats(runs: Sequence[Run]) -> Iterator[str]:
    if numbers := sorted({run["repeats"]["n"] for run in runs if run.get("repeats")}):
        yield (
            f"±: standard deviation of the mean over {', '.join(map(str, numbers))} repeats of the "
            "answering model with other seeds; the mean is over the repeats, its interval over the "
            "questions"
        )


def scored_again(runs: Sequence[Run]) -> Iterator[str]:
    """Name the runs whose stored scores are by other gold, or by another rule."""
    if titles := _titles(run for run in runs if run.get("regraded")):
        yield f"! the gold is not that of the stored scores: scored again for this table: {titles}"
    for words, group in grouped(runs, lambda run: run.get("scored_as", "")).items():
        if words:
            yield f"! stored with {words}, scored here by the rule of the others: {_titles(group)}"


def _prices(runs: Sequence[Run]) -> Iterator[str]:
    """Name the models whose calls the runs count at several prices."""
    every = [
        (model, prices, run) for run in runs for model, prices in run.get("prices", {}).items()
    ]
    for model, of_model in grouped(every, lambda one: one[0]).items():
        groups = grouped(of_model, lambda one: one[1])
        if len(groups) > 1:
            shown = "; ".join(f"{p}: {_titles(one[2] for one in of)}" for p, of in groups.items())
            yield (
                f"! costs of {model} are at several prices (US dollars per million prompt / "
                f"completion tokens), compare tokens: {shown}"
            )


def _unequal_contexts(runs: Sequence[Run]) -> Iterator[str]:
    def length(run: Run) -> float:
        return float(run["usage"]["context_tokens_per_question"] or 0)

    packed = [run for run in runs if run["role"] not in REFERENCE_ROLES and length(run)]
    groups = grouped(packed, lambda run: (run["dataset"], run.get("budget_context")))
    for (dataset, budget), group in groups.items():
        short, long = min(group, key=length), max(group, key=length)
        if length(long) > MOST_UNEQUAL * length(short):
            shown = ", ".join(f"{one['title']} {length(one):.0f} tokens" for one in (short, long))
            reason = "budget_context=N gives all one budget"
            if budget:
                reason = f"{short['title']} does not fill the {budget:,} tokens"
            if "published" in {regime_of(short), regime_of(long)}:
                reason = "as published each method has its own k, and a budget is a cap"
            yield f"! {dataset}: contexts differ by more than 10 % ({shown}): {reason}"


def same_contexts(runs: Sequence[Run]) -> Iterator[str]:
    """Yield a warning for runs of one set that send the same contexts: what has no effect.

    Runs that differ in models or prompts alone are to have the same contexts and are not named.
    """
    known = [run for run in runs if run.get("contexts", {}).get("digest")]
    groups = grouped(known, lambda run: (run["dataset"], run["contexts"]["digest"]))
    for group in groups.values():
        if names := differing(group) if len(group) > 1 else []:
            room = group[0]["contexts"]["room"]
            sizes = ", ".join(f"about {n:.0f} {_KINDS.get(kind, kind)}" for kind, n in room.items())
            full = f" (the budget holds {sizes})" if sizes else ""
            cause = "method" if "method.name" in names else ", ".join(names[:_MOST_NAMED])
            yield (
                f"! {len(group)} runs have the same contexts: {cause} "
                f"{'change' if ',' in cause else 'changes'} nothing here{full}: {_titles(group)}"
            )


def context_of_rows(run: Run) -> bool:
    """Return whether a run's contexts have no place for chunks: only nodes, paths or reports."""
    usage = run["usage"]
    chunks = usage.get("chunks_per_context"), usage.get("contexts_without_chunks")
    return bool(usage["context_tokens_per_question"]) and chunks == (0, 0)


def _rankings_beside_contexts(runs: Sequence[Run]) -> Iterator[str]:
    ranking = [run for run in runs if any("recall@" in name for name in run["metrics"])]
    if titles := _titles(filter(context_of_rows, ranking)):
        yield (
            f"{titles}: evidence@k is of chunks ranked beside the context, which holds none; "
            "'in context' is what the prompt has"
        )


def _asking(runs: Sequence[Run]) -> Iterator[str]:
    """How answers were asked for, where runs differ in it or leave their method's way."""
    answered = [run for run in runs if run["answered"]]
    yield from _answer_forms([run for run in answered if run.get("answer_forms")])
    for run in runs:
        if (steps := run.get("own_answers")) and run["answered"]:
            yield f"{run['title']}: its search answers by its own prompt: {', '.join(steps)}"
    for run in runs:
        for reason, n in run.get("fallbacks", {}).items():
            yield f"{run['title']} fell back for {n} of {run['n']} questions: {reason}"


def _answer_forms(runs: Sequence[Run]) -> Iterator[str]:
    """The forms of each set, unless all answers are short."""

    def counts(run: Run) -> str:
        return ", ".join(f"{name} ({n})" for name, n in run["answer_forms"].items())

    for dataset, of_set in grouped(runs, lambda run: run["dataset"]).items():
        kinds = {tuple(sorted(run["answer_forms"])) for run in of_set}
        settings = {run["settings"].get("answers") for run in of_set}
        for forms, group in grouped(of_set, counts).items():
            if len(kinds) > 1 and len(settings) > 1:
                yield f"! {dataset}: answer forms differ between runs; {_titles(group)}: {forms}"
            elif set(group[0]["answer_forms"]) != {"short"}:
                yield f"{dataset}: answer forms (questions): {forms}"


def training_notes(runs: Sequence[Run]) -> list[str]:
    """Return what each trained artifact was trained on, where that is not all there is."""
    parts = (part for run in runs for part in run.get("training", {}).items())
    lines = (f"! {name} trained on {row['trained_on']}" for name, row in parts if not row["whole"])
    return list(dict.fromkeys(lines))


_UNKNOWN = "(not known"


def long_text_notes(runs: Sequence[Run]) -> list[str]:
    """Return how many texts were longer than the embedder reads, a warning where they were cut.

    One line for the same texts of several runs; it names them where it does not hold of all.
    """
    embedding = [run for run in runs if run.get("long_texts")]
    fits = [(run, row["what"], Fit.of(row)) for run in embedding for row in run["long_texts"]]
    lines = [
        (f"{'! ' * (fit.long_texts == 'cut')}{run['dataset']}: {fit.message(what)}", run)
        for run, what, fit in fits
        if fit.n_long
    ]
    notes, every = [], _titles(embedding)
    for line, group in grouped(lines, lambda one: one[0]).items():
        named = _titles(run for _, run in group)
        notes.append(line if named == every else f"{line} ({named})")
    if unknown := _titles(run for run in runs if _UNKNOWN in run.get("embedder", "")):
        notes.append(
            "! how many tokens the embedder reads is not known, and its server may have cut longer "
            f"texts (embedder.window=N sets it): {unknown}"
        )
    return notes
