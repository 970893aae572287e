"""The methods' own steps: question conversion, contexts, answers, and their prompts."""

from methods import context, conversion, generation, map_reduce
from methods.dalk import evidence
from methods.ircot import thinking
from methods.kgp import walk
from methods.tog import answering

__all__ = [
    "answering",
    "context",
    "conversion",
    "evidence",
    "generation",
    "map_reduce",
    "thinking",
    "walk",
]
