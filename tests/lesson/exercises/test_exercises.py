"""The exercises: solutions pass their own check, wrong answers are refused and told by name."""

from __future__ import annotations

import ast
import difflib
import doctest
import tracemalloc
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from scratch_embed.lesson.exercises.compare import Wrong, shown
from scratch_embed.lesson.exercises.exercise import find
from scratch_embed.lesson.exercises.judge import run_script
from scratch_embed.lesson.exercises.run import Job, check_all
from scratch_embed.lesson.exercises.trial import Trial
from scratch_embed.lesson.walk import cells
from scratch_embed.lesson.walk.course import Course
from tests.lesson.exercises.exercise_mutants import MUTANTS

ROOT = Path(__file__).resolve().parents[3]
COURSE = Course(ROOT / "lessons")
EXERCISES = find(ROOT / "lessons" / "exercises")
LEVELS = ["easy", "medium", "hard"]


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    """Every solution, every stub and every mutant, checked in one process; without the clock."""
    folder = tmp_path_factory.mktemp("answers")
    answers = {("solution", name): e.solution for name, e in EXERCISES.items()}
    answers |= {("stub", name): e.stub("check it") for name, e in EXERCISES.items()}
    for mutant in MUTANTS:
        solution = EXERCISES[mutant.exercise].solution
        answers[mutant.mistake, mutant.exercise] = solution.replace(mutant.old, mutant.new)
    jobs = []
    for n, ((_, name), text) in enumerate(answers.items()):
        path = folder / f"answer_{n}.py"
        path.write_text(text, encoding="utf-8")
        jobs.append(Job(EXERCISES[name], path, timed=False, seconds=120))
    return dict(zip(answers, check_all(jobs)))


@pytest.mark.parametrize("name", EXERCISES)
def test_the_solution_passes(verdicts, name):
    verdict = verdicts["solution", name]
    assert verdict["passed"], verdict
    assert verdict["found"]["hand values"] and len(verdict["found"]) > 1
    assert not verdict["printed"]


@pytest.mark.parametrize("name", EXERCISES)
def test_a_solution_begins_from_zeros(name):
    """A slip in one that begins from np.empty shows what memory held: now this, now that."""
    assert "np.empty" not in EXERCISES[name].solution


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: f"{m.exercise}: {m.mistake}")
def test_a_wrong_answer_is_refused_and_told(verdicts, mutant):
    assert EXERCISES[mutant.exercise].solution.count(mutant.old) == 1
    verdict = verdicts[mutant.mistake, mutant.exercise]
    assert not verdict["passed"]
    assert mutant.says in f"{verdict['sentence']}\n{verdict['detail']}"
    assert "our mistake" not in verdict["sentence"]
    text = EXERCISES[mutant.exercise].solution.replace(mutant.old, mutant.new)
    guilty = text.splitlines()[verdict["line"] - 1].strip()
    assert guilty and not guilty.startswith(("def ", "@", "import ", "from "))


def test_most_lines_pointed_at_are_those_that_were_edited(verdicts):
    """The others leave a line out, or spoil what a line below makes."""
    hits = 0
    for mutant in MUTANTS:
        right = EXERCISES[mutant.exercise].solution
        wrong = right.replace(mutant.old, mutant.new)
        changes = difflib.SequenceMatcher(None, right.splitlines(), wrong.splitlines())
        edited = [op[3:] for op in changes.get_opcodes() if op[0] != "equal"]
        line = verdicts[mutant.mistake, mutant.exercise]["line"] - 1
        hits += any(first <= line < max(last, first + 1) for first, last in edited)
    assert hits >= 0.85 * len(MUTANTS), f"{hits} of {len(MUTANTS)}"


@pytest.mark.parametrize("name", EXERCISES)
def test_a_stub_says_that_it_is_empty_and_where(verdicts, name):
    verdict, stub = verdicts["stub", name], EXERCISES[name].stub("check it")
    first = EXERCISES[name].functions[0].name
    assert not verdict["passed"] and verdict["sentence"] == f"{first} is yours to write"
    assert "NotImplementedError" in stub.splitlines()[verdict["line"] - 1]
    assert "scratch_embed" not in stub and "check it --hint" in stub


@pytest.mark.parametrize("command", ['--folder """', 'x""""y', "--folder C:\\Users\\new", 'x"'])
def test_a_stub_can_be_read_whatever_the_folder_is_called(command):
    for exercise in EXERCISES.values():
        assert command in ast.get_docstring(ast.parse(exercise.stub(command)))


def test_each_exercise_refuses_three_wrong_answers_and_there_are_enough():
    counts = Counter(mutant.exercise for mutant in MUTANTS)
    assert len(EXERCISES) >= 15 and set(counts) == set(EXERCISES)
    assert min(counts.values()) >= 3
    vague = ("worked", "should be", "wrong", "is nan", "is inf")
    named = Counter(m.exercise for m in MUTANTS if not m.says.startswith(vague))
    assert min(named[name] for name in EXERCISES) >= 3, named


