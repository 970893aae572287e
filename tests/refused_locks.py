"""A process in which the kernel refuses what a network drive may refuse (seccomp, x86-64)."""

import ctypes
import errno
import platform
import struct
from typing import ClassVar

AVAILABLE = (platform.system(), platform.machine()) == ("Linux", "x86_64")
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_FCNTL, _FLOCK, _MMAP, _ERROR = 72, 73, 9, 0x50000
_PROGRAM = (  # operation, jumps if true and if false, value; arguments are at 16, 24, ...
    (_LOAD, 0, 0, 0),
    (_EQUAL, 0, 1, _FLOCK),
    (_RETURN, 0, 0, _ERROR | errno.ENOSYS),
    (_EQUAL, 0, 5, _FCNTL),
    (_LOAD, 0, 0, 24),
    (_EQUAL, 2, 0, 5),  # F_GETLK, F_SETLK, F_SETLKW
    (_EQUAL, 1, 0, 6),
    (_EQUAL, 0, 9, 7),
    (_RETURN, 0, 0, _ERROR | errno.ENOLCK),
    (_EQUAL, 0, 7, _MMAP),
    (_LOAD, 0, 0, 40),
    (_ANY_BIT, 0, 5, 1),  # MAP_SHARED
    (_LOAD, 0, 0, 32),
    (_ANY_BIT, 0, 3, 2),  # PROT_WRITE
    (_LOAD, 0, 0, 48),
    (_EQUAL, 1, 0, 0xFFFFFFFF),  # no file
    (_RETURN, 0, 0, _ERROR | errno.ENODEV),
    (_RETURN, 0, 0, 0x7FFF0000),
)


class _Filter(ctypes.Structure):
    _fields_: ClassVar = [("length", ctypes.c_ushort), ("program", ctypes.c_char_p)]


def refuse_locks() -> None:
    """Refuse flock, fcntl's locks and writable shared maps of files from now on."""
    text = b"".join(struct.pack("HBBI", *line) for line in _PROGRAM)
    program = _Filter(len(_PROGRAM), text)
    kernel = ctypes.CDLL(None)
    assert kernel.prctl(38, 1, 0, 0, 0) == kernel.prctl(22, 2, ctypes.byref(program)) == 0
