"""How a judge marks answers whose mark is known: a line for each, and the share marked rightly.

    python scripts/check_judge.py llm@llm_judge=openai_compatible llm_judge.model=NAME \
        llm_judge.base_url=http://localhost:11434/v1 llm_judge.api_key_env=null

One call for each answer, and one more where the reply cannot be read; settings as of
`graphrag-bench judge`.
"""

import sys
from collections.abc import Sequence

from graphrag_bench.config.compose import composed
from graphrag_bench.config.settings import check_settings
from graphrag_bench.data.readers import read_dataset
from graphrag_bench.judging.answers import MEASURES
from graphrag_bench.judging.measures import AnswerToJudge, JudgeModels, judge
from graphrag_bench.run.models import Models

FOUNDER = "Who founded the observatory at Tarn?", ("Ilse Brandt",)
KNOWN: Sequence[tuple[str, str, tuple[str, ...], str, float]] = (
    ("the name alone", *FOUNDER, "Ilse Brandt", 1.0),
    ("in a sentence", *FOUNDER,
     "According to the passages, the observatory at Tarn was founded by Ilse Brandt, who had "
     "studied in Orm.", 1.0),
    ("beside another that is ruled out", *FOUNDER,
     "Karl Vossen paid for the building, but it was Ilse Brandt who founded the observatory.", 1.0),
    ("in other words", "When was the bridge opened?", ("1874-05-03",), "On the 3rd of May 1874.",
     1.0),
    ("no, with the reason", "Are both operas by the same composer?", ("no",),
     "No: the first is by Nele Arndt, the second by Otto Prem.", 1.0),
    ("all of a list", "Which rivers meet at Orm?", ("the Arn", "the Lete"),
     "The Arn and the Lete meet there.", 1.0),
    ("another name", *FOUNDER, "Karl Vossen", 0.0),
    ("every name of the passage", *FOUNDER,
     "Tarn, Ilse Brandt, Orm, Karl Vossen, the Arn, Nele Arndt, Otto Prem", 0.0),
    ("three candidates", *FOUNDER, "- Ilse Brandt\n- Karl Vossen\n- Otto Prem", 0.0),
    ("one or the other", *FOUNDER, "It was either Ilse Brandt or Karl Vossen.", 0.0),
    ("a refusal", *FOUNDER, "The passages do not say who founded the observatory.", 0.0),
    ("a refusal that names it", *FOUNDER,
     "The passages mention Ilse Brandt and Karl Vossen, but not who founded the observatory.", 0.0),
    ("one of two", "Which rivers meet at Orm?", ("the Arn", "the Lete"), "The Arn.", 0.0),
)  # fmt: skip
"""What it is, question, gold answers, answer, and the mark that it ought to have."""
_LISTED = "Which rivers meet at Orm?"


def main(words: Sequence[str]) -> int:
    """Mark them all, one after the other; 0."""
    settings = check_settings(composed(words))
    models = Models(settings, read_dataset("toy"))
    judges = JudgeModels(models.llm_judge, lambda: models.embedder)
    right = 0
    for what, question, golds, answer, wanted in KNOWN:
        case = AnswerToJudge(what, question, answer, golds, listed=question == _LISTED)
        (mark,) = judge(MEASURES["judged_correctness"].metric, judges, [case])
        right += mark.value == wanted
        text = f"missing ({mark.missing})" if mark.value is None else f"{mark.value:.0f}"
        word = "right" if mark.value == wanted else "WRONG"
        sys.stdout.write(f"{word}  {text}  {what}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{right} of {len(KNOWN)} marked rightly by {models.identity('llm_judge')}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
