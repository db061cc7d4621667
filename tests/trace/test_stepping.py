"""step(loss): a key a step, the arrows, into an operation, a prompt on the values, the way out."""

from __future__ import annotations

import builtins
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from scratch_embed import Tensor, differentiable
from scratch_embed.functional import cross_entropy, dropout, lookup, tanh
from scratch_embed.look import keys
from scratch_embed.trace import Trace, step, trace
from scratch_embed.trace.stepping import NotYet, Walk
from tests.screens import Frame, Person, Terminal

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


def product() -> Trace:
    a = Tensor(2.0, requires_grad=True, name="a")
    b = a * a
    return trace(b * a, b=b)


def walked(walk: Trace, *pressed: str, then: str = "quit") -> list[Frame]:
    """The screens that a person sees who presses these keys; each of them fits its window."""
    left = list(pressed)
    person = Person(lambda frame: left.pop(0) if left else then)
    Walk(walk, person).go()
    return person.frames


def heads(frames: list[Frame]) -> list[str]:
    return [frame.head.partition(":")[0] for frame in frames]


def text_of(frames: list[Frame]) -> str:
    return "\n".join("\n".join([frame.head, *frame.page, frame.note]) for frame in frames)


def test_enter_walks_from_the_plan_to_the_end(capsys):
    frames = walked(product(), then="on")
    assert heads(frames) == ["the tape of loss", "forward 1 of 2", "forward 2 of 2",
                             "backward 1 of 2", "backward 2 of 2",
                             "what backward() adds to .grad"]  # fmt: skip
    told = text_of(frames)
    assert "da = 12, sum of 3 parts so far" in told and "da = 12, the sum of 3 parts" in told
    assert capsys.readouterr().out == "loss: you left at step 4 of 4.\n"


def test_back_goes_back_and_a_number_jumps():
    keys = ["on", "back", "back", "step 4", "step 9", "unknown", "on", "back", "step x"]
    frames = walked(product(), *keys)
    assert heads(frames) == ["the tape of loss", "forward 1 of 2", *["the tape of loss"] * 2,
                             *["backward 2 of 2"] * 3, "what backward() adds to .grad",
                             *["backward 2 of 2"] * 2]  # fmt: skip
    told = [frame.note for frame in frames]
    assert told[3] == "This is the beginning." and told[6].endswith("is no key here: ? lists them, "
                                                                    "q quits.")  # fmt: skip
    assert told[5] == told[9] == "There are steps 0 to 4; this is step 4."


def test_a_key_of_another_page_says_why_it_does_nothing():
    left = ["step 3", "o", "o", "into", "o"]

    class Pressing(Person):
        def key(self, names):
            pressed = super().key(names)
            name = keys.meaning(pressed.name, names) if pressed.name == "o" else pressed.name
            return keys.Pressed(name, "o" if pressed.name == "o" else pressed.text)

    person = Pressing(lambda frame: left.pop(0) if left else "quit")
    Walk(product(), person).go()
    told = [frame.note for frame in person.frames[3:]]
    assert told[0] == "This line is open: c closes it."
    assert told[2] == "Nothing is worked out here: u leads up."


def test_sections_and_a_search_lead_to_steps():
    frames = walked(product(), "step 2", "sections", "step 3", "search part 2", "on", "search dA",
                    "step 4", "search zebra", "search", "help", "back")  # fmt: skip
    listed = frames[2].page
    assert [row[:2] for row in listed] == ["  ", "  ", "->", "  ", "  "]
    assert listed[2] == "->   2  forward 2: loss = mul(b, a)"
    assert frames[3].head.startswith("backward 1") and frames[5].head == frames[3].head
    assert [row.split()[:2] for row in frames[4].page] == [["->", "4"]]
    assert frames[6].page == [f"{row}  da = dout b,   db = dout a" for row in ("->   3", "     4")]
    assert frames[8].note == "zebra is not to be found." and "/word" in frames[9].note
    assert frames[10].head == "The keys" and "search for a word" in " ".join(frames[10].page)


def test_a_long_list_opens_where_we_are():
    x = Tensor(2.0, requires_grad=True, name="x")
    for _ in range(60):
        x = x * 1.01
    listed = walked(trace(x), "step 70", "sections")[2]
    assert listed.step == "4/6" and sum(row.startswith("->") for row in listed.page) == 1


def test_open_shows_the_local_derivatives_and_close_puts_them_away():
    frames = walked(product(), "step 3", "open", "close")
    shown = ["∂loss/∂b = a = 2" in "\n".join(frame.page) for frame in frames]
    assert shown == [False, False, True, False] and "close" in frames[2].names
    assert "open" in frames[3].names and "open" not in frames[0].names


