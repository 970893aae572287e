"""NodeRAG: builders and operators."""
