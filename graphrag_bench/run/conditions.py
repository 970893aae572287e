"""Compare the settings that affect a run's results with the conditions that a paper states."""

from collections.abc import Iterator
from os.path import commonprefix
from typing import Any

from graphrag_bench.config.settings import WINDOWS, RunSettings
from graphrag_bench.config.sources import FILE
from graphrag_bench.papers.printed import conditions_of
from graphrag_bench.pipeline.pipeline import Pipeline
from graphrag_bench.pipeline.reader_prompts import LICENCE
from graphrag_bench.prompts import Prompt
from graphrag_bench.run.budgets import own_budget
from graphrag_bench.run.folder import paths_of
from graphrag_bench.values import Piece

_SECTIONS = {
    "method", "chunking", "pooling", "build", "graph", "seed", "answers", "answer_tokens",
    "regime",
}  # fmt: skip
"""Groups of settings that can change an answer. For models, their identities are compared."""
_QUESTION, _CUE, _HOUSE = "<question>", "<cue>", "<clause>"


def _answer_prompt(pipeline: Pipeline) -> dict[str, str | None]:
    """Describe the prompt that asks for the final answer; all values are None without a prompt.

    `prompt` names its files. `question` is `last` if the question ends the prompt, else `first`.
    `clause` is the instruction for a context that does not contain the answer, or `none`.
    """
    steps = [op for step in pipeline.generate for op in step.operators()]
    prompts = [op.settings.get("prompt") for op in steps if "answer" in op.operator.returns]
    if not prompts or not isinstance(prompt := prompts[-1], Prompt):
        return dict.fromkeys(("prompt", "question", "clause"))
    own, house = _shown(prompt, ""), _shown(Prompt(prompt.name, prompt.folder), _HOUSE)
    start = len(commonprefix([own, house]))
    stop = len(own) - len(commonprefix([own[start:][::-1], house[start:][::-1]]))
    clause = "none"
    if differing := own[start:stop].strip():  # all sentences that have a part of it
        start = own.index(differing, start)
        stop = start + len(differing)
        begins = [at + len(s) for s in (". ", "\n") if (at := own.rfind(s, 0, start)) >= 0]
        ends = [at + 1 for s in (". ", ".\n") if (at := own.find(s, stop - 1)) >= 0]
        clause = own[max(begins, default=0) : min(ends, default=len(own))]
    return {
        "prompt": ", ".join(file.name for file in prompt.files),
        "question": "last" if own.endswith((f"{_QUESTION}\n{_CUE}", _QUESTION)) else "first",
        "clause": clause.replace("<manner>.", "..."),
    }


def _shown(prompt: Prompt, licence: str) -> str:
    piece = Piece("chunk", "1", "<context>", 1.0, 1)
    block = {"kind": "chunk", "head": "", "rows": [piece.text], "table": False}
    values: dict[str, Any] = dict.fromkeys(prompt.variables, ()) | {
        "question": _QUESTION, "pieces": [piece], "blocks": [block], "form": "short",
        "manner": "<manner>.", "cue": _CUE, LICENCE: licence,
    }  # fmt: skip
    return "\n".join(message.content for message in prompt.render(values))


def result_settings(settings: RunSettings) -> dict[str, Any]:
    """Return the settings that can change an answer, by path. Models are left out."""
    values = paths_of(settings.model_dump(include=_SECTIONS), lists=True)
    unread = (f"method.{FILE}", "method.page")
    return {path: value for path, value in values.items() if path not in unread}


def condition_values(settings: RunSettings, pipeline: Pipeline) -> dict[str, object]:
    """Return settings that affect results, and values derived from them (None means no limit)."""
    published = settings.regime == "published"
    bounds = [own_budget(settings), settings.budget_context]
    return {
        **result_settings(settings),
        **settings.model_dump(include={"profile", "fidelity", "limit", "answer", "budget_context"}),
        "method": settings.method["name"],
        "pooling": (settings.pooling or {}).get("mode", "off"),
        "reference_rows": settings.reference_rows,
        **_answer_prompt(pipeline),
        "answer_tokens": settings.method.get("max_tokens") or settings.open_tokens,
        "budget": min((n for n in bounds if isinstance(n, int)), default=None),
        "window": WINDOWS.get(settings.profile) if published else None,
        "protocol": "paper" if published else "house",
    }


def condition_lines(
    row: str, settings: RunSettings, pipeline: Pipeline, tokens: int | None
) -> Iterator[str]:
    """Yield the conditions that a paper states for a row of its table, and the run's values."""
    yield f"conditions of {row}, with the values of this run"
    values = condition_values(settings, pipeline)
    if tokens is not None and values["budget"] not in (None, tokens):
        yield f"  context within the window: {tokens} tokens (in the paper: {values['budget']})"
    for one in conditions_of(row):
        ours = ""
        if one.setting in values:
            value = values[one.setting]
            other = f", not {one.value}" if one.differs(values) else ""
            ours = f"{'none' if value is None else value}{other} ({one.setting})"
        yield f"  {one.name}: {'; '.join(filter(None, [ours, one.source]))}"
