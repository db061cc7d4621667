"""What a step frees stays at hand: counted in pages that the system had to hand out."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

PAGES = """
import resource
import numpy as np
from scratch_embed.training.memory import keep_freed_memory

def pages():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        arrays = [np.ones(1 << 18, np.float32) for _ in range(30)]
        del arrays
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

plain = pages()
keep_freed_memory()
pages()
print(plain, pages())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of the C library of Linux")
def test_a_step_finds_the_memory_of_the_one_before():
    done = subprocess.run(
        [sys.executable, "-c", PAGES], check=True, capture_output=True, encoding="utf-8"
    )
    plain, kept = map(int, done.stdout.split())
    assert plain > 10_000 and kept < plain / 10
