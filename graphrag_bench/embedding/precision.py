"""Number formats, GPUs and threads of torch on this machine."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Literal

Device = Literal["auto", "cpu", "cuda", "mps"]
Precision = Literal["auto", "float32", "bfloat16"]
NumberFormat = Literal["float32", "bfloat16"]
_INSTRUCTIONS = re.compile(r"^flags.*\b(avx512_bf16|amx_bf16)\b", re.MULTILINE)


def number_format(precision: Precision, device: Device) -> NumberFormat:
    """Return the number format of matrix products. `auto` is bfloat16 if the hardware has it."""
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
def has_cuda() -> bool:
    """Return whether torch can use an NVIDIA GPU. It cannot if CUDA_VISIBLE_DEVICES is empty."""
    if not _is_cuda("auto"):
        return False
    import torch

    return bool(torch.cuda.is_available())


@lru_cache
def _on_processor() -> bool:
    file = Path("/proc/cpuinfo")
    return file.is_file() and _INSTRUCTIONS.search(file.read_text(encoding="utf-8")) is not None


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch with a single thread in a `with` block, so that sums are reproducible."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
