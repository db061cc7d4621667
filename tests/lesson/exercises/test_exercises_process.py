"""A learner's file may loop, crash, flood or not parse: each gets a sentence and its true line."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from scratch_embed.lesson.exercises import report
from scratch_embed.lesson.exercises.exercise import find
from scratch_embed.lesson.exercises.run import Job, check, check_all

ROOT = Path(__file__).resolve().parents[3]
EXERCISE = find(ROOT / "lessons" / "exercises")["lookup_backward"]
HEAD = "import numpy as np\n\n\ndef lookup_backward(dout, ids, num_rows):\n"  # four lines
RIGHT = HEAD + (
    "    dE = np.zeros((num_rows, dout.shape[1]))\n    np.add.at(dE, ids, dout)\n    return dE\n"
)
RUNNING = "this was still running after 1 s: does a loop ever end?"
QUITS = "this ends the whole process; a function only returns"

# file: (text, line, words of the sentence)
BROKEN = {
    "bracket": (HEAD + "    return np.zeros(\n", 5, "Python cannot read the file: '('"),
    "indent": (HEAD + "  x = 1\n    return x\n", 6, "the file: unexpected indent"),
    "null byte": (HEAD + "    return '\0'\n", 5, "Python cannot read the file"),
    "latin-1": (HEAD + "    return 1  # \udce4\n", 5, "byte 0xe4 is no UTF-8: save it as UTF-8"),
    "latin-1 on top": ("# my answer\n# \udce4\n" + RIGHT, 2, "byte 0xe4 is no UTF-8: save it as"),
    "coding": ("# coding: klingon\n" + RIGHT, 1, "unknown encoding: klingon"),
    "memory alone": (HEAD + "    raise MemoryError\n", 5, "more memory than there is"),
    "empty": ("", None, "there is no function lookup_backward in the file"),
    "renamed": (HEAD.replace("ward(", "wards(") + "    return 1\n", 4,
                "it defines lookup_backwards"),
    "number": ("lookup_backward = 3\n", None, "is of type int and must be a function"),
    "arguments": (HEAD.replace(", num_rows", "") + "    return 1\n", 4,
                  "lookup_backward(dout, ids) does not take the arguments of its contract"),
    "import": ("import no_such_thing\n" + RIGHT, 1, "No module named 'no_such_thing'"),
    "nothing": (HEAD + "    x = 1\n", 5, "is None, which is what a function without a return"),
    "shape": (HEAD + "    return np.zeros((2, 2))\n", 5, "(2, 2) and must have shape (3, 2)"),
    "text": (HEAD + "    return 'rows'\n", 5, "is of type str and not an array of real numbers"),
    "masked": (HEAD + "    return np.ma.array(dout, mask=True)\n", 5, "is a masked array"),
    "ragged": (HEAD + "    return [[1], [1, 2]]\n", 5, "its rows differ in length"),
    "tensor": (
        HEAD + "    from scratch_embed import Tensor\n"
        "    return Tensor(np.zeros((num_rows, 2)), requires_grad=True)\n", 6,
        "is a Tensor, which does not become an array (NumPy would make"),
    "error": (HEAD + "    x = ids\n    return dout[x, 9]\n", 6, "IndexError: index 9 is out"),
    "recursion": (HEAD + "    return lookup_backward(dout, ids, num_rows)\n", 5, "calls itself"),
    "memory": (HEAD + "    return np.ones(10**15)\n", 5, "more memory than there is"),
    "input": (HEAD + "    return input('? ')\n", 5, "this waits for input"),
    "debugger": (HEAD + "    breakpoint()\n    return E[ids]\n", 6, "this stops in a debugger"),
    "in place": (HEAD + "    dout *= 2\n    return dout\n", 5, "changes its argument dout"),
    "flood": (HEAD + "    while True:\n        print('x' * 999)\n", 6, "this prints without end"),
    "exit": (HEAD + "    raise SystemExit\n", 5, QUITS),
    "os._exit": (HEAD + "    import os\n    os._exit(3)\n", 6, QUITS),
    "interrupt": (HEAD + "    raise KeyboardInterrupt\n", 5, "KeyboardInterrupt"),
}  # fmt: skip
# These end the process, each its own.
DEADLY = {
    "loop": (HEAD + "    n = 0\n    while True:\n        n += 1\n", None, RUNNING),
    "sleep": (HEAD + "    import time\n    time.sleep(99)\n", 6, RUNNING),
    "abort": (HEAD + "    import os\n    os.abort()\n", 6, "this crashed Python itself"),
    "segfault": (HEAD + "    import ctypes\n    ctypes.string_at(0)\n", 6, "crashed Python itself"),
}  # fmt: skip


def job(folder: Path, text: str, seconds: float | None = None, name: str = "answer.py") -> Job:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    return Job(EXERCISE, path, timed=False, seconds=seconds)


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    """All files in one go, a right one between the deadly ones, in a folder with an odd name."""
    folder = tmp_path_factory.mktemp("files") / "Füße und Köpfe"
    files = {key: (text, None) for key, (text, *_) in BROKEN.items()}
    for key, (text, *_) in DEADLY.items():
        files[key] = text, 1 if key in ("loop", "sleep") else None
        files[f"right after {key}"] = RIGHT, None
    jobs = [job(folder, *file, name=f"{n}.py") for n, file in enumerate(files.values())]
    return dict(zip(files, check_all(jobs)))


@pytest.mark.parametrize("key", [*BROKEN, *DEADLY])
def test_a_broken_file_gets_one_sentence_and_its_line(verdicts, key):
    _, line, words = {**BROKEN, **DEADLY}[key]
    verdict = verdicts[key]
    assert not verdict["passed"] and words in verdict["sentence"], verdict
    assert "\n" not in verdict["sentence"]
    assert verdict["line"] == line or (key == "loop" and verdict["line"] in (6, 7))


@pytest.mark.parametrize("key", ["loop", "segfault", "null byte"])
def test_the_sentence_ends_with_one_mark(verdicts, key):
    said = report.verdict(EXERCISE, ROOT / "answer.py", verdicts[key]).split("\n\n")[1]
    assert said[-1] in ".?" and said[-2] not in ".?"


@pytest.mark.parametrize("key", DEADLY)
def test_the_next_file_is_none_the_worse(verdicts, key):
    assert verdicts[f"right after {key}"]["passed"]


def test_a_file_that_crashes_by_the_fault_of_one_before_it_is_judged_alone(tmp_path):
    later = "import faulthandler, threading\nthreading.Timer(1, faulthandler._sigsegv).start()\n"
    slow = "import threading\nthreading.Event().wait(3)\n"
    jobs = [job(tmp_path, later + RIGHT, name="a.py"), job(tmp_path, slow + RIGHT, name="b.py")]
    assert [verdict["passed"] for verdict in check_all(jobs)] == [True, True]


def test_what_a_file_prints_is_handed_back_and_cut(verdicts, tmp_path):
    assert set(verdicts["flood"]["printed"].strip()) == {"x", "\n"}
    assert len(verdicts["flood"]["printed"]) <= 2000
    text = RIGHT.replace("    return dE", "    print('dE is', dE[0])\n    return dE")
    verdict = check(job(tmp_path, text))
    assert verdict["passed"] and verdict["printed"].startswith("dE is [0. 0.]\n")


def test_threads_left_running_and_prints_below_python_do_no_harm(tmp_path):
    text = (
        "import os, threading, time\n"
        "threading.Thread(target=time.sleep, args=(60,)).start()\n"
        "os.write(1, b'noise' * 100_000)\nos.write(2, b'noise' * 100_000)\n"
    )
    assert check(job(tmp_path, text + RIGHT))["passed"]


def test_the_process_sees_the_same_modules_and_no_learners_folder(tmp_path):
    """A file named numpy.py beside the learner's is not imported in place of NumPy."""
    (tmp_path / "numpy.py").write_text("raise SystemExit('wrong numpy')\n", encoding="utf-8")
    ours = [os.path.realpath(path) for path in (sys.executable, np.__file__)]
    text = RIGHT + (
        "\n\nimport os, sys\n"
        f"assert [os.path.realpath(path) for path in (sys.executable, np.__file__)] == {ours!r}\n"
    )
    assert check(job(tmp_path, text))["passed"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems know of no such limit")
def test_a_file_that_fills_memory_is_ended_before_it_brings_the_machine_down(tmp_path):
    path = tmp_path / "full.py"
    path.write_text(HEAD + "    return bytearray(6 << 30)\n")
    verdict = check(Job(EXERCISE, path, timed=False, seconds=60))
    assert not verdict["passed"] and "more memory than there is" in verdict["sentence"], verdict


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
@pytest.mark.parametrize("ends", ["os._exit(0)", "pass"])
def test_a_process_that_a_file_makes_does_not_go_on_with_the_check(tmp_path, ends):
    """Also one that it lets run on: it would make others, and these again others."""
    path, asked = tmp_path / "forks.py", tmp_path / "asked"
    path.write_text(f"""import os
{RIGHT}
right = lookup_backward
def lookup_backward(dout, ids, num_rows):
    with open({str(asked)!r}, "a") as file:
        print(os.getpid(), file=file)
    if not os.fork():
        {ends}
    return right(dout, ids, num_rows)
""")
    assert check(Job(EXERCISE, path, timed=False, seconds=20))["passed"]
    assert len(set(asked.read_text().split())) == 1
