"""`python -m lessons N --trace`: Enter by Enter, back, a prompt on the values, and the way out."""

from __future__ import annotations

import builtins
import shutil
from pathlib import Path

import numpy as np
import pytest

from scratch_embed import Tensor
from scratch_embed.functional import lookup
from scratch_embed.lesson.record import Record, recording
from scratch_embed.lesson.walk import cli
from scratch_embed.lesson.walk.cells import load
from scratch_embed.lesson.walk.runner import run
from scratch_embed.lesson.walk.tracer import NotYet, Walk, show_trace
from scratch_embed.trace import trace

LESSON = """\
# %% [markdown]
# # 3. Two uses
# %%
import numpy as np
from scratch_embed import Tensor
from scratch_embed.lesson import begin, compare, show_trace
begin()
# %%
first = Tensor(1.0, requires_grad=True, name="first")
show_trace(first * first)
a = Tensor(2.0, requires_grad=True, name="a")
b = a * a
show_trace(b * a, b=b)
a.data[...] = 50.0
compare("three", hand=1.0 + 2.0, ours=3.0)
"""


@pytest.fixture
def lessons(tmp_path: Path) -> Path:
    folder = tmp_path / "lessons"
    folder.mkdir()
    (folder / "ch03_two_uses.py").write_text(LESSON, encoding="utf-8")
    (folder / "ch04_none.py").write_text("# %%\nx = 1\n", encoding="utf-8")
    (folder / "ch05_breaks.py").write_text("# %%\n1 / 0\n", encoding="utf-8")
    return folder


def walk_with(monkeypatch, *typed: str):
    """The next inputs; after them, the end of input."""
    keys = iter(typed)

    def read(prompt: str = "") -> str:
        try:
            return next(keys)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr(builtins, "input", read)
    return keys


def product() -> Walk:
    a = Tensor(2.0, requires_grad=True, name="a")
    b = a * a
    return Walk(trace(b * a, b=b))


def test_enter_walks_from_the_plan_to_the_end(lessons, monkeypatch, capsys):
    left = walk_with(monkeypatch, "", "", "", "", "", "never read")
    assert cli.main(lessons, ["3", "--trace"]) == 0
    out = capsys.readouterr().out
    heads = [line for line in out.splitlines() if line.startswith("-- ")]
    assert [head.split(":")[0].strip("- ") for head in heads[:-1]] == [
        "the tape of loss",
        "forward 1 of 2",
        "forward 2 of 2",
        "backward 1 of 2",
        "backward 2 of 2",
    ]
    assert "da = 12, sum of 3 parts so far" in out and "da = 12, the sum of 3 parts" in out
    assert "50" not in out  # the table was changed after the trace was taken
    assert list(left) == ["never read"]


def test_back_goes_back_and_a_number_jumps(monkeypatch, capsys):
    walk = product()
    walk_with(monkeypatch, "", "b", "b", "4", "9", "x", "?", "q")
    walk.go()
    out = capsys.readouterr().out
    shown = [line.split(":")[0].strip("- ") for line in out.splitlines() if line.startswith("--")]
    assert shown == ["the tape of loss", "forward 1 of 2", "the tape of loss", "backward 2 of 2",
                     "what backward() adds to .grad"]  # fmt: skip
    assert "There are steps 0 to 4; this is step 0." in out
    assert "There are steps 0 to 4; this is step 4." in out
    assert "'x' does nothing here." in out and "the step before" in out


def test_the_prompt_knows_what_is_known_and_no_more(monkeypatch, capsys):
    walk = product()
    first = ["3", "p", "print(float(a + b), float(db))", "da", "values['loss']", "exit()"]
    then = ["", "p", "float(da)", "exit()", "b", "b", "p", "db", "loss", "exit()", "q"]
    walk_with(monkeypatch, *first, *then)
    walk.go()
    out = capsys.readouterr().out
    assert "6.0 2.0" in out and "array(8.)" in out and "\n12.0\n" in out
    assert "db is not yet computed at this step" in out
    assert out.count("Back at step") == 3
    assert isinstance(walk.names()["db"], NotYet) and not isinstance(walk.names()["loss"], NotYet)
    walk.at = 1
    assert isinstance(walk.names()["loss"], NotYet)


def test_names_that_python_cannot_spell_are_in_the_dictionaries():
    table = Tensor(np.eye(3), requires_grad=True, name="E")
    walk = Walk(trace((lookup(table, [1, 2]) @ table.T).sum()))
    walk.at = len(walk.trace)
    names = walk.names()
    assert "E.T" not in names and names["values"]["E.T"].shape == (3, 3)
    assert np.array_equal(names["gradients"]["E"], names["dE"])


def test_the_end_of_input_quits(monkeypatch, capsys):
    walk_with(monkeypatch)
    product().go()
    assert "the tape of loss" in capsys.readouterr().out


def test_ctrl_c_stays(monkeypatch, capsys):
    typed = iter([KeyboardInterrupt, "q"])

    def read(prompt: str = "") -> str:
        if (key := next(typed)) is KeyboardInterrupt:
            raise KeyboardInterrupt
        return key

    monkeypatch.setattr(builtins, "input", read)
    product().go()
    assert "q quits." in capsys.readouterr().out


def test_a_lesson_without_a_trace_says_so(lessons, capsys):
    assert cli.main(lessons, ["4", "--trace"]) == 1
    assert "shows no trace" in capsys.readouterr().out
    assert cli.main(lessons, ["5", "--trace"]) == 1
    told = capsys.readouterr()
    assert "stopped before it showed a trace" in told.out and "ZeroDivisionError" in told.err


def test_the_command_line_takes_one_lesson_and_one_way_to_walk(lessons, capsys):
    for wrong in (["3", "4", "--trace"], ["all", "--trace"], ["3", "--trace", "--step"],
                  ["3", "--trace", "--quiet"]):  # fmt: skip
        assert cli.main(lessons, wrong) == 2
        assert "--trace" in capsys.readouterr().err


def test_lesson_11_shows_wrong_orders_and_a_trace_to_walk(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "lessons"
    folder.mkdir()
    source = Path(__file__).parents[3] / "lessons" / "ch11_backward_order.py"
    shutil.copy(source, folder)
    monkeypatch.setenv("COLUMNS", "80")
    record = run(load(folder / source.name))
    out = capsys.readouterr().out
    assert record.passed and record.trace.leaves == ["U", "W"]
    assert "dx  [4]   [6]    [2]   [4]     <- eager, once differ" in out
    assert "8,191 parts in all. The tape: 24 parts." in out and "Python stops it" in out
    assert "dog  [2.9]    [2.9]    [3.48]   [0.58]   [2.9]" in out
    assert [path.name for path, _ in record.figures] == ["ch11_one_of_two_parts.png"]


def test_show_trace_prints_a_line_and_the_last_one_counts(capsys):
    a = Tensor(2.0, requires_grad=True, name="a")
    with recording(Record()) as record:
        show_trace(a * a)
        last = show_trace(a * a * a)
    assert record.trace is last and last.gradients["a"] == 12.0
    assert "loss: 2 steps forward, 2 back" in capsys.readouterr().out
