"""Think-on-Graph: a model explores the graph hop by hop."""
