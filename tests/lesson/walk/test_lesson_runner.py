"""Running a lesson: as the script it is, with everything put back afterwards."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from scratch_embed.lesson.record import Options, running
from scratch_embed.lesson.walk import cells
from scratch_embed.lesson.walk.runner import run
from tests.lesson.lesson_demo import write

ROOT = Path(__file__).parents[3]


def script(*arguments, stdin="", **environment):
    """Run Python as a person would; output and errors as UTF-8 text."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", **environment}
    return subprocess.run(
        [sys.executable, *map(str, arguments)], input=stdin, env=env, cwd=ROOT,
        check=False, capture_output=True, encoding="utf-8", timeout=60,
    )  # fmt: skip


def outcome(tmp_path, extra):
    return run(cells.load(write(tmp_path, extra=extra)))


def test_a_lesson_runs_and_is_recorded(tmp_path, capsys):
    record = outcome(tmp_path, "h / 2")
    out = capsys.readouterr().out
    assert record.passed and record.closed and record.seconds > 0
    assert [row.name for row in record.rows] == ["dE"] and record.questions[0].shown == "18"
    assert record.workings[0][0].value == pytest.approx(0.58) and record.names["last"].size == 3
    assert "0. A demo lesson\n=====" in out and "hidden state h" in out
    assert "0.6*0.8 + 0.1*(-0.2) + 0.3*0.4" in out
    assert "array([0.3 , 0.05, 0.15])" in out  # the bare last expression, as in a notebook
    assert "A demo" in record.title


def test_the_lesson_is_main_and_everything_is_put_back(tmp_path):
    """Pickling, getsource and dataclasses look a script up as __main__, under its true name."""
    before = sys.modules["__main__"], sys.argv, sys.path, list(sys.path), np.get_printoptions()
    record = outcome(
        tmp_path,
        "import dataclasses, inspect, pickle, sys\n\n@dataclasses.dataclass\nclass Point:\n"
        "    x: UnheardOf\n\nassert pickle.loads(pickle.dumps(Point(3))) == Point(3)\n"
        "assert 'UnheardOf' in inspect.getsource(Point)\n"
        "assert __name__ == '__main__' and sys.argv == [__file__] and __doc__ == 'A demo.'\n"
        "assert sys.path[0] == __file__.rpartition('/')[0] or sys.platform == 'win32'\n"
        "sys.path.append('elsewhere')\nnp.set_printoptions(precision=2)\nassert begin() is None",
    )
    assert record.passed, record.failures
    assert (sys.modules["__main__"], sys.argv, sys.path) == before[:3]
    assert list(sys.path) == before[3] and np.get_printoptions() == before[4]
    assert not running()


def test_a_crash_shows_the_lessons_own_lines(tmp_path, capsys):
    record = outcome(tmp_path, "def boom(x):\n    return worked.dot('x', x, [1])\n\nboom([1, 2])")
    assert not record.passed and len(record.failures) == 1
    text = record.failures[0].text
    lines = (tmp_path / "ch00_demo.py").read_text(encoding="utf-8").splitlines()
    place = lines.index("boom([1, 2])") + 1
    assert f'ch00_demo.py", line {place}, in <module>\n    boom([1, 2])' in text
    assert "a has 2, b has 1" in text and "runner.py" not in text
    assert "raised in" in text and "layout.py" in text
    captured = capsys.readouterr()
    assert "Traceback" in captured.err and "FAILED" in captured.out
    assert record.questions and not record.rows and not record.closed  # it stopped there


@pytest.mark.parametrize(
    "extra, passed",
    [
        ("raise SystemExit(0)", True),
        ("raise SystemExit(3)", False),
        ("compare('wrong', hand=h, ours=2 * h)", False),
        ("guess('typo?').answer('half')", False),
    ],
)
def test_what_makes_a_run_fail(tmp_path, capsys, extra, passed):
    assert outcome(tmp_path, extra).passed is passed


def test_options_reach_the_lesson(tmp_path, capsys):
    path = write(tmp_path, extra="print('given', options.text, options.quick)")
    run(cells.load(path), Options(text=Path("some.txt"), quick=True))
    assert "given some.txt True" in capsys.readouterr().out


def test_a_plain_script_hands_itself_to_the_engine(tmp_path, monkeypatch, capsys):
    """In processes of their own: one that is sound, on a console without the letter, and a bad."""
    good = write(tmp_path / "a", extra="print('extra ran \u211d')")
    bad = write(tmp_path / "b", extra="1 / 0")
    done = script(good, PYTHONIOENCODING="ascii")
    assert done.returncode == 0 and done.stderr == ""
    assert "0. A demo lesson" in done.stdout and done.stdout.count("extra ran ?") == 1
    failed = script(bad)
    assert failed.returncode == 1 and "ZeroDivisionError" in failed.stderr
    assert "cli.py" not in failed.stderr
    for flags, code, told in ((["--quik"], 2, "did you mean --quick?"), (["--quiet"], 0, "")):
        monkeypatch.setattr(sys, "argv", [str(good), *flags])
        with pytest.raises(SystemExit) as left:
            runpy.run_path(str(good), run_name="__main__")
        assert left.value.code == code and told in capsys.readouterr().err


def test_imported_a_lesson_runs_nothing_of_the_engine(tmp_path, capsys):
    runpy.run_path(str(write(tmp_path)), run_name="ch00_demo")
    out = capsys.readouterr().out
    assert out.count("extra ran") == 1 and "0. A demo lesson" not in out


def test_importing_the_engine_loads_neither_numba_nor_matplotlib():
    heavy = "{'numba', 'matplotlib', 'tqdm', 'code', 'readline'}"
    done = script("-c", f"import scratch_embed.lesson, sys; print({heavy} & set(sys.modules))")
    assert done.stdout.strip() == "set()", done.stdout + done.stderr


@pytest.mark.parametrize(("here", "told"), [(".", ""), ("lessons", "../"), ("build", "")])
def test_save_figure_draws_into_build_and_refuses_odd_names(
    tmp_path, capsys, monkeypatch, here, told
):
    (tmp_path / here).mkdir(exist_ok=True)
    monkeypatch.chdir(tmp_path / here)
    extra = (
        "from scratch_embed import plot\nfrom scratch_embed.lesson import save_figure\n"
        "fig, ax = plot.figure()\nax.plot(h)\nsave_figure(fig, 'h.png')\n"
        "try:\n    save_figure(fig, '../h.png')\nexcept ValueError as error:\n    print(error)"
    )
    record = run(cells.load(write(tmp_path / "lessons", extra=extra)))
    assert record.passed, record.failures
    (path,) = (path for path, _ in record.figures)
    assert path == tmp_path / "build" / "figures" / "h.png"
    assert path.read_bytes().startswith(b"\x89PNG")
    out = capsys.readouterr().out
    place = "figures/h.png" if here == "build" else f"{told}build/figures/h.png"
    assert "name must be like" in out and f"figure     {place}" in out
