"""One learner's file against its exercise: loaded, tried, and told in one sentence what is wrong.

The verdict is a dict of plain values, because it travels as JSON out of the process that ran it.
"""

from __future__ import annotations

import ast
import doctest
import importlib.util
import inspect
import io
import re
import sys
import tokenize
import traceback
import types
from bdb import BdbQuit
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from scratch_embed.lesson.exercises.compare import Wrong, difference, fit
from scratch_embed.lesson.exercises.exercise import Exercise, load
from scratch_embed.lesson.exercises.guilty import guilty_line
from scratch_embed.lesson.exercises.trial import Trial


class Quit(BaseException):
    """The learner's file tried to end the process."""


class TooMuch(BaseException):
    """The learner's file prints without end."""


def judge(exercise_path: str | Path, file: str | Path, timed: bool = True) -> dict[str, Any]:
    """Check one file.

    Returns {"passed", "found": {stage: text}, "sentence", "detail", "line"}; the last three are ""
    and None where all is well. A hand value that is wrong does not end the check: the random cases
    may know the cause.
    """
    exercise, file = load(Path(exercise_path)), Path(file)
    verdict = {"passed": False, "found": {}, "sentence": "", "detail": "", "line": None}
    trial = None
    try:
        ours = run_script(exercise.path)
        yours = learner_functions(exercise, file)
        trial = Trial(exercise, yours, vars(ours), timed)
        wrong = hand_values(exercise, trial, ours)
        wrong = _try_more(ours.check, trial, wrong)
        if wrong:
            raise wrong
        verdict["passed"] = True
    except Wrong as wrong:
        line = wrong.line or _line_to_look_at(wrong, exercise, file)
        verdict |= {"sentence": wrong.sentence, "detail": wrong.detail, "line": line}
    except BaseException as error:  # noqa: BLE001 - whatever the file raises is told
        verdict |= _told(error, file, trial)
    if trial:
        verdict["found"] = trial.found
    return verdict


def _try_more(check: Callable, trial: Trial, wrong: Wrong | None) -> Wrong | None:
    """Go on to the random cases; after a wrong hand value only for a cause to show with it."""
    if wrong is None:
        check(trial)
        trial.again()
        return None
    try:
        check(trial)
    except Wrong as other:
        if other.named:  # the mistake itself: it comes first, and the hand value shows what it does
            other.detail = f"{wrong.detail}\n\n{other.detail}"
            return other
    except Exception:  # noqa: BLE001, S110 - the hand value is told; one thing at a time
        pass
    return wrong


# ---- the learner's file --------------------------------------------------------------------------


def run_script(path: Path) -> types.ModuleType:
    """An exercise's own script as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def learner_functions(exercise: Exercise, file: Path) -> dict[str, Callable]:
    """Run the learner's file and take the functions of the contract from it."""
    source = file.read_bytes()
    try:
        source.decode(_coding(source))  # compile passes over letters of another one in a comment
        code = compile(source, str(file), "exec", dont_inherit=True)
    except UnicodeDecodeError as error:
        line = 1 + source[: error.start].count(b"\n")
        said = f"byte {source[error.start]:#x} is no {error.encoding.upper()}: save it as UTF-8"
        raise Wrong(f"Python cannot read the file: {said}", "", line) from None
    except (SyntaxError, ValueError) as error:  # ValueError, on older Pythons: a null byte
        before, null, _ = source.partition(b"\0")
        line = getattr(error, "lineno", None) or (1 + before.count(b"\n") if null else 1)
        text = (getattr(error, "text", "") or "").strip()
        raise Wrong(
            f"Python cannot read the file: {getattr(error, 'msg', error)}", text, line
        ) from None
    module = types.ModuleType(file.stem)
    module.__file__ = str(file)
    sys.modules[file.stem] = module
    with np.errstate():  # what the file sets for itself does not hold for the check
        exec(code, vars(module))  # noqa: S102 - this is the task
    _check_bounds(module)
    return {f.name: _function(f, module, code) for f in exercise.functions}


def _check_bounds(module: types.ModuleType) -> None:
    """Let the file's compiled loops raise where they leave an array: writing there would damage the
    process, which would end later, maybe in the midst of another file."""
    for value in vars(module).values():
        options = getattr(value, "targetoptions", None)  # of a dispatcher of Numba's
        if isinstance(options, dict):
            options["boundscheck"] = True


def _coding(source: bytes) -> str:
    try:
        return tokenize.detect_encoding(io.BytesIO(source).readline)[0]
    except SyntaxError:  # which does not say where in the first two lines a byte is no UTF-8
        source.decode("utf-8")
        raise


def _function(contract: ast.FunctionDef, module: types.ModuleType, code) -> Callable:
    name, parameters = contract.name, [a.arg for a in contract.args.args]
    function = getattr(module, name, None)
    if function is None:
        own = {k: v for k, v in vars(module).items() if inspect.isfunction(v)}
        made = f"; it defines {', '.join(own)}" if own else ""
        line = _line_of(next(iter(own.values()))) if own else None
        raise Wrong(f"there is no function {name} in the file{made}", line=line)
    if not callable(function):
        raise Wrong(f"{name} is of type {type(function).__name__} and must be a function")
    try:
        inspect.signature(function).bind(*parameters)
    except TypeError:
        raise Wrong(
            f"{name}{inspect.signature(function)} does not take the arguments of its contract, "
            f"{name}({', '.join(parameters)})",
            line=_line_of(function),
        ) from None
    except ValueError:  # it has no signature to look at
        pass
    return function


def _line_of(function: Callable) -> int | None:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return getattr(code, "co_firstlineno", None)


