"""KET-RAG: builders and operators."""
