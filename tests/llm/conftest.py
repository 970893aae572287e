import pytest

from graphrag_bench.prompts import Message


@pytest.fixture
def chat():
    """Return a function that makes a prompt of one message."""
    return lambda text: (Message("user", text),)
