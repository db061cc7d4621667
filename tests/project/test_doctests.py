"""Every worked example in a docstring of the package gives the numbers that it shows."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(
    path for path in (ROOT / "scratch_embed").rglob("*.py") if path.stem not in ("__main__",)
)


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = [module_of(path) for path in FILES if ">>> " in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    module = importlib.import_module(name)
    result = doctest.testmod(module, extraglobs={"np": np})
    assert result.attempted > 0, f"{name} holds examples that doctest does not find"
    assert result.failed == 0


def test_there_are_examples():
    assert len(MODULES) > 5
