"""Processes that share out work end with the one that began them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from scratch_embed.workers import workers

ROOT = Path(__file__).parents[1]
LONG = """
import os, time
from tqdm import tqdm
from scratch_embed.workers import workers

def work(n):
    tqdm(disable=True)
    print(os.getpid(), flush=True)
    time.sleep(30)
    print("too late", flush=True)

if __name__ == "__main__":
    try:
        with workers(2) as pool:
            list(pool.map(work, range(8)))
    except KeyboardInterrupt:
        print("Stopped.", flush=True)
"""


def test_work_comes_back_in_order_and_an_error_is_raised():
    with workers(2) as pool:
        assert list(pool.map(abs, range(-3, 0))) == [3, 2, 1]
    with pytest.raises(ZeroDivisionError), workers(2) as pool:
        pool.submit(divmod, 1, 0).result()


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_they_end_in_the_middle_of_their_work_with_the_one_that_began_them(tmp_path, number):
    script = tmp_path / "long.py"
    script.write_text(LONG, encoding="utf-8")
    given = {"env": os.environ | {"PYTHONPATH": str(ROOT)}, "stderr": subprocess.STDOUT}
    command = [sys.executable, script]
    with subprocess.Popen(command, text=True, stdout=subprocess.PIPE, **given) as began:
        assert began.stdout.readline()  # of the first that is at work
        began.send_signal(number)
        said = began.stdout.read()  # to the end of it: until nobody can write to it any more
    assert number == signal.SIGKILL or "leaked semaphore" not in said
    assert "too late" not in said
    assert ("Stopped." in said) == (number == signal.SIGINT)