def _line_to_look_at(wrong: Wrong, exercise: Exercise, file: Path) -> int | None:
    """Where the function that the sentence speaks of makes what is wrong."""
    for contract in exercise.functions:
        if re.search(rf"\b{contract.name}\b", wrong.sentence):
            return guilty_line(file, contract.name, wrong.result, wrong.variable, wrong.pattern)
    return None


# ---- hand values ---------------------------------------------------------------------------------


def hand_values(exercise: Exercise, trial: Trial, ours: types.ModuleType) -> Wrong | None:
    """Work through the examples in the contracts, with the learner's functions in their place.

    Returns the first value that is wrong, or None; an answer without form or an error is raised.
    """
    done = total = 0
    first = None
    for contract in exercise.functions:
        scope, places = {**vars(ours), **vars(trial.yours)}, {}
        for example in doctest.DocTestParser().get_examples(ast.get_docstring(contract)):
            if example.exc_msg:
                total += 1
                done += _refuses(example, {**scope, **_raw(trial)})
            elif not example.want:
                places |= _places(example.source)
                exec(example.source, scope)  # noqa: S102 - our own examples
            else:
                total += 1
                wrong = _value(example, scope, contract.name)
                if wrong:
                    shown = _first_name(example.source)
                    wrong.result = places.get(shown)
                    changed = exercise.in_place.get(contract.name, ())
                    wrong.variable = shown if shown in changed else None
                first, done = first or wrong, done + (wrong is None)
    trial.found["hand values"] = f"{done} of {total} agree"
    return first


def _raw(trial: Trial) -> dict[str, Callable]:
    return {name: asked.call for name, asked in vars(trial.yours).items()}


def _value(example: doctest.Example, scope: dict, name: str) -> Wrong | None:
    expected = ast.literal_eval(example.want)
    got = eval(example.source, scope)
    arrays = isinstance(expected, (list, float)) and _numeric(expected)
    off = None
    if arrays:
        wanted = np.array(expected, float)
        off = difference(fit(got, wanted, f"the answer of {name}"), wanted)
    elif got != expected:
        off = "differs"
    if off is None:
        return None
    detail = f"{example.source.strip()}\nshould give   {expected}\nand gives     {got}"
    return Wrong(f"{name}: the worked example of the contract comes out otherwise", detail)


def _places(source: str) -> dict[str, int]:
    """{"dh": 0, "dE": 1} of `dh, dE = logits_backward(...)`"""
    statement = ast.parse(source).body[-1]
    if not (isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call)):
        return {}
    targets = getattr(statement.targets[0], "elts", [])
    return {target.id: place for place, target in enumerate(targets)}


def _first_name(source: str) -> str:
    """dE of `dE.round(4).tolist()`"""
    return re.match(r"\w*", source)[0]


def _numeric(values) -> bool:
    if isinstance(values, list):
        return all(map(_numeric, values))
    return isinstance(values, (int, float))


def _refuses(example: doctest.Example, scope: dict) -> bool:
    """Whether the example raises the error that it shows."""
    error = example.exc_msg.partition(":")[0].strip()
    try:
        exec(example.source, scope)  # noqa: S102
    except Exception as raised:
        if type(raised).__name__ == error:
            return True
        raise
    raise Wrong(f"{example.source.strip()} must raise {error}, and does not")


# ---- errors --------------------------------------------------------------------------------------


def _told(error: BaseException, file: Path, trial: Trial | None) -> dict[str, Any]:
    """An error in one sentence, with the learner's line that raised it."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(file)]
    if not frames and hasattr(error, "raised_by"):
        return _compiler_says(error, file)
    if not frames:
        lines = "".join(traceback.format_exception(error)).rstrip()
        return {"sentence": "the check itself failed, which is our mistake", "detail": lines}
    text = " ".join(str(error).split())
    kinds = {
        NotImplementedError: text or "nothing is written here yet",
        Quit: "this ends the whole process; a function only returns",
        SystemExit: "this ends the whole process; a function only returns",
        TooMuch: f"this prints without end: {text}",
        RecursionError: _too_deep(trial),
        MemoryError: ": ".join(filter(None, ("this asks for more memory than there is", text))),
        EOFError: "this waits for input, and a check has nobody to type it",
        BdbQuit: "this stops in a debugger, and a check has nobody to type there",
    }
    said = type(error).__name__ + (f": {text}" if text else " is raised, and an answer is due")
    sentence = next((s for kind, s in kinds.items() if isinstance(error, kind)), said)
    return {"sentence": sentence, "detail": frames[-1].line or "", "line": frames[-1].lineno}


def _too_deep(trial: Trial | None) -> str:
    """Of a function that calls itself: without end, or for too many steps?"""
    done = re.match(r"(\d+) of (\d+)", trial.found.get("hand values", "")) if trial else None
    if done is None or done[1] != done[2]:
        return "the function calls itself without end"
    return (
        f"the function comes to an end on a small input, and on a larger one it calls itself more "
        f"than {sys.getrecursionlimit():,} deep, which Python does not allow: use a loop"
    )


def _compiler_says(error: Exception, file: Path) -> dict[str, Any]:
    """An error from below a function that has no frame of its own: Numba, or compiled code."""
    first = [line.strip() for line in str(error).splitlines() if line.strip()][:2]
    number = re.search(r"line (\d+)", str(error))
    line = int(number[1]) if number else guilty_line(file, error.raised_by)
    sentence = f"{error.raised_by} raises {type(error).__name__}: {' '.join(first)}"
    return {"sentence": sentence, "detail": str(error).strip()[:1500], "line": line}
