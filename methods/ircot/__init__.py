"""IRCoT: retrieval interleaved with a chain of thought."""
