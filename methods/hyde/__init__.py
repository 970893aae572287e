"""HyDE: hypothetical document embeddings."""
