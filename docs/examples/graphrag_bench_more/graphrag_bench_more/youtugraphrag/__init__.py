"""Youtu-GraphRAG: builders and operators."""