def test_they_are_numbered_in_the_order_of_their_lessons():
    assert {exercise.level for exercise in EXERCISES.values()} == set(LEVELS)
    assert [e.number for e in EXERCISES.values()] == list(range(1, len(EXERCISES) + 1))
    path = COURSE.whole_path
    places = [path.index(exercise.lesson) for exercise in EXERCISES.values()]
    assert places == sorted(places)


@pytest.mark.parametrize("name", EXERCISES)
def test_the_lesson_that_an_exercise_names_names_it(name):
    assert name in cells.load(COURSE.lessons[EXERCISES[name].lesson]).head.exercises


@pytest.mark.parametrize("name", EXERCISES)
def test_every_contract_has_hints_and_an_example_that_is_true(name):
    exercise = EXERCISES[name]
    assert len(exercise.hints) >= 2 and exercise.title and "\n\n" in exercise.doc
    for function in exercise.functions:
        assert ">>> " in ast.get_docstring(function)
    module = run_script(exercise.path)
    for function in exercise.functions:
        text = ast.get_docstring(function)
        case = doctest.DocTestParser().get_doctest(text, vars(module), name, None, 0)
        assert doctest.DocTestRunner().run(case).failed == 0


def test_gradients_are_checked_where_there_is_a_backward(verdicts):
    """With repeated ids; `Trial.ids` makes a repeat, and leaves a row out."""
    for name, exercise in EXERCISES.items():
        if any(f.name.endswith("backward") for f in exercise.functions):
            assert "gradients" in verdicts["solution", name]["found"]
    trial = Trial(EXERCISES["lookup_backward"], {}, {})
    for rng in trial.rounds(20):
        ids = trial.ids(rng, 6, 2, 3)
        assert ids[0, 0] == ids[-1, -1] and len(set(ids.flat)) < 6


@pytest.mark.parametrize("fast, passes", [(1.0, True), (3.0, False)])
def test_speed_is_judged_against_the_readable_loop(fast, passes):
    """On a clock of our own: the loop takes 20 ticks, and 10 times as fast is asked."""
    now = [0.0]

    def taking(ticks):
        def work(n):
            now[0] += ticks

        return work

    exercise = EXERCISES["bpe_merge"]
    trial = Trial(exercise, {"f": taking(fast)}, {"f": taking(fast)}, clock=lambda: now[0])
    if passes:
        trial.faster("f", taking(20.0), times=10, n=1)
        assert "20 times as fast" in trial.found["speed"]
    else:
        with pytest.raises(Wrong, match="right, but slow: 7 times"):
            trial.faster("f", taking(20.0), times=10, n=1)


def test_a_mutant_of_the_check_itself_would_be_seen():
    """`same` compares what a function changes in place, and every number of a result."""

    def right(table, x):
        table += x

    def silent(table, x):
        pass

    exercise = EXERCISES["fast_scatter_add"]  # which changes its table
    table = np.ones(3)
    name, ours = "scatter_add", {"scatter_add": right}
    Trial(exercise, ours, ours).same(name, table=table, x=1.0)
    with pytest.raises(Wrong, match=r"after scatter_add, table at \[0\] is 1 and should be 2"):
        Trial(exercise, {name: silent}, ours).same(name, table=table, x=1.0)
    assert table.tolist() == [1, 1, 1]


def test_several_arrays_are_shown_one_by_one():
    told = shown("answers", (np.eye(2), np.arange(2)))
    assert told == "answers[0] = [[1., 0.],\n              [0., 1.]]\nanswers[1] = [0, 1]"


@pytest.mark.parametrize("first", [3.0, None])
def test_a_mistake_is_named_only_where_it_explains_the_right_answers_too(first):
    exercise = EXERCISES["lookup_backward"]

    def right(x):
        return 2 * x

    def yours(x):  # the 2 is not forgotten: there are answers that it is in
        return 2 * x if x < 5 else x

    def forgotten(x):
        return x

    trial = Trial(exercise, {"f": yours}, {"f": right})
    with pytest.raises(Wrong) as told:
        for x in filter(None, (first, 7.0)):
            trial.same("f", {"the 2 is forgotten": forgotten}, x=x)
    assert told.value.named is (first is None)
    assert ("the 2 is forgotten" in str(told.value)) is (first is None)


def test_a_mistake_in_a_gradient_is_named_only_where_it_explains_the_right_ones_too():
    trial = Trial(EXERCISES["lookup_backward"], {}, {})
    x = np.array([1.0, 2.0])
    known = {"the 2 is forgotten": lambda dout: dout}
    trial.gradients("f", lambda x: 2 * x, lambda dout: 2 * dout, mistakes=known, x=x)
    with pytest.raises(Wrong) as told:
        trial.gradients("f", lambda x: 2 * x, lambda dout: dout, mistakes=known, x=x)
    assert "the 2 is forgotten" not in str(told.value)


def test_large_arguments_are_not_kept():
    """An exercise may ask the same a hundred times, of megabytes."""
    trial = Trial(EXERCISES["lookup_backward"], {"f": lambda a: a}, {"f": lambda a: a})
    tracemalloc.start()
    for _ in range(10):
        trial.same("f", a=np.ones(100_000))
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert held < 3 * 800_000
