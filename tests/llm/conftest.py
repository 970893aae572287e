"""The fixture that writes prompts."""

from collections.abc import Callable

import pytest

from graphrag_bench.llm.calls import Chat
from graphrag_bench.prompts import Message


@pytest.fixture
def chat() -> Callable[[str], Chat]:
    return lambda text: (Message("user", text),)
