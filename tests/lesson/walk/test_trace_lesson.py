"""`python -m lessons N --trace`: every backward of a lesson can be walked."""

from __future__ import annotations

import builtins
import shutil
from pathlib import Path

import pytest

from scratch_embed.lesson.walk import cli
from scratch_embed.lesson.walk.cells import load
from scratch_embed.lesson.walk.runner import run
from scratch_embed.lesson.walk.tracer import watching_backward
from scratch_embed.tensor.tape import Variable

LESSON = """\
# %% [markdown]
# # 3. Two uses
# %%
import numpy as np
from scratch_embed import Tensor
from scratch_embed.lesson import begin, compare
begin()
# %%
a = Tensor(2.0, requires_grad=True, name="a")
b = a * a
(b * a).backward()
a.data[...] = 50.0
compare("three", hand=1.0 + 2.0, ours=3.0)
"""
SEVERAL = (
    LESSON
    + """\
# %%
def own(c):
    square = c * c
    square.backward()
for _ in range(3):
    own(Tensor(3.0, requires_grad=True))
"""
)


@pytest.fixture
def lessons(tmp_path: Path) -> Path:
    folder = tmp_path / "lessons"
    folder.mkdir()
    (folder / "ch03_two_uses.py").write_text(LESSON, encoding="utf-8")
    (folder / "ch04_none.py").write_text("# %%\nx = 1\n", encoding="utf-8")
    (folder / "ch05_breaks.py").write_text("# %%\n1 / 0\n", encoding="utf-8")
    (folder / "ch06_several.py").write_text(SEVERAL, encoding="utf-8")
    return folder


def typing(monkeypatch, *typed: str) -> None:
    keys = iter([*typed, *["q"] * 5])
    monkeypatch.setattr(builtins, "input", lambda prompt="": next(keys))


def test_a_lesson_is_walked_and_does_nothing_for_it(lessons, monkeypatch, capsys):
    typing(monkeypatch, *[""] * 5)
    before = Variable.backward
    assert cli.main(lessons, ["3", "--trace"]) == 0
    out = capsys.readouterr().out
    assert "forward 1 of 2: b = mul(a, a)" in out
    assert "da = 12, sum of 3 parts so far" in out
    assert "50" not in out  # the table was changed after the backward
    assert Variable.backward is before


def test_several_are_listed_a_line_each_and_one_is_chosen(lessons, monkeypatch, capsys):
    typing(monkeypatch, "7", "2", "1")
    assert cli.main(lessons, ["6", "--trace"]) == 0
    out = capsys.readouterr().out
    assert "1  line 11  loss = mul(b, a), 2 forward, 2 back" in out and "There are 1 to 2." in out
    assert "2  line 17  square = mul(c, c), 1 forward, 1 back" in out
    assert "forward 1 of 1: square = mul(c, c)" in out and out.count("  line ") == 2


def test_a_lesson_without_a_tape_says_so(lessons, capsys):
    assert cli.main(lessons, ["4", "--trace"]) == 1
    assert "never called backward()" in capsys.readouterr().out
    assert cli.main(lessons, ["5", "--trace"]) == 1
    told = capsys.readouterr()
    assert "stopped before it called" in told.out and "ZeroDivisionError" in told.err


def test_the_command_line_takes_one_lesson_and_one_way_to_walk(lessons, capsys):
    for wrong in (["3", "4", "--trace"], ["all", "--trace"], ["3", "--trace", "--step"],
                  ["3", "--trace", "--quiet"]):  # fmt: skip
        assert cli.main(lessons, wrong) == 2
        assert "--trace" in capsys.readouterr().err


TRAINED = """\
# %%
import numpy as np
from scratch_embed import SGD
from scratch_embed.models import NextToken, train
model = NextToken(5, 2)
before = model.embed.weight.numpy().copy()
train(model, np.arange(5), SGD(model.parameters(), lr=0.1), 2, 3)
assert not np.array_equal(model.embed.weight.numpy(), before)
"""


def test_a_step_of_a_training_is_walked_though_it_would_keep_no_more_than_it_needs(tmp_path):
    path = tmp_path / "ch07_trained.py"
    path.write_text(TRAINED, encoding="utf-8")
    with watching_backward(path) as found:
        record = run(load(path))
    assert record.passed, record.failures
    steps = [step.name for seen in found.values() for step in seen.trace.forward]
    assert steps == ["lookup_1", "U.T", "logits", "loss"]


def test_lesson_11_shows_wrong_orders_and_a_trace_to_walk(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "lessons"
    folder.mkdir()
    source = Path(__file__).parents[3] / "lessons" / "ch11_backward_order.py"
    shutil.copy(source, folder)
    monkeypatch.setenv("COLUMNS", "80")
    with watching_backward((folder / source.name).resolve()) as found:
        record = run(load(folder / source.name))
    out = capsys.readouterr().out
    assert record.passed and [s.trace.leaves for s in found.values()] == [["U", "W"]]
    assert "dx  [4]   [6]    [2]   [4]     <- eager, once differ" in out
    assert "8,190 parts in all. The tape: 24 parts." in out and "Python stops it" in out
    assert "dog  [2.9]    [2.9]    [3.48]   [0.58]   [2.9]" in out
    assert [path.name for path, _ in record.figures] == ["ch11_one_of_two_parts.png"]
