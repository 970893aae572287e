import pytest

from graphrag_bench.prompts import Message


@pytest.fixture
def chat():
    return lambda text: (Message("user", text),)
