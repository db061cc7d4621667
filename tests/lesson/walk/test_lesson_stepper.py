"""Stepping through a small lesson: what each key does, and what is asked, judged and remembered."""

from __future__ import annotations

import pytest

from scratch_embed.lesson import notes
from scratch_embed.lesson.quiz import memory
from scratch_embed.lesson.quiz.asked import questions
from scratch_embed.lesson.walk import marks, places
from scratch_embed.lesson.walk.fading import can_be_asked
from scratch_embed.working import Line
from tests.lesson.lesson_demo import write
from tests.lesson.walk.person import walk

STEPS = 5


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """A state folder of its own, and a window of 80 by 24."""
    monkeypatch.setenv("SCRATCH_EMBED_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")


def play(*keys, then="on"):
    """Press these, then Enter again and again. Where an answer is wanted, "" shows it."""
    left = list(keys)

    def person(frame):
        if left:
            return left.pop(0)
        return "" if not frame.names else then

    return person


def demo(tmp_path, *keys, extra="print('extra ran')", then="on"):
    return walk(write(tmp_path, extra=extra), play(*keys, then=then))


def seen(person):
    return "\n".join("\n".join([*frame.page, frame.note]) for frame in person.frames)


def test_enter_walks_through_to_the_end(tmp_path, capsys):
    record, person = demo(tmp_path, "on", "18")
    assert record.closed and record.passed and record.questions[0].right
    assert [frame.step for frame in person.frames] == [
        "1/5", "2/5", "2/5", "3/5", "4/5", "5/5"]  # fmt: skip
    assert "Right." in seen(person) and "1 of 1 guesses right" in seen(person)
    assert "You went through all 5 steps. 1 of 1 checks" in capsys.readouterr().out
    assert places.kept("ch00_demo", STEPS) is None


def test_the_judgement_is_the_last_thing_on_the_screen(tmp_path):
    extra = "q = guess('How many?')\nq.answer(1.4)\nprint('and more\\n' * 40)"
    _, person = demo(tmp_path, "on", "18", "on", "-1.4", extra=extra)
    judged = person.frames[4]
    assert "You said -1.4. No. The number is right, and its sign" in " ".join(judged.page[-3:])
    assert judged.page[-1] == "  = 1.4."
    assert "How many?" in "\n".join(judged.page)  # and the question is still there


def test_a_wrong_answer_comes_back_at_the_end(tmp_path, capsys):
    _record, person = demo(tmp_path, "on", "3")
    end = "\n".join(person.frames[-1].page)
    assert "How many numbers has a table of 6 by 3? You said 3; it is 18." in " ".join(end.split())
    assert "0 of 1 guesses right" in end and "in: A question" in end and "   2  " in end
    assert list(notes.read("quiz").values()) == [False]  # for quiz --missed


def test_nobody_is_asked_for_what_cannot_be_typed():
    assert can_be_asked(Line("e^2", ("exp(2)", "7.38906"), 7.38906))
    assert not can_be_asked(Line("e^1000", ("exp(1000)", "inf"), float("inf")))


def test_what_was_not_answered_is_not_called_right(tmp_path):
    _record, person = demo(tmp_path)
    end = "\n".join(person.frames[-1].page)
    assert "1 of 1 questions were not answered" in end and "right" not in end
    assert "PASSED" not in seen(person)


def test_back_shows_screens_again_and_runs_nothing(tmp_path):
    extra = "tries = globals().get('tries', 0) + 1\nprint('try', tries)"
    keys = ["on", "18", "on", "back", "back", "back", "back", "on", "on"]
    _record, person = demo(tmp_path, *keys, extra=extra)
    assert "try 1" in seen(person) and "try 2" not in seen(person)
    notes_seen = [frame.note for frame in person.frames]
    assert "This is the beginning." in notes_seen
    assert [frame.step for frame in person.frames[3:8]] == ["3/5", "2/5", "2/5", "1/5", "1/5"]


def test_running_again_replaces_what_was_recorded(tmp_path):
    extra = "tries = globals().get('tries', 0) + 1\nprint('try', tries)\n"
    extra += "compare('late', hand=2, ours=tries)"
    record, person = demo(tmp_path, "on", "18", "on", "again", extra=extra)
    assert "try 2" in seen(person) and record.passed and len(record.rows) == 2


def test_going_to_a_later_step_runs_those_between(tmp_path):
    record, person = demo(tmp_path, "step 5", "step 9", "sections", "step 1", "quit")
    assert "0.58" not in "\n".join(person.frames[1].page)
    assert "compare" not in record.names and record.questions[0].shown == "18"
    assert person.frames[1].step == "4/5" or person.frames[1].step == "5/5"
    assert "There are steps 1 to 5; this is step " in seen(person)


