"""Notes under a table of runs: models, sources and warnings from each `metrics.json`."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from graphrag_bench.embedding.long_texts import TextLengths
from graphrag_bench.report import rows
from graphrag_bench.report.rendering import FEW
from graphrag_bench.report.rows import RunMetrics, Runs, group_by, regime_of, unverified

_MOST_NAMED = 3
_WAYS = ("failed", "malformed", "cut")
_KINDS = {"community": "reports", "path": "paths", "chunk": "chunks", "node": "nodes",
          "relationship": "relationships"}  # fmt: skip


@dataclass(frozen=True)
class Note:
    """Note under a table. `about` is its subject. A warning is printed with a leading `!`."""

    about: str
    text: str
    warns: bool = False

    def __str__(self) -> str:
        return f"{'! ' * self.warns}{self.text}"


_warning = partial(Note, warns=True)


def run_notes(runs: Runs) -> list[Note]:
    """Return all notes for a table of runs."""
    return [
        *_facts(runs),
        *_extraction_faults(runs),
        *imported_notes(runs),
        *mixed_regimes(runs),
        *corpus_notes(runs),
        *scored_again(runs),
        *_prices(runs),
        *long_text_notes(runs),
        *_answer_forms([run for run in runs if run["answered"] and run.get("answer_forms")]),
        *_unequal_contexts(runs),
        *same_contexts(runs),
        *training_notes(runs),
        *(note for run in runs for note in _of_a_run(run)),
        *_of_any_run(runs),
        *(Note("error", f"{run['title']}: {one}") for run in runs for one in run["errors"][:2]),
    ]


def headline_notes(runs: Runs, metric: str) -> list[str]:
    """Return the notes of the headline table: models, intervals and warnings."""
    means = [run["metrics"].get(metric, {}) for run in runs]
    over = "scopes" if any(mean.get("clusters") for mean in means) else "questions"
    few = all(mean.get("n", 0) < FEW for mean in means)
    intervals = f"no interval below {FEW} questions" if few else f"intervals over {over}"
    readers = field_values(_answering(runs), "llm")
    models = {"answers by": readers, "embedder": field_values(runs, "embedder")}
    facts = [intervals, f"commit {field_values(runs, 'commit')}"]
    facts += [f"{words} {names}" for words, names in models.items() if names != "none"]
    notes = ["; ".join(facts)]
    if n_failed := sum(run["failed"] for run in runs):
        errors = [str(error) for run in runs for error in run["errors"]]
        named = errors[:_MOST_NAMED] + ["and other errors"] * (len(errors) > _MOST_NAMED)
        notes.append(f"! {n_failed} failed, run again: {'; '.join(named)}")
    more = [one for one in run_notes(runs) if one.warns or one.about == rows.REFERENCE]
    return [*notes, *(str(one) for one in more if one.about != "failed")]


def _facts(runs: Runs) -> Iterator[Note]:
    answering, every = _answering(runs), partial(field_values, runs)
    names = field_values(answering, "llm")
    readers = f"answers by {names}; " * (names != "none")
    yield Note("models", f"{readers}build model {every('llm_build')}; embedder {every('embedder')}")
    texts = set()
    for run in runs:
        counts = ", ".join(f"{k} {v}" for k, v in sorted(run["extraction_statistics"].items()))
        texts.add(f"{run['extraction']} ({counts})" if counts else run["extraction"])
    extractions = "; ".join(sorted(texts - {""})) or "none"
    yield Note(
        "sources",
        f"profile {every('profile')}, fidelity {every('fidelity')}; extraction: {extractions}; "
        f"commit {every('commit')}; contexts counted in tokens of {every('tokenizer')}",
    )
    roles = {run["role"] for run in answering}
    floor = "closed-book is the reader's lower bound; " if "floor" in roles else ""
    ceiling = "oracle (gold passages as context) is its upper bound; " if "ceiling" in roles else ""
    clusters = (one.get("clusters", 0) for run in runs for one in run["metrics"].values())
    units = resampling_units(clusters)
    yield Note("intervals", f"{floor}{ceiling}intervals are 95 % bootstrap over {units}")
    if rows.n_references(runs):
        yield Note(rows.REFERENCE, f"({rows.REFERENCE}): the method with its own parameters")


def _of_a_run(run: RunMetrics) -> Iterator[Note]:
    title, n, usage = run["title"], run["n"], run["usage"]
    if steps := run["answered"] and run.get("own_answers"):
        text = f"{title}: steps that answer with the method's own prompt: {', '.join(steps)}"
        yield Note("own answers", text)
    if context_of_rows(run) and any("recall@" in name for name in run["metrics"]):
        text = f"{title}: metrics at k are about ranked chunks, but the context has no chunks"
        yield Note("rankings", text)
    for reason, n_fell in run.get("fallbacks", {}).items():
        yield Note("fallbacks", f"{title} fell back for {n_fell} of {n} questions: {reason}")
    repeats = run.get("repeats") or {}
    if changed := repeats.get("changed"):
        of = repeats["questions"]
        yield Note("repeats", f"{title}: {changed} of {of} answers differ between repeats")
    elif changed == 0:
        text = f"{title}: all {repeats['n']} repeats gave the same answers, as at temperature 0"
        yield _warning("repeats", text)
    if empty := usage.get("contexts_without_chunks"):
        text = f"{title}: {empty} of {n} contexts have no room for a chunk: raise budget_context"
        yield _warning("budget", text)
    if cut := usage.get("reports_cut_per_question"):
        of = usage["reports_per_question"]
        text = f"{title}: {cut:g} of {of:g} reports per question were cut (budget or max_groups)"
        yield _warning("budget", text)
    yield from (_warning("answers", f"{title}: {flag}") for flag in run.get("flags", ()))


def _of_any_run(runs: Runs) -> Iterator[Note]:
    if repeats := sorted({run["repeats"]["n"] for run in runs if run.get("repeats")}):
        times = f"{', '.join(map(str, repeats))} repeats with different seeds"
        yield Note("repeats", f"±: standard deviation over {times}; means are over all repeats")
    for text in sorted({note for run in runs for note in run.get("gold_notes", ())}):
        yield _warning("gold", text)
    doubted = {f"{run['method']} (verified: {unverified(run)})" for run in runs if unverified(run)}
    if names := ", ".join(sorted(doubted)):
        text = f"(?): not fully checked against the paper; see the method's page: {names}"
        yield Note("verified", text)
    if any(run.get("whole_corpus") for run in runs):
        text = "the whole corpus fits into the context: set a smaller budget_context"
        yield _warning("whole corpus", text)
    if any(run["cost"]["mixed"] for run in runs):
        text = "a step used several models or builds of a model: see cost.models"
        yield _warning("mixed models", text)
    if any(run["failed"] for run in runs):
        text = "some questions failed and are not in the means; run again to retry them"
        yield _warning("failed", text)
    if any(map(rows.selection_mark, runs)):
        yield Note("selected", rows.INFLATED)


def _extraction_faults(runs: Iterable[RunMetrics]) -> Iterator[Note]:
    faulty = [run for run in runs if run["extraction_statistics"].get("faulty_chunks")]

    def fault(run: RunMetrics) -> str:
        counts = run["extraction_statistics"]
        ways = ", ".join(f"{counts[f'{way}_chunks']:,.0f} {way}" for way in _WAYS)
        share, n = counts["faulty_chunks"] / counts["chunks"], counts["chunks"]
        return f"extraction errors in {share:.1%} of {n:,.0f} chunks ({ways})"

    for text, group in group_by(faulty, fault).items():
        yield _warning("extraction", f"{text}: {_titles(group)}")


def mixed_regimes(runs: Iterable[RunMetrics]) -> Iterator[Note]:
    """Yield a warning that lists the runs of each regime, if there are several regimes."""
    groups = sorted(group_by(filter(regime_of, runs), regime_of).items())
    if len(groups) > 1:
        users = "; ".join(f"{name}: {_titles(group)}" for name, group in groups)
        yield _warning("regimes", f"the runs differ in regime: {users}")


def corpus_notes(runs: Runs) -> Iterator[Note]:
    """Yield a warning for each data set whose runs used different versions of the corpus."""
    for dataset, corpora in rows.runs_by_corpus(runs).items():
        text = f"{dataset}: the runs used different versions of the corpus ({', '.join(corpora)})"
        yield _warning("corpus", text)


def imported_notes(runs: Runs) -> Iterator[Note]:
    """Yield notes on the file of each imported run, and warnings about items without a match."""
    for run in runs:
        if not (source := run.get("imported")):
            continue
        title, n, selected = run["title"], run["n"], run["selected"]
        file = f"{source['file']} (sha256 {source['sha256']})"
        yield Note("imported", f"{title}: imported from {file}; context and cost are unknown")
        if reference := source.get("reference"):
            yield Note("imported", f"{title}: published at {reference}")
        if unmatched := source.get("unmatched"):
            of = source["passages"]
            text = f"{title}: {unmatched} of {of} passages match no document and are not evidence"
            yield _warning("unmatched", text)
        if n < selected:
            text = f"{title}: the file has {n} of {selected} questions; means are over these {n}"
            yield _warning("unmatched", text)


def _answering(runs: Runs) -> list[RunMetrics]:
    return [run for run in runs if run["answered"] or run.get("answer") != "off"]


def field_values(runs: Runs, name: str) -> str:
    """Return the values of a field of all runs, sorted and joined by commas, or `none`."""
    return ", ".join(sorted({str(run[name]) for run in runs if run[name]})) or "none"


def _titles(runs: Iterable[RunMetrics]) -> str:
    return ", ".join(dict.fromkeys(str(run["title"]) for run in runs))


def resampling_units(clusters: Iterable[int]) -> str:
    """Return what the bootstrap resamples: scopes, or questions if all `clusters` are 0."""
    if not (numbers := sorted({*clusters} - {0})):
        return "questions"
    few = "; intervals over so few scopes are too narrow" if numbers[0] <= 10 else ""
    return f"scopes ({', '.join(map(str, numbers))} groups of questions{few})"


def scored_again(runs: Runs) -> Iterator[Note]:
    """Yield warnings about runs scored again due to changed gold answers or a different rule."""
    if titles := _titles(run for run in runs if run.get("regraded")):
        yield _warning("gold", f"scored again for this table, as gold answers changed: {titles}")
    for words, group in group_by(runs, lambda run: run.get("scored_as", "")).items():
        if words:
            text = f"stored with {words}, but scored here by the rule of the other runs"
            yield _warning("rule", f"{text}: {_titles(group)}")


def _prices(runs: Runs) -> Iterator[Note]:
    every = [(model, price, run) for run in runs for model, price in run.get("prices", {}).items()]
    for model, of_model in group_by(every, lambda one: one[0]).items():
        groups = group_by(of_model, lambda one: one[1])
        if len(groups) > 1:
            shown = "; ".join(f"{p}: {_titles(one[2] for one in of)}" for p, of in groups.items())
            text = f"prices of {model} differ (USD / 1M tokens in, out): {shown}"
            yield _warning("prices", text)


def _unequal_contexts(runs: Runs) -> Iterator[Note]:
    def length(run: RunMetrics) -> float:
        return float(run["usage"]["context_tokens_per_question"] or 0)

    packed = [run for run in runs if run["role"] not in rows.REFERENCE_ROLES and length(run)]
    groups = group_by(packed, lambda run: (run["dataset"], run.get("budget_context")))
    for (dataset, budget), group in groups.items():
        short, long = min(group, key=length), max(group, key=length)
        if length(long) > 1.1 * length(short):
            shown = ", ".join(f"{one['title']} {length(one):.0f} tokens" for one in (short, long))
            reason = "budget_context=N sets one budget for all"
            if "published" in {regime_of(short), regime_of(long)}:
                reason = "with regime=published each method has its own k; a budget is a limit"
            elif budget:
                reason = f"not all methods fill {budget:,} tokens"
            text = f"{dataset}: contexts differ by more than 10 % ({shown}): {reason}"
            yield _warning("contexts", text)


def same_contexts(runs: Runs) -> Iterator[Note]:
    """Yield a warning that lists the settings without effect, if runs have equal contexts."""
    known = [run for run in runs if run.get("contexts", {}).get("digest")]
    groups = group_by(known, lambda run: (run["dataset"], run["contexts"]["digest"]))
    for group in groups.values():
        if names := rows.differing_settings(group) if len(group) > 1 else []:
            room = group[0]["contexts"]["room"]
            sizes = ", ".join(f"about {n:.0f} {_KINDS.get(kind, kind)}" for kind, n in room.items())
            full = f" (the budget has room for {sizes})" if sizes else ""
            causes = ["method"] if "method.name" in names else names[:_MOST_NAMED]
            text = f"{', '.join(causes)} had no effect: {len(group)} runs have the same contexts"
            yield _warning("same contexts", f"{text}{full}: {_titles(group)}")


def context_of_rows(run: RunMetrics) -> bool:
    """Return whether the contexts of a run contain nodes, paths or reports, but no chunks."""
    usage = run["usage"]
    chunks = usage.get("chunks_per_context"), usage.get("contexts_without_chunks")
    return bool(usage["context_tokens_per_question"]) and chunks == (0, 0)


def _answer_forms(runs: Runs) -> Iterator[Note]:
    def counts(run: RunMetrics) -> str:
        return ", ".join(f"{name} ({n})" for name, n in run["answer_forms"].items())

    for dataset, of_set in group_by(runs, lambda run: run["dataset"]).items():
        kinds = {tuple(sorted(run["answer_forms"])) for run in of_set}
        settings = {run["settings"].get("answers") for run in of_set}
        for forms, group in group_by(of_set, counts).items():
            if len(kinds) > 1 and len(settings) > 1:
                text = f"{dataset}: answer forms differ between runs; {_titles(group)}: {forms}"
                yield _warning("answer forms", text)
            elif set(group[0]["answer_forms"]) != {"short"}:
                yield Note("answer forms", f"{dataset}: answer forms (questions): {forms}")


def training_notes(runs: Runs) -> list[Note]:
    """Return a warning for each artifact that was trained on only part of its training set."""
    parts = (part for run in runs for part in run.get("training", {}).items())
    texts = [f"{name} trained on {row['trained_on']}" for name, row in parts if not row["whole"]]
    return [_warning("training", text) for text in dict.fromkeys(texts)]


def long_text_notes(runs: Runs) -> Iterator[Note]:
    """Yield notes on texts longer than the embedder's window: warnings if the texts were cut."""
    embedding = [run for run in runs if run.get("long_texts")]
    long_rows = [(run, row) for run in embedding for row in run["long_texts"] if row["n_long"]]
    long = [
        (f"{run['dataset']}: {lengths.message(row['what'])}", lengths.long_texts == "cut", run)
        for run, row in long_rows
        if (lengths := TextLengths.from_row(row))
    ]
    for (text, cut), group in group_by(long, lambda one: one[:2]).items():
        named, every = _titles(run for *_, run in group), _titles(embedding)
        yield Note("long texts", text if named == every else f"{text} ({named})", warns=cut)
    if unknown := _titles(run for run in runs if "(not known" in run.get("embedder", "")):
        text = f"the window of the embedder is not known (embedder.window=N sets it): {unknown}"
        yield _warning("long texts", text)
