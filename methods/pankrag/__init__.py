"""PankRAG: a plan of sub-questions, each rephrased with the answers it depends on."""
