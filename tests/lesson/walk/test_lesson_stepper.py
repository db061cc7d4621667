"""Stepping through a lesson, driven by a pipe: each line of input is what a person would type."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.lesson.lesson_demo import write
from tests.lesson.walk.test_lesson_runner import ROOT, script


def step(tmp_path, keys, extra="print('extra ran')", **environment):
    return script(write(tmp_path, extra=extra), "--step", stdin=keys, **environment)


def test_enter_walks_through_to_the_end(tmp_path):
    done = step(tmp_path, "\n18\n\n\n\n\n")
    assert done.returncode == 0, done.stderr
    assert "step 1 of 5" in done.stdout and "step 5 of 5" in done.stdout
    assert "16 | h = np.array([0.6, 0.1, 0.3])" in done.stdout  # the line number in the file
    assert "Right." in done.stdout and "5 of 5 code cells run" in done.stdout
    assert "FAILED" not in done.stdout and "\x1b" not in done.stdout


def test_the_end_of_input_quits(tmp_path):
    done = step(tmp_path, "")
    assert done.returncode == 0 and "1 of 5 code cells run" in done.stdout


def test_q_quits_and_question_mark_helps(tmp_path):
    done = step(tmp_path, "?\nzz\nq\n\n\n")
    assert "back: read the step before" in done.stdout and "'zz' is no key" in done.stdout
    assert "1 of 5 code cells run" in done.stdout


def test_the_prompt_changes_the_lessons_variables_and_comes_back(tmp_path):
    keys = "p\nh[0] = 0.5\nprint('doubled', h[0] * 2)\ncompare('mine', hand=1, ours=2)\nexit()\n"
    done = step(tmp_path, keys + "\nno idea\n7\n\nq\n", extra="print('then', h[0])")
    assert "doubled 1.0" in done.stdout and "then 0.5" in done.stdout
    assert "Back in the lesson." in done.stdout and "a number, please" in done.stdout
    assert done.returncode == 0  # the check typed at the prompt is not the lesson's


@pytest.mark.parametrize("leave", ["quit()", "exit", "raise SystemExit"])
def test_every_way_out_of_the_prompt(tmp_path, leave):
    keys = f"p\n{leave}\n" + ("quit()\n" if leave == "exit" else "")
    done = step(tmp_path, keys + "\n18\nq\n")
    assert "2 of 5 code cells run" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0


def test_running_again_replaces_and_going_back_runs_nothing(tmp_path):
    extra = "tries = globals().get('tries', 0) + 1\nprint('try', tries)\n"
    extra += "compare('late', hand=2, ours=tries)"
    done = step(tmp_path, "\n18\n\nr\nb\n\n\n\n\n", extra=extra)
    assert done.stdout.count("try 1") == 1 and "try 3" not in done.stdout
    assert done.stdout.count("try 2") == 2  # run again once, read again once
    assert "2 of 2 comparisons hold" in done.stdout and done.returncode == 0


def test_an_error_is_shown_and_the_lesson_goes_on(tmp_path):
    done = step(tmp_path, "\n18\n\n\n\n", extra="h / undefined_name")
    assert "NameError" in done.stdout and "step 5 of 5" in done.stdout
    assert "an error left standing: FAILED" in " ".join(done.stdout.split())
    assert done.returncode == 1


def test_an_error_put_right_counts_no_more(tmp_path):
    keys = "\n18\n\np\nfix = 1\nexit()\nr\n\n\n\n"
    done = step(tmp_path, keys, extra="print('fixed', fix)")
    assert "NameError" in done.stdout and "fixed 1" in done.stdout and "FAILED" not in done.stdout
    assert done.returncode == 0


def test_the_code_of_a_question_comes_after_its_answer(tmp_path):
    done = step(tmp_path, "\n18\nq\n")
    assert done.stdout.index("your guess") < done.stdout.index('q = guess("How many')


@pytest.mark.parametrize("columns", ["40", "120"])
def test_it_fits_the_terminal(tmp_path, columns):
    done = step(tmp_path, "\n18\n\n\n\n\n", COLUMNS=columns)
    lines = [line for line in done.stdout.splitlines() if "your guess" not in line]  # no Enter seen
    long = [line for line in lines if len(line) > int(columns)]
    assert not long, long


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C cannot be sent to a process there")
@pytest.mark.usefixtures("ctrl_c_is_heard")
def test_ctrl_c_stops_the_cell_and_not_the_lesson(tmp_path):
    marker = tmp_path / "started"
    extra = f"open({str(marker)!r}, 'w').close()\nimport time\ntime.sleep(30)"
    process = subprocess.Popen(
        [sys.executable, write(tmp_path, extra=extra), "--step"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    process.stdin.write("\n18\n\n")
    process.stdin.flush()
    deadline = time.monotonic() + 30
    while not marker.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate("\n\n\n", timeout=30)
    assert "Stopped. The cell did not finish" in out and "step 5 of 5" in out
    assert process.returncode == 0
