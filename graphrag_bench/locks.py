"""Lock files that work on network drives, unlike the locks of the operating system."""

import fcntl
import time
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryFile

from filelock import AcquireReturnProxy, SoftFileLease, Timeout

LEASE_SECONDS = 300.0
"""Seconds without a heartbeat after which another machine may acquire the lock. The time is long,
because a compiled function such as Leiden can stop the heartbeat thread."""
_HEARTBEAT_SECONDS = 15.0
_SECONDS_EMPTY = 600.0
"""Age in seconds at which empty lock files, left by flock or killed processes, are removed."""
_LOCAL = frozenset(
    {"apfs", "bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "hfs", "jfs", "overlay", "ramfs"}
    | {"tmpfs", "xfs", "zfs"}
)
_MOUNTS = Path("/proc/self/mounts")


def lock(path: Path, seconds: float = -1) -> AcquireReturnProxy[SoftFileLease]:
    """Hold a lock file until the end of a `with` block. Create its folder if necessary.

    Raises filelock.Timeout if the lock is not free after `seconds` (-1 means no limit).
    The lock of a killed process is free at once on the machine of that process, and on others after
    `LEASE_SECONDS` without a heartbeat.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        if (state := path.stat()).st_size == 0 and time.time() - state.st_mtime > _SECONDS_EMPTY:
            path.unlink()
    lease = lease_of(path)
    if lease.is_locked:
        raise Timeout(lease.lock_file)  # this thread holds the lock already
    return lease.acquire(timeout=seconds)


def lease_of(path: Path) -> SoftFileLease:
    """Return this process's lease of a lock file. It reports the owner and the age of the lock."""
    return _lease(str(path.resolve()), LEASE_SECONDS)


@lru_cache(maxsize=4096)
def _lease(path: str, seconds: float) -> SoftFileLease:
    beat = min(_HEARTBEAT_SECONDS, seconds / 3)
    return SoftFileLease(path, lease_duration=seconds, heartbeat_interval=beat)


def is_network_drive(folder: Path) -> bool:
    """Return whether a folder refuses system locks or is not on a known local file system."""
    try:
        with TemporaryFile(dir=folder) as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except PermissionError:
        pass
    except OSError:
        return True
    mounts = _MOUNTS.read_text("utf-8").splitlines() if _MOUNTS.is_file() else ()
    kinds = dict(line.split()[1:3] for line in mounts)
    place = folder.resolve()
    names = (str(one) for one in (place, *place.parents))
    return next((kinds[one] for one in names if one in kinds), "ext4") not in _LOCAL
