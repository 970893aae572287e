"""The fake server, and how these tests write prompts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from fake_openai import FakeOpenAI, running

from graphrag_bench.models.llm import Chat
from graphrag_bench.prompts import Message


@pytest.fixture(scope="session")
def fake() -> Iterator[FakeOpenAI]:
    with running() as server:
        yield server


@pytest.fixture
def chat() -> Callable[[str], Chat]:
    return lambda text: (Message("user", text),)
