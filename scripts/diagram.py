"""A pipeline as a drawing: a box for each operator, a frame for each stage and combinator, in SVG.

It is drawn from the checked steps. A dashed box may call a language model; below the name of an
operator stand the slots that it reads and writes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from html import escape

from graphrag_bench.pipeline.pipeline import STAGES, Pipeline
from graphrag_bench.pipeline.steps import OperatorStep, Step, Steps

Drawing = tuple[int, int, str]
"""Width and height in pixels, and the elements, drawn from 0, 0."""
GAP, PAD, HEAD, LINE = 18, 10, 20, 17
CHAR, SMALL = 8, 7
"""Pixels of a character of a name, and of the slots below it."""
_ARROW = (
    '<defs><marker id="arrow" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="6" markerHeight="6"'
    ' orient="auto"><path d="M0,0L6,3L0,6z" fill="currentColor"/></marker></defs>'
)


def svg(pipeline: Pipeline, operators_page: str) -> str:
    """Return the drawing of a pipeline; operators link to their section of a page."""
    stages = [(name, getattr(pipeline, name)) for name in STAGES]
    drawn = [_frame(name, _down(steps, operators_page)) for name, steps in stages if steps]
    width, height, text = _stack(drawn)
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    style = "max-width: 100%; height: auto; font-family: monospace"
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} style="{style}">{_ARROW}{text}</svg>'


def parts(step: Step) -> Iterator[tuple[str, Steps]]:
    """The lists of steps inside a combinator, each with the name of its arm or field."""
    for one in fields(step):  # type: ignore[arg-type]
        value = getattr(step, one.name)
        named = value if isinstance(value, Mapping) else {one.name: value}
        for name, steps in named.items():
            if isinstance(steps, tuple) and steps in step.parts and (steps or named is value):
                yield "" if one.name == "steps" else str(name), steps


def _down(steps: Steps, page: str) -> Drawing:
    return _stack([_drawn(step, page) for step in steps])


def _drawn(step: Step, page: str) -> Drawing:
    if isinstance(step, OperatorStep):
        return _box(step, page)
    scalars = [(one.name, getattr(step, one.name)) for one in fields(step) if one.name != "label"]  # type: ignore[arg-type]
    about = [f"{name}={value}" for name, value in scalars if isinstance(value, str | int) and value]
    title = " ".join([*step.label.split(" ")[1:2], *about])
    arms = [(name, _down(steps, page)) for name, steps in parts(step)]
    return _frame(title, _beside([_frame(name, arm) if name else arm for name, arm in arms]))


def _box(step: OperatorStep, page: str) -> Drawing:
    operator = step.operator
    reads = [one.slot for one in operator.reads if not one.optional or one.slot in step.use]
    slots = f"{', '.join(reads)} → {', '.join([*operator.writes, *operator.may_write])}"
    width = max(CHAR * len(operator.name), SMALL * len(slots)) + 2 * PAD
    height, middle = 2 * LINE + PAD, width // 2
    dash = ' stroke-dasharray="5 3"' if step.bound() else ""
    link = f"{page}#{operator.name.replace('.', '')}"
    text = _rect(width, height, f' stroke="currentColor"{dash}')
    text += f'<a href="{escape(link)}">{_text(middle, LINE, operator.name, 13)}</a>'
    return width, height, text + _text(middle, 2 * LINE, slots, 11)


def _frame(title: str, inside: Drawing) -> Drawing:
    width = max(inside[0], CHAR * len(title)) + 2 * PAD
    height = inside[1] + HEAD + PAD
    text = _rect(width, height, ' stroke="currentColor" stroke-opacity="0.35"')
    text += _text(width // 2, 15, title, 12)
    return width, height, text + _at((width - inside[0]) // 2, HEAD, inside[2])


def _stack(drawings: Sequence[Drawing]) -> Drawing:
    """One below the other, joined by arrows."""
    width, top, text = max((one[0] for one in drawings), default=0), 0, ""
    for row, (own, height, inside) in enumerate(drawings):
        if row:
            line = f'x1="{width // 2}" y1="{top}" x2="{width // 2}" y2="{top + GAP}"'
            text += f'<line {line} stroke="currentColor" marker-end="url(#arrow)"/>'
            top += GAP
        text += _at((width - own) // 2, top, inside)
        top += height
    return width, top, text


def _beside(drawings: Sequence[Drawing]) -> Drawing:
    left, text = 0, ""
    for width, _, inside in drawings:
        text += _at(left, 0, inside)
        left += width + PAD
    return max(left - PAD, 0), max((one[1] for one in drawings), default=0), text


def _at(left: int, top: int, text: str) -> str:
    return f'<g transform="translate({left},{top})">{text}</g>'


def _rect(width: int, height: int, more: str) -> str:
    return f'<rect width="{width}" height="{height}" rx="5" fill="none"{more}/>'


def _text(middle: int, base: int, text: str, size: int) -> str:
    place = f'x="{middle}" y="{base}" font-size="{size}" text-anchor="middle"'
    return f'<text {place} fill="currentColor">{escape(text)}</text>'
