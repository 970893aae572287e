"""GFM-RAG: builders and operators."""
