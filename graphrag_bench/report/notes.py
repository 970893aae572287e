"""The notes under the main table: models, sources, how answers were made, and warnings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from graphrag_bench.report.arrange import differing
from graphrag_bench.report.corpora import corpus_notes
from graphrag_bench.report.long_texts import long_text_notes
from graphrag_bench.report.selection import INFLATED, REFERENCE_ROLES, mark
from graphrag_bench.report.verified import verified_notes

FAIR = 1.1
"""Contexts that differ by more than this factor are compared with a warning."""
FEW_CLUSTERS = 10
_MOST_NAMED = 3
_KINDS = {"community": "reports", "path": "paths", "chunk": "chunks", "node": "nodes",
          "relationship": "relationships"}  # fmt: skip
"""What is retrieved, by the kind of a piece."""
Run = Mapping[str, Any]


def run_notes(runs: Sequence[Run]) -> tuple[str, ...]:
    """The notes of a main table; what begins with `!` is a warning."""
    said = partial(_listed, runs)
    answering = [run for run in runs if answers(run)]
    by = f"answers by {_listed(answering, 'llm')}; " if answering else ""
    clusters = (one.get("clusters", 0) for run in runs for one in run["metrics"].values())
    notes = [
        f"{by}build model {said('llm_build')}; embedder {said('embedder')}",
        f"profile {said('profile')}, fidelity {said('fidelity')}; "
        f"extraction: {_extractions(runs)}; commit {said('commit')}; "
        f"contexts counted in tokens of {said('tokenizer')}",
        f"{_bounds(answering)}intervals are 95 % bootstrap over {drawn_over(clusters)}",
    ]
    notes += imported_notes(runs)
    notes += corpus_notes(runs)
    notes += long_text_notes(runs)
    notes += asking_notes(runs)
    notes += _repeats(runs)
    notes += _unequal_contexts(runs)
    notes += same_contexts(runs)
    notes += _without_chunks(runs)
    notes += _ranked_aside(runs)
    notes += _unread_reports(runs)
    notes += _cut_replies(runs)
    notes += [f"! {run['title']}: {flag}" for run in runs for flag in run.get("flags", ())]
    notes += _incomplete(runs)
    notes += [
        f"! {run['title']}: costs and times are not whole, files were damaged: {', '.join(lost)}"
        for run in runs
        if (lost := run.get("lost"))
    ]
    notes += verified_notes(runs)
    if any(mark(run) for run in runs):
        notes.append(INFLATED)
    if any(run["cost"]["mixed"] for run in runs):
        notes.append("! more than one model or build has served one step: see cost.models")
    if any(run["failed"] for run in runs):
        notes.append("! some questions failed: means are over the rest; run again to retry them")
        notes += [f"{run['title']}: {error}" for run in runs for error in run["errors"][:2]]
    return tuple(notes)


def imported_notes(runs: Sequence[Run]) -> Iterator[str]:
    """Of each run of somebody else's results: its file and source, and what matched nothing."""
    for run in runs:
        if held := run.get("imported"):
            by = f", {held['reference']}" if held["reference"] else ""
            yield (
                f"{run['title']}: results of others (file {held['file']}, sha256 {held['sha256']}"
                f"{by}); context, tokens, time and cost are not known"
            )
            if held["unmatched"]:
                yield (
                    f"! {run['title']}: {held['unmatched']} of {held['passages']} passages match "
                    "no document and count as passages without evidence"
                )
            if run["n"] < run["selected"]:
                yield (
                    f"! {run['title']}: its file has {run['n']} of {run['selected']} questions; "
                    "means are over these"
                )


def answers(run: Run) -> bool:
    """Whether a run answers questions, or has answered some; not with `answer=off`."""
    return bool(run["answered"]) or run.get("answer") != "off"


def _listed(runs: Sequence[Run], name: str) -> str:
    return ", ".join(sorted({str(run[name]) for run in runs if run[name]})) or "none"


def _bounds(runs: Sequence[Run]) -> str:
    roles = {run["role"] for run in runs}
    said = ["closed-book is the reader's floor"] if "floor" in roles else []
    said += ["oracle (gold passages as context) is its ceiling"] if "ceiling" in roles else []
    return "".join(f"{one}; " for one in said)


