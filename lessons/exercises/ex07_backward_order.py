"""The order of backward: pass a gradient on when all its parts have arrived.

A tape holds a line for each step of a calculation. One sum for each value makes backward cheap; to
wait until that sum is whole makes it right. The order in which the lines were written is all that
is needed for both.
"""

import numpy as np

LESSON = 11
LEVEL = "hard"
HINTS = """
The last value moves by 1 when it moves by 1: its gradient is 1. Every other gradient begins at 0
and collects.

A value may be used by any line below the one that made it. When are all of them done?

Read the tape from its last line. Each line sends slope times its own gradient to each of its
inputs, and a value that is used twice collects twice: add, do not set.

No function needs to call itself. A tape of 5,000 lines would make it call itself 5,000 times, and
Python allows about 1,000.
"""


def backward(tape, leaves):
    """The gradient of the last value for each value, from the first on      -> (leaves + lines,)

    leaves  how many values were given: values 0 to leaves - 1.
    tape    a list of lines (inputs, slopes). Line k makes value leaves + k from earlier values:
            when value inputs[j] moves by a little, it moves by slopes[j] times as much. An input
            may stand in a line twice, and what a line makes may be of no use to any other. A tape
            may have thousands of lines, and each is to be read once.

    x is value 0. Line 0 makes y = 2 x, value 1, and line 1 makes z = 3 y + x, value 2. So z moves
    3 times as much as y. For x two parts arrive: 3 * 2 by way of y, and 1 from line 1.

    >>> backward([([0], [2.0]), ([1, 0], [3.0, 1.0])], 1).tolist()
    [7.0, 3.0, 1.0]
    """
    grads = np.zeros(leaves + len(tape))
    grads[-1] = 1.0
    for line in reversed(range(len(tape))):
        for value, slope in zip(*tape[line]):
            grads[value] += slope * grads[leaves + line]
    return grads


def check(trial):
    for rng in trial.rounds(5):
        tape = _random_tape(rng, leaves=3, lines=6)
        trial.gradients(
            "backward",
            forward=lambda x, tape=tape: _forward(tape, x),
            backward=lambda dout, tape=tape: dout * trial.yours.backward(tape, 3)[:3],
            mistakes=_mistakes(tape, 3),
            x=rng.standard_normal(3),
        )
        trial.same("backward", tape=tape, leaves=3)
    for rng in trial.rounds(3):
        tape = _random_tape(rng, leaves=3, lines=6)
        tape.append(([7, 4], [2.0, 1.0]))  # value 8, of the line before, leads nowhere
        trial.same("backward", mistakes=WAITS, tape=tape, leaves=3)
    trial.same("backward", tape=[([0, 1], [0.0, 2.0])], leaves=2)  # a slope of 0 ends nothing
    trial.same("backward", tape=[([line], [1.0]) for line in range(5000)], leaves=1)
    trial.same("backward", tape=[([line] * 2, [1.0, 1.0]) for line in range(60)], leaves=1)


def _random_tape(rng, leaves, lines):
    """Each line uses the value before it, and any one or two once more."""
    last = range(leaves - 1, leaves + lines - 1)
    uses = [[n, *rng.integers(n + 1, size=rng.integers(1, 3)).tolist()] for n in last]
    uses[-1].append(0)  # whoever begins at the wrong end pays this leaf
    return [(inputs, rng.standard_normal(len(inputs)).tolist()) for inputs in uses]


def _forward(tape, x):
    values = list(x)
    for inputs, slopes in tape:
        values.append(sum(slope * values[i] for i, slope in zip(inputs, slopes)))
    return values[-1]


def _waiting_for_all(tape, leaves):
    grads, waits = np.zeros(leaves + len(tape)), np.zeros(leaves + len(tape))
    for values, _ in tape:
        np.add.at(waits, values, 1)
    grads[-1], ready = 1, [len(grads) - 1]
    while ready:
        maker = ready.pop()
        for value, slope in zip(*tape[maker - leaves]) if maker >= leaves else ():
            grads[value] += slope * grads[maker]
            waits[value] -= 1
            ready += [value] * (not waits[value])
    return grads


WAITS = {
    ("backward lets a line that leads nowhere keep others from passing on", r"\+= *1\b|break"):
        _waiting_for_all,
}  # fmt: skip


def _mistakes(tape, leaves):
    def recursion(passes_on):
        grads, entered = np.zeros(leaves + len(tape)), set()

        def enter(value, part):
            grads[value] += part
            if value >= leaves and (passes_on == "again" or value not in entered):
                entered.add(value)
                for parent, slope in zip(*tape[value - leaves]):
                    enter(parent, slope * grads[value])

        enter(len(grads) - 1, 1.0)
        return grads[:leaves]

    def from_the_first():
        grads = np.zeros(leaves + len(tape))
        grads[-1] = 1
        for line, (values, slopes) in enumerate(tape):
            for value, slope in zip(values, slopes):
                grads[value] += slope * grads[leaves + line]
        return grads[:leaves]

    adds = r"\+="  # what the guilty line looks like
    return {
        ("backward passes on all that it has at each part: what came before is passed on again",
         adds): lambda dout: dout * recursion("again"),
        ("backward passes a gradient on at its first part, and what arrives later is lost", adds):
            lambda dout: dout * recursion("once"),
        ("backward reads the tape from its first line: the last passes on first",
         r"\brange\b|\bfor\b"):
            lambda dout: dout * from_the_first(),
    }  # fmt: skip
