r"""Test the models of a run with a few small calls.

Each language model gets a long prompt and a request for JSON. The embedder embeds a text, and the
tagger tags a sentence. Nothing is stored, and API keys are not printed.

examples
  graphrag-bench doctor                            the default models
  graphrag-bench doctor llm=openai_compatible llm.model=qwen3:8b \
      llm.base_url=http://localhost:11434/v1 llm.api_key_env=null

exit code: 0 if every check passes, 1 if a check fails, 2 for wrong settings
"""

from argparse import Namespace

from graphrag_bench.cli.parsing import Parser, refuse_other_settings
from graphrag_bench.config.compose import compose_settings
from graphrag_bench.config.settings import check_settings
from graphrag_bench.config.sources import names
from graphrag_bench.report.rendering import Table, show_tables
from graphrag_bench.run.model_check import check_models

_MODELS = ("llm", "llm_build", "embedder")
_SETTINGS = (*_MODELS, "llm_judge", "nlp", "profile", "paths", "plugins", "experiment")


def declare(parser: Parser) -> None:
    parser.set_usage("[MODEL=NAME ...] [SETTING=VALUE ...]")
    parser.add_word("words", "WORD", "a model or a setting of a run", "*")
    choices = [(f"{one}=", ", ".join(names(one)) or "the choices of llm=") for one in _MODELS]
    parser.add_section("models", choices)
    parser.add_json()


def main(options: Namespace) -> int:
    refuse_other_settings("doctor", options.words, _SETTINGS)
    checks = check_models(check_settings(compose_settings(options.words)))
    rows = tuple((one.part, one.name, "pass" if one.passed else "fix", one.text) for one in checks)
    n_fix = sum(not check.passed for check in checks)
    note = f"failed: {n_fix}" if n_fix else "all checks pass"
    heads = ("model", "check", "result", "reply, or what to fix")
    show_tables([Table("models", heads, rows, (note,), texts=heads)], as_json=options.json)
    return 1 if n_fix else 0