def test_sections_and_search_lead_to_steps(tmp_path):
    _, person = demo(tmp_path, "sections", "step 2", "", "search TABLE", "on", "quit")
    listing = "\n".join(person.frames[1].page)
    assert "->   1  0. A demo lesson" in listing and "     2  A question" in listing
    assert person.frames[2].step == "2/5" and not person.frames[2].names
    hits = "\n".join(person.frames[4].page)
    assert "   2  ? How many numbers has a table of 6 by 3?" in hits
    _, person = demo(tmp_path, "again", "search nowhere", "quit")
    assert "nowhere is not to be found." in seen(person)


def test_a_search_finds_no_code_and_no_answer_before_its_question(tmp_path):
    searched = ["search 6 times 3", "search answer(", "search How many"]
    _, person = demo(tmp_path, *searched, "quit")
    assert [f.note.split(" is not")[0] for f in person.frames[1:]] == [s[7:] for s in searched]
    _, person = demo(tmp_path, "on", "18", "on", "search 6 times 3", "quit", "quit")
    assert "6 times 3" in person.frames[-2].page[0] and person.frames[-2].head.startswith("6 times")


def test_another_answer_is_judged_where_a_later_step_tells(tmp_path):
    extra = "q = guess('Two?')\n\n# %%\nq.answer(2)"
    keys = ["on", "18", "on", "9", "on", "on", "back", "back", "back", "again", "2"]
    record, person = demo(tmp_path, *keys, extra=extra)
    assert "You said 9. No." in seen(person) and "You said 2. Right." in seen(person)
    assert [q.typed for q in record.questions] == ["18", "2"]
    assert "You said 9" not in "\n".join(person.frames[-1].page)


def test_the_code_is_shown_when_asked_for(tmp_path):
    _, person = demo(tmp_path, "view", "on", "quit")
    assert "h = np.array" not in "\n".join(person.frames[0].page)
    code = "\n".join(person.frames[1].page)
    assert "16 | h = np.array([0.6, 0.1, 0.3])" in code  # the line number in the file
    assert "11 | import ...  (3 lines, folded)" in code or "folded" not in code


def test_the_code_beside_an_open_question_does_not_tell_its_answer(tmp_path):
    extra = "q = guess('How many?')\nmany = 1 + 2\nq.answer(\n    many, because='2 and 1')\n"
    extra += "print(many)"
    _, person = demo(tmp_path, "on", "18", "on", ":v", "on", "3", "on", "view", "on", extra=extra)
    asked, told = ("\n".join(f.page) for f in person.frames if "| q = guess" in "\n".join(f.page))
    assert "| many = 1 + 2" in asked and "| print(many)" in asked and "2 and 1" not in asked
    assert "| q.answer(...)  (folded until it is told)" in asked
    assert "|     many, because='2 and 1')" in told and "folded until" not in told


def test_it_resumes_where_one_left_if_one_wants(tmp_path, capsys):
    demo(tmp_path, "on", "3", "on", "quit")
    assert "You are at step 3 of 5" in capsys.readouterr().out
    record, person = demo(tmp_path)
    assert "Last time you came to step 3 of 5" in seen(person)
    assert person.frames[1].step == "3/5" and record.closed
    assert "You said 3; it is 18" in " ".join(seen(person).split())  # remembered from last time
    demo(tmp_path, "on", "3", "on", "quit")
    record, person = demo(tmp_path, "again")
    assert person.frames[1].step == "1/5"


def test_a_window_that_is_closed_loses_no_place(tmp_path):
    def closes(frame):
        if frame.step == "3/5":
            raise SystemExit  # as good as a hang-up
        return "3" if not frame.names else "on"

    with pytest.raises(SystemExit):
        walk(write(tmp_path), closes)
    place = places.kept("ch00_demo", STEPS)
    assert place.step == 3 and len(place.missed) == 1


@pytest.mark.parametrize("leaves", [["quit"], ["again", "quit"], ["on", "step 1", "quit"]])
def test_the_place_outlives_a_walk_that_ends_at_the_beginning(tmp_path, leaves):
    demo(tmp_path, "on", "3", "on", "quit")
    demo(tmp_path, *leaves)
    _record, person = demo(tmp_path, "quit")
    assert "Last time you came to step 3 of 5" in seen(person)


def test_a_damaged_note_of_the_place_counts_as_none(tmp_path):
    odd = [{"step": 2, "of": STEPS, "missed": [one]} for one in (["1", *"qts"], [9**9, *"qts"])]
    wrong = {"step": 99, "of": 5, "missed": []}, {"step": "x"}, 7, {"step": 2, "of": 4}
    for damage in (*wrong, *odd):
        notes.write("places", {"ch00_demo": damage})
        assert places.kept("ch00_demo", STEPS) is None


