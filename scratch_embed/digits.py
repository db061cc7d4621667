"""With how many digits a calculation is written: with as many as let it come out.

    (100.1 - 100.2)*8.941 = -1.341        four digits, and nobody gets there by hand
    (100.1 - 100.25)*8.9407 = -1.3411     five do

A few are plenty unless nearly equal numbers are subtracted, or a large one is an exponent. So what
is written is read again and worked out, as a person would; where that leads elsewhere, all of the
calculation is written anew with more digits.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from numbers import Integral, Real

from scratch_embed.look.numbers import number
from scratch_embed.working import Line

TRIED = (4, 5, 6, 8, 10, 13, 16)
NEAR = 5e-3  # of the result: half of what a typed answer may be off
WORDS = {"ln": math.log, "sqrt": math.sqrt, "tanh": math.tanh, "max": max, "e": math.exp}
WORDS["exp"] = math.exp
WORDS["s"] = lambda x: 1 / (1 + math.exp(-x))
SIGNS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow, ast.USub: operator.neg,
}  # fmt: skip
NUMBER = r"\d[\d.]*(?:e[+-]\d+)?"
_digits: ContextVar[int] = ContextVar("digits", default=TRIED[0])


def short(x) -> str:
    """A number with four digits, or as many as `written_out` has come to."""
    single = isinstance(x, Real) and not isinstance(x, Integral)  # of which number would show more
    return number(float(x) if single else x, _digits.get())


def written_out(make: Callable[[], Line], tried: Sequence[int] = ()) -> Line:
    """The line that `make` writes with `short`, its parts included, with the fewest digits that let
    all of it come out; with the fewest of all where none of them does, as where rounding is all
    that is left.

    tried : how many digits, from few to many; of a trace 4 to 16.
    """
    first = None
    for digits in tried or TRIED:
        token = _digits.set(digits)
        try:
            line = make()
        finally:
            _digits.reset(token)
        if comes_out(line):
            return line
        first = first or line
    return first


def comes_out(line: Line) -> bool:
    """Whether each stage of numbers alone, worked out as it stands, is near what the line is.

    >>> comes_out(Line("x", ("(100.1 - 100.2)*8.941", "-1.341"), -1.3411))
    False
    >>> comes_out(Line("x", ("a - b", "e^2 / 8 - 0.5 (1 - 0.5)", "0.6736"), 0.673632))
    True
    """
    told = isinstance(line.value, Real)
    if told and not 0 < abs(line.value) < sys.float_info.min:  # such a number has few digits itself
        value = float(line.value)
        for amount in map(worked_out, line.stages):
            if amount is not None and not abs(amount - value) <= NEAR * abs(value):
                return False
    return all(map(comes_out, line.parts))


def worked_out(text: str) -> float | None:
    """What a stage of numbers comes to; None of one with names, or with terms left out.

    >>> worked_out("(0.5*(-2) + 1/4) / 3"), worked_out("1 / (1 + e^-0)"), worked_out("h[0]*2")
    (-0.25, 0.5, None)
    """
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    text = re.sub(r"(?<=[\d.)]) (?=[\d(])", " * ", text)  # 0.5 (1 - 0.5)
    text = re.sub(rf"\b(e\^|(?:ln|sqrt|tanh) )(-?{NUMBER})", r"\1(\2)", text)
    text = re.sub(r"\be\^-(\([^()]*\))", r"e(-\1)", text)
    text = re.sub(r"\bln ((?:s|e\^)\([^()]*\))", r"ln(\1)", text)
    text = re.sub(r"\be\^", "e", text).replace("^", "**")
    text = re.sub(r"\b(ln|sqrt|tanh) \(", r"\1(", text)
    try:
        return _amount(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, ArithmeticError, LookupError, TypeError, RecursionError):
        return None


def _amount(node: ast.expr) -> float:
    """Of numbers, signs and WORDS; LookupError or TypeError for all else."""
    if isinstance(node, ast.BinOp):
        return float(SIGNS[type(node.op)](_amount(node.left), _amount(node.right)))
    if isinstance(node, ast.UnaryOp):
        return SIGNS[type(node.op)](_amount(node.operand))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return WORDS[node.func.id](*map(_amount, node.args))
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return float(node.value)
    raise TypeError(ast.dump(node))
