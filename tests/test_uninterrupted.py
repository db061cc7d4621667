"""What waits for the end of a block is handed on, and every handler goes back to its place."""

import os
import signal
import threading

import pytest

from scratch_embed.uninterrupted import HELD, uninterrupted
from tests.kernels.processes import output


class Late(Exception):
    pass


@pytest.fixture
def heard():
    """SIGINT and SIGTERM are noted, and the last one raises."""
    came, before = [], {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}

    def hear(number, frame):
        came.append(number)
        raise Late

    for number in before:
        signal.signal(number, hear)
    yield came, hear
    for number, handler in before.items():
        signal.signal(number, handler)


def test_several_signals_are_all_handed_on_in_their_order(heard):
    came, hear = heard
    with pytest.raises(Late), uninterrupted():
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
        assert not came
    assert came == [signal.SIGTERM, signal.SIGINT]
    assert signal.getsignal(signal.SIGINT) is signal.getsignal(signal.SIGTERM) is hear


@pytest.mark.usefixtures("heard")
def test_what_ends_a_program_is_raised_before_what_is_caught():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # and SIGTERM raises Late
    with pytest.raises(KeyboardInterrupt), uninterrupted():
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("when", range(5))
def test_an_error_while_handlers_are_changed_leaves_none_behind(heard, monkeypatch, when):
    """As of a handler that raises just then."""
    _, hear = heard
    change, calls = signal.signal, []

    def interrupted(number, handler):
        calls.append(number)
        changed = change(number, handler)
        if len(calls) == when + 1:
            raise Late
        return changed

    before = [signal.getsignal(number) for number in HELD]
    monkeypatch.setattr(signal, "signal", interrupted)
    try:
        with uninterrupted():
            pass
    except Late:
        pass
    assert len(calls) > 1
    assert [signal.getsignal(number) for number in HELD] == before and hear in before


AT_ANY_MOMENT = """
import random, signal
from scratch_embed.uninterrupted import HELD, uninterrupted
signal.signal(signal.SIGALRM, signal.default_int_handler)  # what Ctrl-C calls
before, wait = [signal.getsignal(number) for number in HELD], random.Random(0)

def hold():
    signal.setitimer(signal.ITIMER_REAL, wait.uniform(2e-5, 2e-4))
    while True:
        with uninterrupted():
            pass

for _ in range(3000):
    try:
        hold()
    except KeyboardInterrupt:
        pass
print([signal.getsignal(number) for number in HELD] == before)
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no such timer")
def test_a_signal_at_any_moment_leaves_every_handler_in_its_place():
    """In Python 3.13 one that comes as a loop begins anew passes by the loop's own `try`."""
    assert output(AT_ANY_MOMENT) == "True"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_process_that_another_thread_forks_while_a_block_runs_can_be_ended():
    """Its handlers would put signals by for a block that never ends there."""
    before, codes = signal.getsignal(signal.SIGINT), []

    def forks():
        child = os.fork()
        if not child:
            os._exit(int(signal.getsignal(signal.SIGINT) is not before))
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    with uninterrupted():
        assert signal.getsignal(signal.SIGINT) is not before
        thread = threading.Thread(target=forks)
        thread.start()
        thread.join()
    assert codes == [0] and signal.getsignal(signal.SIGINT) is before