def test_a_note_with_half_a_letter_is_written_as_any(tmp_path):
    notes.write("finished", {"lessons": ["\ud800"]})
    assert notes.read("finished") == {"lessons": ["\ud800"]}


def test_an_error_is_shown_and_the_lesson_goes_on(tmp_path):
    record, person = demo(tmp_path, extra="h / undefined_name")
    assert "NameError" in seen(person) and person.frames[-1].step == "5/5"
    assert not record.passed and not record.closed
    assert "an error left standing: FAILED" in " ".join(person.frames[-1].page)


FOUR = "for x in (0.5, 2.0, 3.0, 4.0):\n    worked.dot(f'z[{x:g}]', [x, 1.0], [2.0, -1.0])"


def test_workings_fade(tmp_path):
    """h . cat was the first dot: shown. Of the next one line is asked, of later ones all."""
    answers = ["on", "18", "on", "0", "on", "-3", "on", "3", "on", ""]
    _record, person = demo(tmp_path, *answers, extra=FOUR)
    asked = ["\n".join(f.page) for f in person.frames if not f.names and f.step == "3/5"]
    assert "z[0.5] = 0.5*2 + 1*(-1) = 1 - 1 = ?" in asked[0]
    assert "z[2] = 2*2 + 1*(-1) = ?" in asked[1]
    told = seen(person)
    assert "You said 0. Right." in told and "You said -3. No. The number is right, and" in told
    assert "You said 3. No. That is z[2]: the right number, of another place." in told
    end = " ".join(" ".join(person.frames[-1].page).split())
    assert "1 of 3 lines that you worked out were right" in end
    assert "z[2] = 2*2 + 1*(-1) = ? You said -3; it is 3" in end


def test_a_wrong_line_says_how_far_and_where_to_look_and_comes_back_in_the_quiz(tmp_path):
    answers = ["on", "18", "on", "v", "0", "on", "7", "on", "5", "on", "-1000", "on"]
    _, person = demo(tmp_path, *answers, extra=FOUR)
    told = " ".join(seen(person).split())
    assert "You said 7. No. That is 4 too high. Next comes 4 - 1. o opens the line into" in told
    missed = [key for key, right in memory.answered().items() if not right]
    assert missed == ["ch00_demo: z[2] = 2*2 + 1*(-1) = ?", "ch00_demo: z[4] = 4*2 + 1*(-1) = ?"]
    path = write(tmp_path, extra=FOUR)
    asked = {one.key: one.question for one in questions(path, lines=True)}
    assert [asked[key].value for key in missed] == [3.0, 7.0]
    assert len(asked) == 6 and len(questions(path)) == 1


NUDGED = "worked.nudge('h', lambda h: float((h * h).sum()), h, 0)\n"


def test_what_was_shown_in_a_finished_lesson_is_asked_at_once(tmp_path):
    """The first nudge: a line an Enter. After it, or after a lesson with one: one stop, asked."""
    for kinds, stops in (((), [5, 2]), (("nudge",), [2, 2])):
        marks.finish("ch07_other", kinds)
        _, person = demo(tmp_path, "on", "18", extra=NUDGED + f"print('{'-' * 9}')\n" + NUDGED)
        frames = [frame for frame in person.frames if frame.step == "3/5"]
        later = ["-" * 9 in "".join(frame.page) for frame in frames]
        assert [later.count(False), later.count(True)] == stops
        assert "L(h[0] - h) = " in frames[-1].page[-4] + frames[-1].page[-3]
        assert frames[-1].page[-1].startswith("  slope = 0.00024 / 0.0002 = ")


ANOTHER = "guess('Which?', ['a', 'b']).answer('a')\nguess('And that?').answer(2)"


@pytest.fixture
def third(tmp_path):
    """A lesson that needs two others, with two questions each that can stand alone."""
    for number in (0, 1):
        write(tmp_path, number, extra=ANOTHER)
    path = write(tmp_path, 2)
    text = path.read_text(encoding="utf-8")
    text = text.replace("**Needs** nothing", "**Needs** lessons 0 and 1")
    path.write_text(text, encoding="utf-8")
    return path


def opening(path, *typed):
    """The questions that a lesson opens on: of which lesson each is, and its words."""
    answers, asked = list(typed), []

    def person(frame):
        if frame.names:
            return "on" if frame.step == "1/5" else "quit"
        if frame.step == "1/5":
            lesson = [line for line in frame.page if line.startswith("Lesson ")][-1][7]
            words = [line for line in frame.page if line.startswith("  ? ")][-1]
            asked.append(f"{lesson} {words.split()[1]}")
        return answers.pop(0) if answers else ""

    places.keep(path.stem, STEPS, None)  # from the beginning
    walk(path, person)
    return asked


