"""The methods' own steps: question conversion, contexts, answers, and their prompts."""

from methods import context, conversion, generation, map_reduce

__all__ = ["context", "conversion", "generation", "map_reduce"]
