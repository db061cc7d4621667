"""The line to look at is the one that makes what is wrong, not the `def` above it."""

from __future__ import annotations

import pytest

from scratch_embed.lesson.exercises.guilty import guilty_line

NAMED = """\
def f(dout, ids):
    dE, dh = zeros(), 1
    dh = dout @ W
    dE[ids] += dout
    return dE, dh
"""
CASES = {
    "the first result": (NAMED, {"result": 0}, 4),
    "the second result": (NAMED, {"result": 1}, 3),
    "who knows which": (NAMED, {}, 5),
    "more results than there are": (NAMED, {"result": 7}, 5),
    "an argument that was changed": (
        "def f(x):\n    x *= 2\n    y = x\n    return y\n", {"variable": "x"}, 2),
    "handed to a call": ("def f(a):\n    out = []\n    out.append(a)\n    return out\n", {}, 3),
    "np.add.at": ("def f(d, i):\n    E = z()\n    np.add.at(E, i, d)\n    return E\n", {}, 3),
    "a print changes nothing": ("def f(x):\n    y = 2 * x\n    print(y)\n    return y\n", {}, 2),
    "in a loop": ("def f(d):\n    for n in d:\n        d[n] = 1\n    return d\n", {}, 3),
    "an expression": ("def f(x):\n    y = x\n    return (\n        y + 1\n    )\n", {}, 4),
    "nothing returned": ("def f(x):\n    y = x\n    y += 1\n", {}, 3),
    "what a function inside returns is not its own": (
        "def f(x):\n    def g():\n        return 0\n    y = g()\n    return y\n", {}, 4),
    "the last one of that name": ("def f(x):\n    return 1\n\ndef f(x):\n    return 2\n", {}, 5),
    "a pattern": (NAMED, {"pattern": "ids"}, 4),
    "a pattern that nothing is like": (NAMED, {"pattern": "zzz", "result": 1}, 3),
    "not there": ("def g(x):\n    return 1\n", {}, None),
    "cannot be read": ("def f(x:\n", {}, None),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_line(tmp_path, case):
    text, given, line = CASES[case]
    file = tmp_path / "answer.py"
    file.write_text(text, encoding="utf-8")
    assert guilty_line(file, "f", **given) == line