def test_a_lesson_opens_on_what_was_missed_then_on_what_was_finished(third):
    assert opening(third) == []  # nothing of it was shown
    marks.finish("ch01_demo")
    assert opening(third, "b", "18") == ["1 Which?", "1 How"]
    assert memory.answered() == {
        "ch01_demo: Which?": False, "ch01_demo: How many numbers has a table of 6 by 3?": True
    }  # fmt: skip
    assert opening(third, "", "") == ["1 Which?", "1 How"]
    memory.remember("ch01_demo: Which?", True)
    marks.finish("ch00_demo")
    assert opening(third) == ["0 Which?", "0 How"]  # never asked
    memory.remember("ch00_demo: Which?", True)
    memory.remember("ch01_demo: Which?", False)
    assert opening(third)[0] == "1 Which?"


def test_what_is_too_long_for_the_head_is_shown(tmp_path):
    extra = "for x in (2.0, 3.0, 0.531, 7.534522):\n    worked.norm(f'|{x:g}|', [0.0, x])"
    _, person = demo(tmp_path, extra=extra)
    asked = [frame.page[-1] for frame in person.frames if not frame.names and frame.step == "3/5"]
    assert [line.split()[0] for line in asked] == ["|3|", "|0.531|"]


def test_a_line_opens_and_closes(tmp_path):
    extra = "worked.matmul('C', [[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.0], [0.0, 2.0]])"
    keys = ["on", "18", "on", "open", "open", "close", "close", "on"]
    _, person = demo(tmp_path, *keys, extra=extra)
    frames = [f for f in person.frames if f.step == "3/5"]
    ends = [frame.page[-1] for frame in frames]
    assert ends[:6] == [
        "+ C[0] = [1, 4]", "    + [0,0] = 1*1 + 2*0 = 1 + 0 = 1", "          1*1 = 1",
        "    + [0,0] = 1*1 + 2*0 = 1 + 0 = 1", "+ C[0] = [1, 4]", "+ C[1] = [3, 8]"]  # fmt: skip
    assert "close" in frames[1].names and "close" not in frames[0].names


def test_forgetting_to_sum_a_repeat_is_named(tmp_path):
    scatter = "worked.scatter_add('dE', [1, 1], [[1.0, 2.0], [0.5, -1.0]], 2, of='g')\n"
    _, person = demo(tmp_path, "on", "18", *["on"] * 4, "[0.5, -1]", extra=scatter * 2)
    assert "That is one of the 2 parts; they are added up." in seen(person)


def test_one_goes_into_an_operation_of_the_lessons_own(tmp_path):
    extra = "def twice(x):\n    y = 2 * x\n    return y\n\n\nprint(twice(h))"
    _, person = demo(tmp_path, "on", "18", "on", "into", "on", "out", extra=extra)
    inside = [f for f in person.frames if "out" in f.names]
    assert inside[0].page[0].endswith("twice(x (3,))")
    assert "y = 2 * x" in inside[0].page[-2] and inside[0].page[-1].endswith("[1.2 0.2 0.6]")
    assert "return (3,) = [1.2 0.2 0.6]" in inside[1].page[-1]


@pytest.mark.parametrize("columns, lines", [(60, 20), (120, 40), (40, 12)])
def test_every_screen_fits(tmp_path, monkeypatch, columns, lines):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("LINES", str(lines))
    extra = "print('a word ' * 60)\nfor k in range(70):\n    print('line', k)"
    _, person = demo(tmp_path, "on", "3", "view", "on", extra=extra)  # Person measures each
    shown = seen(person)
    assert all(f"line {k}" in shown for k in range(70))  # nothing scrolled by unseen


def test_one_may_go_back_from_the_end_and_on_from_a_question(tmp_path):
    _record, person = demo(tmp_path, "on", ":g 4", "on", "step 2", extra="print('third')")
    steps = [frame.step[0] for frame in person.frames]
    assert steps == ["1", "2", "4", "5", "2", "3", "4", "5"]  # the end stands under the last step
    assert person.frames[3].page == person.frames[7].page


def test_one_may_go_on_from_a_question_from_before(third):
    marks.finish("ch01_demo")
    _record, person = walk(third, play(":g 3", "quit"))
    assert [frame.step for frame in person.frames] == ["1/5", "3/5"]


def test_an_earlier_step_runs_again_on_the_variables_that_it_had(tmp_path):
    """A later step gives the name another value, and one after it reads that."""
    extra = "size = len(h)\nprint('size', size)\n\n# %%\nh = np.append(h, 1.0)\n\n"
    extra += "# %%\nprint('now', len(h))"
    keys = ["on", "18", "step 5", "step 3", "again"]
    record, person = demo(tmp_path, *keys, extra=extra)
    assert "size 3" in seen(person) and "size 4" not in seen(person)
    assert "now 4" in seen(person) and "now 5" not in seen(person) and "now 3" not in seen(person)
    assert record.passed and seen(person).count("size 3") > 1
