"""How torch computes: the number format of an embedder, and sums on one thread."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Literal

Device = Literal["auto", "cpu", "cuda", "mps"]
Precision = Literal["auto", "float32", "bfloat16"]
Resolved = Literal["float32", "bfloat16"]
_INSTRUCTIONS = frozenset({"avx512_bf16", "amx_bf16"})


def resolved(precision: Precision, device: Device) -> Resolved:
    """The format that `auto` means on this machine and device; any other name means itself.

    `auto` is bfloat16 where it is fast: on a GPU by NVIDIA that computes in it, and on an x86
    processor with AVX512-BF16 or AMX. It is float32 everywhere else.
    """
    if precision != "auto":
        return precision
    fast = _on_cuda() if _is_cuda(device) else device in ("auto", "cpu") and _on_processor()
    return "bfloat16" if fast else "float32"


def _is_cuda(device: Device) -> bool:
    return device == "cuda" or (device == "auto" and Path("/proc/driver/nvidia").exists())


@lru_cache
def _on_cuda() -> bool:
    try:
        import torch
    except ImportError:
        return False
    if not torch.cuda.is_available():
        return _on_processor()
    return bool(torch.cuda.is_bf16_supported(including_emulation=False))


@lru_cache
def _on_processor() -> bool:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    flags = next((line for line in lines if line.startswith("flags")), "")
    return not _INSTRUCTIONS.isdisjoint(flags.split())


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch on one thread, so that sums come in one order; as many as before afterwards."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
