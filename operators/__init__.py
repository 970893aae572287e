"""The operators of graphrag-bench, in one folder for each type of result.

Unless a docstring says otherwise: Ties are broken by the lower id. If `types` is not empty, only
nodes of these types are returned. A setting that is None means no limit. If the language model does
not reply, CallFailed is raised.
"""
