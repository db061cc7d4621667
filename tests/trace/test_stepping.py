"""step(loss): a key a step, the arrows, into an operation, a prompt on the values, the way out."""

from __future__ import annotations

import builtins
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from scratch_embed import Tensor
from scratch_embed.functional import dropout, lookup
from scratch_embed.trace import step, trace
from scratch_embed.trace.stepping import NotYet, Walk

MODEL = """\
import numpy as np
from scratch_embed import Tensor
from scratch_embed.functional import cross_entropy, lookup, tanh
from scratch_embed.trace import step

rng = np.random.default_rng(0)
E = Tensor(rng.normal(size=(6, 3)), requires_grad=True)
W = Tensor(rng.normal(size=(3, 3)), requires_grad=True)
ids, targets = np.array([1, 2, 1]), np.array([2, 1, 0])
hidden = tanh(lookup(E, ids) @ W)
loss = cross_entropy(hidden @ E.T, targets)
step(loss)
"""


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


def heads(out: str) -> list[str]:
    return [line.split(":")[0].strip("- ") for line in out.splitlines() if line.startswith("-- ")]


def test_enter_walks_from_the_plan_to_the_end(monkeypatch, capsys):
    left = walk_with(monkeypatch, "", "", "", "", "", "never read")
    product().go()
    out = capsys.readouterr().out
    assert heads(out) == ["the tape of loss", "forward 1 of 2", "forward 2 of 2", "backward 1 of 2",
                          "backward 2 of 2", "what backward() adds to .grad"]  # fmt: skip
    assert "da = 12, sum of 3 parts so far" in out and "da = 12, the sum of 3 parts" in out
    assert list(left) == ["never read"]


def test_back_goes_back_and_a_number_jumps(monkeypatch, capsys):
    walk_with(monkeypatch, "", "b", "b", "4", "9", "x", "?", "q")
    product().go()
    out = capsys.readouterr().out
    assert heads(out) == ["the tape of loss", "forward 1 of 2", "the tape of loss",
                          "backward 2 of 2", "what backward() adds to .grad"]  # fmt: skip
    assert "There are steps 0 to 4; this is step 0." in out
    assert "There are steps 0 to 4; this is step 4." in out
    assert "x is no key here" in out and "go to a step" in out


def test_open_shows_the_local_derivatives_and_close_puts_them_away(monkeypatch, capsys):
    walk_with(monkeypatch, "3", "o", "c", "q")
    product().go()
    out = capsys.readouterr().out
    assert out.count("∂loss/∂b = a = 2") == 1 and heads(out).count("backward 1 of 2") == 3


def test_into_an_operation_shows_its_lines_one_an_enter(monkeypatch, capsys):
    E = Tensor(np.eye(3), requires_grad=True, name="E")
    walk = Walk(trace(lookup(E, [1, 1]).sum()))
    last = len(walk.trace)
    walk_with(monkeypatch, str(last), "i", *[""] * 4, "b", "u", "1", "i", "", "q")
    walk.go()
    out = capsys.readouterr().out
    backward = out[out.index("-- inside lookup, 0 of") :]
    assert "lookup_backward(dout, saved)" in backward and "dout (2, 3)" in backward
    shown = [line for line in backward.splitlines() if line.startswith("-- inside")]
    assert [line.split()[3] for line in shown[:6]] == ["0", "1", "2", "3", "4", "3"]
    assert "ids = saved.ids.reshape(-1)" in backward and "ids (2,)" in backward
    assert "lookup_forward(weight, ids" in backward


def test_what_would_draw_other_numbers_is_not_entered(monkeypatch, capsys):
    x = Tensor(np.ones(4), requires_grad=True)
    walk = Walk(trace(dropout(x, 0.5, np.random.default_rng(0)).sum()))
    walk_with(monkeypatch, "i", "1", "i", "q")
    walk.go()
    out = capsys.readouterr().out
    assert "dropout draws random numbers" in out and "Step 0 is the plan" in out


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
    assert "q quits" in capsys.readouterr().out


def test_without_a_terminal_the_whole_story_is_printed(capsys):
    a = Tensor(2.0, requires_grad=True)
    assert step(a * a) is None
    out = capsys.readouterr().out
    assert "mul(a, a)" in out and "da = 4, the sum of 2 parts" in out


def environment(**more: str) -> dict[str, str]:
    root = str(Path(__file__).parents[2])
    return {**os.environ, "PYTHONPATH": root, "NO_COLOR": "1", **more}


def test_a_learners_own_model_through_a_pipe(tmp_path):
    script = tmp_path / "own.py"
    script.write_text(MODEL, encoding="utf-8")
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False,
                         env=environment(COLUMNS="80"), stdin=subprocess.DEVNULL,
                         timeout=120)  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert "matmul(lookup_1, W)" in ran.stdout and "dE (6, 3), the sum of 2 parts" in ran.stdout
    assert "DIFFERS" not in ran.stdout and ran.stdout.count("agrees") == 6
    assert max(map(len, ran.stdout.splitlines())) <= 80


@pytest.mark.skipif(os.name == "nt", reason="a pseudo-terminal of Unix")
@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (60, 20), (120, 40)])
def test_a_learners_own_model_in_a_terminal(tmp_path, columns, rows):
    """Every screen fits; the arrows choose, i enters the operation, Enter walks to the end."""
    import pty
    import select
    import struct
    from fcntl import ioctl
    from termios import TIOCSWINSZ

    script = tmp_path / "own.py"
    script.write_text(MODEL, encoding="utf-8")
    ours, theirs = pty.openpty()
    ioctl(theirs, TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    clean = {k: v for k, v in environment(TERM="xterm").items() if k not in ("COLUMNS", "LINES")}
    child = subprocess.Popen([sys.executable, str(script)], stdin=theirs, stdout=theirs,
                             stderr=theirs, env=clean, close_fds=True)  # fmt: skip
    os.close(theirs)
    seen = ""

    def until(text: str) -> str:
        """Read on to this text; what came since the screen was last cleared."""
        nonlocal seen
        new = ""
        while text not in new:
            ready = select.select([ours], [], [], 60)[0]
            assert ready, f"{text!r} never came; the end of what did:\n{(seen + new)[-2000:]}"
            new += os.read(ours, 65536).decode("utf-8", "replace")
        seen += new
        return seen.rsplit("\x1b[H", 1)[-1]

    def screen(head: str) -> list[str]:
        until(head)
        lines = until("help") if "help" not in seen.rsplit(head, 1)[-1] else seen
        lines = lines.rsplit("\x1b[H", 1)[-1].replace("\r", "").splitlines()
        assert len(lines) <= rows and max(map(len, lines)) <= columns, lines
        return lines

    try:
        screen("the tape of loss")
        os.write(ours, b"10\n")
        told = screen("10/12")
        assert any(">" in line and "<" in line for line in told)
        os.write(ours, b"\x1b[B")
        assert screen("10/12") != told
        os.write(ours, b"i")
        assert any("tanh_backward(dout, saved)" in line for line in screen("inside tanh, 0"))
        os.write(ours, b"\n\n")
        assert any("return dout * (1 - out * out)" in line for line in screen("inside tanh, 2"))
        os.write(ours, b"uq")
        child.wait(60)
    finally:
        if child.poll() is None:
            child.kill()
        os.close(ours)
    assert child.returncode == 0, seen[-2000:]
