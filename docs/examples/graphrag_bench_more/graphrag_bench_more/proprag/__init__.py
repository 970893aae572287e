"""PropRAG: operators."""
