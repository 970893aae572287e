"""PathCoRAG: reasoning steps of a question, and the paths between what they find."""
