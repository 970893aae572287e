r"""Checks the models that a run with the same settings would use, with a few small real calls.

Address, key, model name, JSON replies, context window, speed; one embedding, its dimension and
length; how many tokens the embedder reads, and how many chunks of the data set are longer. Writes
nothing; a key is never printed.

examples
  graphrag-bench doctor                            the packaged models of this machine
  graphrag-bench doctor llm=openai_compatible llm.model=qwen3:8b \
      llm.base_url=http://localhost:11434/v1 llm.api_key_env=null

exit code: 0 when everything passes, 1 when something has to be fixed, 2 for a wrong setting
"""

from argparse import Namespace

from graphrag_bench.cli.parsing import Parser, refuse_but
from graphrag_bench.config.compose import composed
from graphrag_bench.config.settings import check_settings
from graphrag_bench.config.sources import names
from graphrag_bench.report.rendering import Table, show
from graphrag_bench.run.model_check import examine, examine_texts

_MODELS = ("llm", "llm_build", "embedder")
_TAKEN = (
    *_MODELS, "llm_judge", "nlp", "cross_encoder", "dataset", "method", "chunking", "build",
    "graph", "pooling", "profile", "fidelity", "answers", "reader_prompt", "budget_context",
    "fill_context", "seed", "cache", "paths", "plugins", "experiment",
)  # fmt: skip
"""What models, and the texts that they are given, depend on."""


def declare(parser: Parser) -> None:
    parser.alone = True
    parser.takes("[MODEL=NAME ...] [SETTING=VALUE ...]")
    parser.word("words", "WORD", "a model, or a setting of a run", "*")
    parser.rows("models", [(f"{group}=", ", ".join(names(group))) for group in _MODELS])


def main(options: Namespace) -> int:
    refuse_but("doctor", options.words, _TAKEN)
    values = composed(options.words)
    checks = [*examine(check_settings(values)), *examine_texts(values)]
    rows = tuple((check.part, check.name, check.result, check.text) for check in checks)
    n_fix, n_open = (sum(check.result == one for check in checks) for one in ("fix", "not tried"))
    note = f"to fix: {n_fix}; not tried before that is done: {n_open}"
    heads = ("part", "check", "result", "found, or what to fix")
    show(Table("models", heads, rows, (note if n_fix else "everything passes",), texts=heads))
    return 1 if n_fix else 0
