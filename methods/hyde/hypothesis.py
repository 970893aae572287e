"""HyDE's hypothetical passage: one that might answer the question."""

import re

from pydantic import PositiveInt

from graphrag_bench.contract import operator
from graphrag_bench.errors import UnreadableReply
from graphrag_bench.llm.chat import ChatModel, reply
from graphrag_bench.llm.structured import settled
from graphrag_bench.prompts import Prompt
from graphrag_bench.values import Query, Question

PROMPT = Prompt("methods:hyde/prompts/passage.j2")


@operator("question.hypothetical", calls=1, supplies={"question"})
def hypothetical(
    question: Question, *, llm: ChatModel, prompt: Prompt = PROMPT, max_tokens: PositiveInt = 160
) -> Query:
    """The passage that the model writes as an answer to the question, true or not.

    One that is cut at `max_tokens` is used as it is. An empty reply is replaced by the question and
    counted as a fallback. Raises CallFailed when the model gives no reply.
    Source: HyDE (Gao et al., ACL 2023), section 3.2.
    """
    passage = reply(llm, prompt.render({"question": question.text}), max_tokens=max_tokens).text
    if re.search(r"\w", passage):
        return Query((passage.strip(),))
    blank = UnreadableReply("hypothetical passage", passage)
    return Query((settled(llm, blank, question.text),))
