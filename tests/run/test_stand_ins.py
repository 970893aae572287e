"""A paper's row is planned with the printed sizes of its data set before the data are fetched."""

from pathlib import Path

import pytest

from graphrag_bench.config.compose import compose_settings
from graphrag_bench.errors import UserError
from graphrag_bench.run.command import Command
from graphrag_bench.run.estimates import SIZES, estimates, stand_in
from graphrag_bench.text import count_tokens

ROW = "zhou2025.table5.VanillaRAG"


def test_a_row_is_planned_over_the_printed_documents_tokens_and_questions(tmp_path: Path) -> None:
    """Zhou et al. 2025, Table 4: 609 documents, 1,426,396 tokens, 2,556 questions."""
    values = compose_settings([f"row={ROW}", "dataset=multihoprag", f"paths.home={tmp_path}"])
    with pytest.raises(UserError, match="multihoprag"):
        Command().experiment(values, swept=False)  # only a plan takes them
    experiment = Command(sized=True).experiment(values, swept=False)
    data = experiment.dataset
    assert data.name == f"multihoprag{SIZES}"
    assert (len(data.documents), len(data.questions)) == (609, 2556)
    assert 609 * count_tokens(data.documents[0].text) == pytest.approx(1_426_396, rel=0.01)
    (answer,) = estimates(experiment, 2556, 2556)
    assert answer.expected.calls == 2556
    assert 4_000 < answer.expected.prompt_tokens / 2556 < 6_000  # four chunks of 1,200 tokens


def test_a_set_on_disk_is_read_and_one_without_printed_sizes_refused(tmp_path: Path) -> None:
    paths = {"paths": {"home": str(tmp_path)}}
    assert stand_in({"row": ROW, "dataset": {"name": "toy"}, **paths}) is None
    with pytest.raises(UserError, match="squality"):
        stand_in({"row": "pathrag.table4.PathRAG", "dataset": {"name": "squality"}, **paths})