def test_into_an_operation_shows_its_lines_one_an_enter():
    E = Tensor(np.eye(3), requires_grad=True, name="E")
    walk = trace(lookup(E, [1, 1]).sum())
    keys = [f"step {len(walk)}", "into", *["on"] * 4, "back", "out", "step 1", "into", "on"]
    frames = walked(walk, *keys)
    inside = [frame for frame in frames if frame.head.startswith("inside lookup")]
    assert [frame.head.split()[2] for frame in inside] == ["0", "1", "2", "3", "4", "3", "0", "1"]
    told = text_of(inside[:6])
    assert "lookup_backward(dout, saved)" in told and "dout (2, 3)" in told
    assert "ids = saved.ids.reshape(-1)" in told and "ids (2,)" in told
    assert "lookup_forward(weight, ids" in text_of(inside[6:])
    assert "out" in inside[0].names and "out" not in frames[0].names


def test_what_would_draw_other_numbers_is_not_entered():
    x = Tensor(np.ones(4), requires_grad=True)
    walk = trace(dropout(x, 0.5, np.random.default_rng(0)).sum())
    frames = walked(walk, "step 1", "into")
    assert "dropout draws random numbers" in frames[-1].note and "into" not in frames[0].names


def test_into_an_operation_of_ones_own_that_has_no_lines_or_runs_once_only():
    def doubled(x):
        return x * 2.0, {"by": 2.0}

    def doubled_backward(dout, saved):
        return dout * saved.pop("by")

    halved = differentiable(lambda x: (x / 2, ()), lambda dout, saved: dout / 2, name="halved")
    x = Tensor(np.ones(2), requires_grad=True)
    walk = trace(halved(differentiable(doubled, doubled_backward)(x)).sum())
    for place, said in (("step 2", "is no def in Python"), ("step 6", "KeyError: 'by'")):
        frames = walked(walk, place, "into", "on")
        assert said in frames[2].note and len(frames) > 3


def test_the_prompt_knows_what_is_known_and_no_more(monkeypatch, capsys):
    walk = Walk(product())
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
    Walk(product()).go()
    assert "the tape of loss" in capsys.readouterr().out


def test_ctrl_c_stays(monkeypatch, capsys):
    typed = iter([KeyboardInterrupt, "q"])

    def read(prompt: str = "") -> str:
        if (key := next(typed)) is KeyboardInterrupt:
            raise KeyboardInterrupt
        return key

    monkeypatch.setattr(builtins, "input", read)
    Walk(product()).go()
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
def test_a_learners_own_model_in_a_terminal(tmp_path):
    """The arrows choose, i enters the operation, s and / lead about; nothing leaves the window."""
    script = tmp_path / "own.py"
    script.write_text(MODEL, encoding="utf-8")
    terminal = Terminal([sys.executable, str(script)], 80, 24, **environment())
    assert terminal.frame().head.startswith("the tape of loss")
    keys = ["step 10", "down", "into", "on", "on", "out", "sections", "step 3", "search part 2"]
    frames = terminal.walk(lambda frame: keys.pop(0) if keys else "quit")
    assert terminal.end() == 0
    at = [frame.step for frame in frames]
    assert at[1:3] == at[6:7] * 2 == ["10/12", "10/12"] and at[8] == "3/12"
    assert any(">" in line and "<" in line for line in frames[1].page)
    assert frames[1].page != frames[2].page and frames[2].page == frames[6].page
    assert "tanh_backward(dout, saved)" in " ".join(frames[3].page)
    assert "return dout * (1 - out * out)" in " ".join(frames[5].page)
    assert frames[7].page[10].startswith("->  10  backward 4") and "gives dE" in frames[9].page[0]


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (60, 20), (120, 40)])
def test_every_page_of_a_learners_own_model_fits(monkeypatch, columns, rows):
    """From the first key to the last, with every working opened and every operation entered."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("LINES", str(rows))
    rng = np.random.default_rng(0)
    E = Tensor(rng.normal(size=(6, 3)), requires_grad=True, name="E")
    W = Tensor(rng.normal(size=(3, 3)), requires_grad=True, name="W")
    hidden = tanh(lookup(E, [1, 2, 1]) @ W)
    entered = set()

    def play(frame):
        if "open" in frame.names:
            return "open"
        if "into" in frame.names and frame.step not in entered:
            entered.add(frame.step)
            return "into"
        return "on"

    person = Person(play)
    Walk(trace(cross_entropy(hidden @ E.T, [2, 1, 0])), person).go()
    told = text_of(person.frames)
    assert len(entered) == 12 and "return dout * (1 - out * out)" in told
    assert person.frames[-1].head.startswith("what backward() adds")
