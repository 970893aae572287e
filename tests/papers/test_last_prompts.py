"""The prompts of the papers' rows are those of tests/papers/prompts, which are reviewed by eye."""

from pathlib import Path

import last_prompts
import pytest

from graphrag_bench.config.plugins import load_plugins

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which every artifact is built once."""
    load_plugins()
    return tmp_path_factory.mktemp("prompts")


def test_there_is_a_file_for_every_method_of_every_table_and_none_beside() -> None:
    files = {*last_prompts.FOLDER.glob("*/*.txt")}
    assert files == {last_prompts.path(one.name) for one in last_prompts.sent()}


@pytest.mark.parametrize("one", last_prompts.sent(), ids=lambda one: one.name)
def test_the_last_prompt_of_a_row_is_the_one_of_its_file(
    one: last_prompts.Sent, shared: Path
) -> None:
    """Written anew by `last_prompts.write_all`."""
    stored = last_prompts.path(one.name).read_text(encoding="utf-8")
    assert last_prompts.shown(one, shared).splitlines() == stored.splitlines()
