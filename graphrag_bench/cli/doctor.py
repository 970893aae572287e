r"""Check the models of a run with a few small real calls.

A chat with a long prompt and a JSON reply of each language model, one embedding, one sentence
tagged. Writes nothing; a key is never printed.

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
from graphrag_bench.report.rendering import Table, show_tables
from graphrag_bench.run.model_check import examine

_MODELS = ("llm", "llm_build", "embedder")
_SETTINGS = (*_MODELS, "llm_judge", "nlp", "profile", "paths", "plugins", "experiment")


def declare(parser: Parser) -> None:
    parser.takes("[MODEL=NAME ...] [SETTING=VALUE ...]")
    parser.word("words", "WORD", "a model, or a setting of a run", "*")
    parser.rows("models", [(f"{group}=", ", ".join(names(group))) for group in _MODELS])
    parser.json()


def main(options: Namespace) -> int:
    refuse_but("doctor", options.words, _SETTINGS)
    checks = examine(check_settings(composed(options.words)))
    results = {True: "pass", False: "fix"}
    rows = tuple((check.part, check.name, results[check.passed], check.text) for check in checks)
    n_fix = sum(not check.passed for check in checks)
    note = f"to fix: {n_fix}" if n_fix else "everything passes"
    heads = ("model", "check", "result", "reply, or what to fix")
    show_tables([Table("models", heads, rows, (note,), texts=heads)], as_json=options.json)
    return 1 if n_fix else 0