def _incomplete(runs: Sequence[Run]) -> Iterator[str]:
    for run in runs:
        if held := run.get("incomplete"):
            lack = "; ".join(f"{name} without {parts}" for name, parts in sorted(held.items()))
            yield (
                f"! {run['title']}: built while the server failed ({lack}): run the same command "
                "again, which asks for what is missing"
            )


def drawn_over(clusters: Iterable[int]) -> str:
    """What intervals are drawn over: questions, or scopes with their numbers.

    `clusters` are those of each mean, 0 for one over questions; a warning says where they are few.
    """
    numbers = sorted({*clusters} - {0})
    if not numbers:
        return "questions"
    few = ": few, so that intervals are too narrow" if numbers[0] <= FEW_CLUSTERS else ""
    return f"scopes ({', '.join(map(str, numbers))} that questions share{few})"


def _repeats(runs: Sequence[Run]) -> Iterator[str]:
    repeated = [run for run in runs if run.get("repeats")]
    if not repeated:
        return
    numbers = ", ".join(sorted({str(run["repeats"]["n"]) for run in repeated}, key=int))
    yield (
        f"±: standard deviation of the mean over {numbers} repeats of the answering model (same "
        "prompts and index, another seed of the model); the mean is over the repeats, its interval "
        "over the questions"
    )
    for run in repeated:
        held = run["repeats"]
        if held["changed"]:
            yield (
                f"{run['title']}: {held['changed']} of {held['questions']} answers differ between "
                "repeats"
            )
        else:
            yield (
                f"! {run['title']}: all {held['n']} repeats gave the same answers word for word "
                "(as a model at temperature 0 does): ±0 says nothing about another seed or model"
            )


def _unequal_contexts(runs: Sequence[Run]) -> Iterator[str]:
    groups: dict[tuple[str, object], list[Run]] = {}
    for run in runs:
        if run["role"] not in REFERENCE_ROLES and run["usage"]["context_tokens_per_question"]:
            groups.setdefault((run["dataset"], run.get("budget_context")), []).append(run)
    for (dataset, budget), held in groups.items():
        by = sorted(held, key=lambda run: float(run["usage"]["context_tokens_per_question"]))
        least, most = (run["usage"]["context_tokens_per_question"] for run in (by[0], by[-1]))
        if most > FAIR * least:
            why = (
                f"{by[0]['title']} does not fill the {budget:,} tokens"
                if budget
                else "budget_context=N gives all one budget"
            )
            more = "finds and answers more" if any(map(answers, held)) else "finds more"
            yield (
                f"! {dataset}: contexts differ by more than 10 % ({by[0]['title']} {least:.0f} "
                f"tokens, {by[-1]['title']} {most:.0f}), and a longer one {more}: "
                f"{why}"
            )


def same_contexts(runs: Sequence[Run]) -> Iterator[str]:
    """A warning for the runs of one set that send the same contexts, with what changes nothing.

    Runs that differ in models or prompts alone are to have the same contexts and are not named.
    """
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        if context_digest := run.get("contexts", {}).get("digest"):
            groups.setdefault((run["dataset"], context_digest), []).append(run)
    for held in groups.values():
        names = differing(held) if len(held) > 1 else []
        if not names:
            continue
        room = held[0]["contexts"]["room"]
        why = [f"about {n:.0f} {_KINDS.get(kind, kind)}" for kind, n in room.items()]
        full = f" (the budget holds {', '.join(why)})" if why else ""
        titles = ", ".join(dict.fromkeys(str(run["title"]) for run in held))
        what = "method" if "method.name" in names else ", ".join(names[:_MOST_NAMED])
        verb = "change" if what.count(",") else "changes"
        yield (
            f"! {len(held)} runs have the same contexts: {what} {verb} nothing here{full}: {titles}"
        )


def _without_chunks(runs: Sequence[Run]) -> Iterator[str]:
    for run in runs:
        if n_empty := run["usage"].get("contexts_without_chunks", 0):
            yield (
                f"! {run['title']}: the budget cut every retrieved chunk from {n_empty} of "
                f"{run['n']} contexts; a larger budget_context or smaller chunks would keep them"
            )


