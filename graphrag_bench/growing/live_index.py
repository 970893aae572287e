"""A live index: documents come, change and go, and questions are asked meanwhile."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from graphrag_bench.analysis.explaining.answer import Answered
from graphrag_bench.analysis.explaining.own_question import (
    AnsweringFailed,
    answered_with,
    question_of,
)
from graphrag_bench.data.card import load_card
from graphrag_bench.data.dataset import Dataset, Document
from graphrag_bench.data.history import Changes, History, Version as Built, changes
from graphrag_bench.errors import UserError, did_you_mean, shown_plainly
from graphrag_bench.experiment.experiment import Experiment
from graphrag_bench.experiment.incomplete import building_store
from graphrag_bench.growing.documents import as_document
from graphrag_bench.growing.sweeping import Uses, drop_artifacts
from graphrag_bench.growing.versions import Version, Versions
from graphrag_bench.models.ledger import read_ledger
from graphrag_bench.offline.store import NotBuilt
from graphrag_bench.progress import Progress
from graphrag_bench.text import short
