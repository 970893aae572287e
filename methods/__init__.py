"""The methods' own steps: question conversion and answer generation, and their prompts."""

from methods import conversion, generation

__all__ = ["conversion", "generation"]
