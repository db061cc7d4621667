"""python -m tests.soak.batch NAME SEED: one turn, and how many cases and defects it saw."""

from __future__ import annotations

import importlib
import re
import sys
import traceback
from pathlib import Path

import numpy as np

PROPERTIES = Path(__file__).parent.parent / "properties"
MODULES = {
    path.stem.removeprefix("test_property_"): f"tests.properties.{path.stem}"
    for path in sorted(PROPERTIES.glob("test_*.py"))
}
HOSTILE = ["threads", "forks", "interrupts", "kills", "full disk", "cache", "compiling killed"]
HOSTILE += ["trainings killed"]
NAMES = [*MODULES, *HOSTILE]
CLOSING = re.compile(r"^(\d+) cases, (\d+) defects$", re.MULTILINE)


def main(name: str, seed: int) -> None:
    cases, defects = properties(MODULES[name], seed) if name in MODULES else hostile(name, seed)
    print(f"\n{cases} cases, {defects} defects")


def properties(module: str, seed: int) -> tuple[int, int]:
    """Every property of a module, on examples that follow from the seed."""
    import hypothesis

    cases = defects = 0

    def counted(test):
        def run(*arguments, **named):
            nonlocal cases
            cases += 1
            return test(*arguments, **named)

        return run

    for name, test in list(vars(importlib.import_module(module)).items()):
        if not name.startswith("test_"):
            continue
        test.hypothesis.inner_test = counted(test.hypothesis.inner_test)
        try:
            hypothesis.seed(seed)(test)()
        except Exception:  # whatever it is, it is a defect, and the others are still worth a try
            traceback.print_exc(file=sys.stdout)
            defects += 1
    return cases, defects


def hostile(name: str, seed: int) -> tuple[int, int]:
    """Something of `hostile.py`, which stops at its first defect."""
    from tests.soak.hostile import WAYS

    cases = 0
    try:
        for _ in WAYS[name](np.random.default_rng(seed)):
            cases += 1
    except Exception:
        traceback.print_exc(file=sys.stdout)
        return cases, 1
    return cases, 0


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