def context_of_rows(run: Run) -> bool:
    """Whether a run's contexts have no place for chunks: they are of nodes, paths or reports."""
    usage = run["usage"]
    chunks = usage.get("chunks_per_context"), usage.get("contexts_without_chunks")
    return bool(usage["context_tokens_per_question"]) and chunks == (0, 0)


def _ranked_aside(runs: Sequence[Run]) -> Iterator[str]:
    ranking = (run for run in runs if any("recall@" in name for name in run["metrics"]))
    if titles := [str(run["title"]) for run in ranking if context_of_rows(run)]:
        yield (
            f"{', '.join(titles)}: evidence@k is of chunks ranked beside the context, which holds "
            "none; 'in context' is what the prompt has"
        )


def _unread_reports(runs: Sequence[Run]) -> Iterator[str]:
    for run in runs:
        if cut := run["usage"].get("reports_cut_per_question"):
            yield (
                f"! {run['title']}: {cut:g} of {run['usage']['reports_per_question']:g} community "
                "reports a question were not read (cut by the budget, or beyond the groups that "
                "max_groups of points.map allows)"
            )


def _cut_replies(runs: Sequence[Run]) -> Iterator[str]:
    for run in runs:
        held = run["extraction_statistics"]
        if n_cut := held.get("truncated_replies", 0):
            n = held["replies"]
            yield (
                f"! {run['title']}: {n_cut} of {n} replies ({n_cut / n:.1%}) of its extraction "
                "were cut at their limit; what they did not say is not in its graph"
            )


def _extractions(runs: Sequence[Run]) -> str:
    said: dict[str, None] = {}
    for run in runs:
        counted = ", ".join(f"{k} {v}" for k, v in sorted(run["extraction_statistics"].items()))
        if run["extraction"]:
            said[f"{run['extraction']} ({counted})" if counted else run["extraction"]] = None
    return "; ".join(sorted(said)) or "none"


def asking_notes(runs: Sequence[Run]) -> Iterator[str]:
    """The lines that a table of these runs needs; what begins with `!` is a warning.

    Short answers to prompts of the methods' own, without a fallback, need none.
    """
    answered = [run for run in runs if run["answered"]]
    yield from _forms(answered)
    yield from _readers(answered)
    for run in runs:
        for reason, n in run.get("fallbacks", {}).items():
            yield f"{run['title']} fell back for {n} of {run['n']} questions: {reason}"


def _forms(runs: Sequence[Run]) -> Iterator[str]:
    by_set: dict[str, dict[str, list[Run]]] = {}
    for run in runs:
        if forms := run.get("answer_forms"):
            said = ", ".join(f"{name} ({n})" for name, n in forms.items())
            by_set.setdefault(run["dataset"], {}).setdefault(said, []).append(run)
    for name, held in by_set.items():
        kinds = {tuple(sorted(same[0]["answer_forms"])) for same in held.values()}
        asked = {run["settings"].get("answers") for same in held.values() for run in same}
        for said, same in held.items():
            if len(kinds) > 1 and len(asked) > 1:
                titles = ", ".join(run["title"] for run in same)
                yield f"! {name}: forms of answers differ between runs; {titles}: {said}"
            elif set(same[0]["answer_forms"]) != {"short"}:
                yield f"{name}: forms of the answers (questions): {said}"


def _readers(runs: Sequence[Run]) -> Iterator[str]:
    titles: dict[str, list[str]] = {}
    for run in runs:
        titles.setdefault(run.get("reader_prompt", "own"), []).append(run["title"])
    if len(titles) > 1:
        said = "; ".join(f"{reader} for {', '.join(of)}" for reader, of in sorted(titles.items()))
        yield f"! reader prompts differ: {said} (reader_prompt)"
    elif "common" in titles:
        yield "one reader prompt for all methods (reader_prompt=common)"
    elif "own" in titles:
        yield (
            "each method's own reader prompt, with its source's clause on what the context does "
            "not hold (reader_prompt=own)"
        )
    elif forms := sorted({form for run in runs for form in run.get("common_reader", ())}):
        yield f"one reader prompt for all methods: {', '.join(forms)} (reader_prompt=auto)"
    for run in runs:
        if kept := run.get("own_answers"):
            yield f"{run['title']}: its own prompt for answers inside its search: {', '.join(kept)}"
