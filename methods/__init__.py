"""The methods' own steps: question conversion, contexts, answers, and their prompts."""

from methods import context, conversion, generation, map_reduce, paths
from methods.dalk import evidence
from methods.decompose import splitting
from methods.hyde import hypothesis
from methods.ircot import thinking
from methods.kgp import walk
from methods.pankrag import planning, reranking
from methods.pathcorag import steps
from methods.subgraphrag import listing
from methods.tog import answering

__all__ = [
    "answering",
    "context",
    "conversion",
    "evidence",
    "generation",
    "hypothesis",
    "listing",
    "map_reduce",
    "paths",
    "planning",
    "reranking",
    "splitting",
    "steps",
    "thinking",
    "walk",
]
