"""Profiles override a method's file, and settings of the user override profiles."""

from pathlib import Path

import pytest
import yaml

from graphrag_bench import api
from graphrag_bench.config.compose import compose_settings
from graphrag_bench.config.sources import method_file, with_profile
from graphrag_bench.errors import UserError

FILE = {
    "name": "mine",
    "damping": 0.5,
    "top_k": 4,
    "form": "triplets",
    "build": {"graph": "kg"},
    "profiles": {"zhou2025": {"damping": 0.1, "top_k": "unstated", "build.graph.synonymy": "add"}},
    "fidelity": {"build.extraction": "llm"},
    "pooled": {"form": "paths"},
}
PLAIN = {key: FILE[key] for key in ("name", "damping", "top_k", "form", "build")}


@pytest.mark.parametrize(
    ("profile", "fidelity", "pooling", "changed"),
    [
        ("zhou2025", "default", None,
         {"damping": 0.1, "build": {"graph": {"variant": "kg", "synonymy": "add"}}}),
        ("default", "paper", None, {"build": {"graph": "kg", "extraction": "llm"}}),
        ("default", "default", "rerank", {"form": "paths"}),
        ("default", "default", {"mode": "reselect"}, {"form": "paths"}),
        ("default", "default", {"mode": "off"}, {}),
    ],
)  # fmt: skip
def test_profiles_change_only_stated_values(
    profile: str, fidelity: str, pooling: object, changed: dict[str, object]
) -> None:
    assert with_profile(FILE, profile, fidelity, pooling) == {**PLAIN, **changed}
    assert FILE["build"] == {"graph": "kg"}


def test_profile_with_an_unknown_setting_is_refused() -> None:
    with pytest.raises(UserError, match=r"dampin'.*damping"):
        with_profile({**FILE, "profiles": {"upstream": {"dampin": 1}}}, "upstream", "default")


def test_profile_can_set_null() -> None:
    """`null` in a profile is None, not the text."""
    assert compose_settings(["method=pathcorag", "profile=paper"])["method"]["max_pairs"] is None


def test_chunking_overrides_that_of_the_profile(home: Path) -> None:
    chunks = {f"build.chunk_table{end}": value for end, value in
              (("", "separator"), (".size", 150), (".overlap", 0))}  # fmt: skip
    steps = method_file("bm25") | {"name": "mine", "profiles": {"upstream": chunks}}
    (home / "mine.yaml").write_text(yaml.safe_dump(steps))
    words = ["method=./mine.yaml", "dataset=toy", "profile=upstream"]
    own = {"variant": "separator", "size": 150, "overlap": 0}
    whole = compose_settings(words)
    assert whole["chunking"] == own
    assert "chunk_table" not in whole["method"]["build"]
    assert compose_settings([*words, "chunking.size=300"])["chunking"] == own | {"size": 300}
    assert compose_settings([*words, "chunking=token"])["chunking"] == {"variant": "token"}


def test_user_settings_override_the_profile() -> None:
    for name, source, setting, theirs, own in (
        ("hipporag", {"profile": "zhou2025"}, "damping", 0.1, 0.5),
        ("subgraphrag", {"pooling": "rerank"}, "form", "paths", "triplets"),
    ):
        words = [f"method={name}", *(f"{key}={value}" for key, value in source.items())]
        assert compose_settings(words)["method"][setting] == theirs
        assert compose_settings([*words, f"method.{setting}={own}"])["method"][setting] == own
        assert api.method(name, **source, **{setting: own}).method[setting] == own
