"""Plans of sub-questions: their dependencies, their order, and the answers found so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from graphrag_bench.values import value

Kind = Literal["specific", "abstract"]
FINAL = "final"


@dataclass(frozen=True)
class SubQuestion:
    """A sub-question: `id` names it in its plan, `dependencies` those whose answers it needs.

    `kind` says what it asks for: a specific fact, or an abstract view over much of the corpus.
    """

    id: str
    text: str
    kind: Kind = "specific"
    dependencies: tuple[str, ...] = ()


@value("plan")
@dataclass(frozen=True)
class Plan:
    """Sub-questions in the order of their document, and the final question that closes it.

    Every dependency names a sub-question of the plan, and none is circular; `fixes` says
    what was changed for that.
    """

    sub_questions: tuple[SubQuestion, ...]
    final: SubQuestion
    fixes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.sub_questions)

    def layers(self) -> list[list[SubQuestion]]:
        """The sub-questions in dependency order; those of one layer do not need each other."""
        depth: dict[str, int] = {}
        waiting = list(self.sub_questions)
        while waiting:
            ready = [one for one in waiting if all(d in depth for d in one.dependencies)]
            assert ready, "a plan has no circles"
            for one in ready:
                depth[one.id] = 1 + max((depth[d] for d in one.dependencies), default=-1)
            waiting = [one for one in waiting if one.id not in depth]
        found: list[list[SubQuestion]] = [[] for _ in range(1 + max(depth.values(), default=-1))]
        for one in self.sub_questions:
            found[depth[one.id]].append(one)
        return found

    def needed(self) -> Plan:
        """The plan without sub-questions that the final question does not depend on."""
        by_id = {one.id: one for one in self.sub_questions}
        kept: set[str] = set()
        waiting = list(self.final.dependencies)
        while waiting:
            name = waiting.pop()
            if name not in kept:
                kept.add(name)
                waiting += by_id[name].dependencies
        return replace(self, sub_questions=tuple(o for o in self.sub_questions if o.id in kept))


@value("dependencies")
@dataclass(frozen=True)
class Dependencies:
    """The sub-questions that the current question depends on, in its order, with their answers."""

    ids: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Each sub-question with its answer, in order."""
        return tuple(zip(self.questions, self.answers, strict=True))


@value("sought")
@dataclass(frozen=True)
class Sought:
    """What the current question asks for; as text `specific` or `abstract`, for `switch`."""

    kind: Kind

    def __str__(self) -> str:
        return self.kind


def checked_plan(
    sub_questions: Sequence[SubQuestion], final: SubQuestion, fixes: Sequence[str] = ()
) -> Plan:
    """A plan without dangling, repeated or circular dependencies; `fixes` says what was dropped.

    Of a circle the dependency goes that belongs to the edge whose target, the sub-question that is
    needed, is last in the document. A final question without dependencies takes the
    sub-questions that nothing else depends on.
    Source: the plan normalisation of the project's PankRAG page, rules 4, 6 and 8.
    """
    said = list(fixes)
    position = {one.id: row for row, one in enumerate(sub_questions)}
    needs = {
        one.id: _known(one, position, said) for one in (*sub_questions, replace(final, id=FINAL))
    }
    while circle := _circle([one.id for one in sub_questions], needs):
        edges = zip(circle, (*circle[1:], circle[0]), strict=True)
        source, target = max(edges, key=lambda edge: (position[edge[1]], position[edge[0]]))
        needs[source] = tuple(name for name in needs[source] if name != target)
        said.append(f"{source} and {target} wait for each other: {source} no longer does")
    used = {name for one in sub_questions for name in needs[one.id]}
    closing = needs[FINAL] or tuple(one.id for one in sub_questions if one.id not in used)
    return Plan(
        tuple(replace(one, dependencies=needs[one.id]) for one in sub_questions),
        replace(final, id=FINAL, dependencies=closing),
        tuple(said),
    )


def _known(one: SubQuestion, position: Mapping[str, int], said: list[str]) -> tuple[str, ...]:
    kept = []
    for name in dict.fromkeys(one.dependencies):
        if name == one.id:
            said.append(f"{one.id} depends on itself")
        elif name not in position:
            said.append(f"{one.id} depends on {name}, which is not there")
        else:
            kept.append(name)
    return tuple(kept)


def _circle(ids: Sequence[str], needs: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    done: set[str] = set()
    for start in ids:
        path: list[str] = []
        stack = [(start, iter(needs[start]))] if start not in done else []
        path += [start] if stack else []
        while stack:
            name, rest = stack[-1]
            following = next(rest, None)
            if following is None:
                done.add(name)
                path.pop()
                stack.pop()
            elif following in path:
                return tuple(path[path.index(following) :])
            elif following not in done:
                path.append(following)
                stack.append((following, iter(needs[following])))
    return ()
