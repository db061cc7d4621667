"""On what was measured: processor, cores, caches, versions."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
from pathlib import Path

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


def describe() -> dict:
    """What the README needs to quote beside a figure."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "processor": _processor(),
        "cores": _cores(),
        "last-level cache bytes": last_cache(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{name: _version(name) for name in ("numpy", "numba", "scipy", "torch", "gensim")},
        "tokenizers": _version("tokenizers"),
        "load at the start": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }


def last_cache() -> int | None:
    """Bytes of the largest cache, where the system tells."""
    sizes = [path.read_text(encoding="ascii").strip() for path in CACHES.glob("index*/size")]
    units = {"K": 1 << 10, "M": 1 << 20}
    return max((int(size[:-1]) * units[size[-1]] for size in sizes if size), default=None)


def _cores() -> int | None:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
