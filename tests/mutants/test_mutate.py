"""The mistakes that are put in are mistakes, one at a time, and not in the wording of an error."""

from __future__ import annotations

import doctest

from tests.mutants import mutate

SOURCE = '''
def f(x: int = 1) -> float:
    """3 < 4"""
    if not x and x > 2:
        raise ValueError(f"{x + 1} is more than 2")
    return x ** 2
'''


def test_the_example():
    assert doctest.testmod(mutate).failed == 0


def test_each_mistake_stands_alone_and_can_be_compiled():
    made = mutate.mutants(SOURCE)
    assert [(m.line, m.now) for m in made if m.line == 6] == [(6, "x * 2"), (6, "3")]
    assert {m.line for m in made} == {2, 4, 6}  # not line 5, which is an error and its wording
    assert len({m.source for m in made}) == len(made)
    for mutant in made:
        compile(mutant.source, "mutant", "exec")
