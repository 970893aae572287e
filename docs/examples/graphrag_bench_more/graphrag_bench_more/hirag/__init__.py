"""HiRAG: builders and operators."""
