"""PathCoRAG: reasoning steps for a question, and the paths between what they find."""
