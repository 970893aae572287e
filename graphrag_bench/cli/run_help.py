"""The help of `run`, `plan` and `ask`: groups with their choices, settings, examples."""

from __future__ import annotations

from collections.abc import Sequence

from graphrag_bench.cli.help_lines import entry
from graphrag_bench.config.choices import GROUPS, names
from graphrag_bench.config.settings import explained

HELP = """usage: graphrag-bench {command} [-m] [GROUP=NAME ...] [SETTING=VALUE ...]

groups (choose by name; with -m a comma or glob(*) sweeps)
{groups}

  GROUP=./FILE.yaml            a file of your own in the place of a name; names are looked for in
                               ./configs/GROUP, in the configs of plugins=[PACKAGE] and in
                               --config-dir FOLDER too

settings (by path; -m sweeps them too)
{settings}

  method.NAME=VALUE            a parameter of the method: {parameters}
  method.retrieve.0.NAME=VALUE a setting of one step; `graphrag-bench plan` shows the steps
  llm.NAME=VALUE               a setting of the model, e.g. llm.model_path=weights.gguf
"""


EXAMPLES = {
    "run": """
examples
  graphrag-bench run dataset=sample method=hipporag limit=5
  graphrag-bench run -m dataset=sample method=bm25,vanilla,hipporag answer=off
  graphrag-bench run dataset=jsonl dataset.root=FOLDER method=raptor llm=openai_compatible \\
    llm.model=NAME llm.base_url=ADDRESS

sweeps (-m): cells share what is the same; a failed one is listed, and the same command retries it
  graphrag-bench run -m method=hipporag method.damping=0.1,0.5 answer=off \\
    split=dev objective=evidence_recall@5     names the best cell, and the command to report it by
  graphrag-bench run -m hydra/sweeper=optuna hydra.sweeper.n_trials=30 method=hipporag \\
    'method.damping=interval(0.1,0.9)'        Optuna chooses the cells, on split=dev alone
  one cell at a time, for job arrays: graphrag-bench sweep --help
""",
    "plan": """
examples
  graphrag-bench plan dataset=sample method=hipporag
  graphrag-bench plan -m dataset=sample method=hipporag method.damping=0.1,0.5 answer=off
    every cell of the sweep, how many builds and calls that comes to, and what sharing saves
""",
    "ask": """
last comes the "question"

  method=A,B  asks several methods; --json prints all rows, for a program
What was asked is kept in HOME/runs/.asked with its artifacts: as long as nothing changed it is
answered again at once, with no model; cache.mode=refresh asks anew.

examples
  graphrag-bench ask dataset=sample method=hipporag "Who taught the discoverer of the neutron?"
  graphrag-bench ask dataset=sample method=bm25,hipporag --json "With whom did ...?"
  graphrag-bench ask dataset=folder dataset.root=FOLDER method=vanilla "What is ...?"
""",
}


_UNREAD = ("limit", "split", "dev_share", "objective", "answer", "match_tokens", "repeats", "frame",
           "trace", "workers", "shard", "evaluation", "graph.scope", "llm_judge")  # fmt: skip
"""What is read of the questions of a data set alone: `ask` has one question of its own."""


def _is_in(name: str, listed: Sequence[str]) -> bool:
    return any(name == one or name.startswith(f"{one}.") for one in listed)


def help_text(command: str) -> str:
    """The help of a command that takes settings."""
    unread = _UNREAD if command == "ask" else ()
    groups = [
        entry(f"  {group}=", ", ".join(names(group)), 15) for group in GROUPS if group not in unread
    ]
    rows = [
        entry(f"  {name}={default}", meaning, 37)
        for name, default, meaning in explained()
        if name not in GROUPS and not _is_in(name, unread)
    ]
    text = (HELP.replace("[-m] ", "") if command == "ask" else HELP) + EXAMPLES[command]
    return text.format(
        command=command,
        groups="\n".join(groups),
        settings="\n".join(rows),
        parameters="top_k, damping, ...",
    )
