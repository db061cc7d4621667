"""The face of the package: what editors are told is what is loaded, and nothing is loaded early."""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import scratch_embed


def told_to_editors() -> dict[str, str]:
    """{name: module} of the imports that stand under `if TYPE_CHECKING:`."""
    module = ast.parse(Path(scratch_embed.__file__).read_text(encoding="utf-8"))
    (block,) = (n for n in module.body if isinstance(n, ast.If) and n.test.id == "TYPE_CHECKING")
    assert all(isinstance(line, ast.ImportFrom) for line in block.body)
    return {name.name: line.module for line in block.body for name in line.names}


def test_editors_know_every_name_and_where_it_comes_from():
    homes = {name: f"scratch_embed.{home}" for name, home in scratch_embed._HOMES.items()}
    assert told_to_editors() == homes
    assert sorted(scratch_embed.__all__) == sorted(homes)


@pytest.mark.parametrize("name", scratch_embed.__all__)
def test_a_name_is_what_its_home_calls_so(name):
    home = importlib.import_module(told_to_editors()[name])
    assert getattr(scratch_embed, name) is getattr(home, name)


def test_nothing_is_loaded_before_it_is_named():
    source = "import scratch_embed, sys; print([m for m in sys.modules if 'scratch_embed.' in m])"
    env = {**os.environ, "PYTHONPATH": str(Path(scratch_embed.__file__).parents[1])}
    command = [sys.executable, "-c", source]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    assert done.stdout.strip() == "[]"
