"""`python -m lessons`: the map of the course. And the lists of labs and of terms."""

from __future__ import annotations

from pathlib import Path

from scratch_embed.lesson.usage import UsageError
from scratch_embed.lesson.walk import cells, marks
from scratch_embed.lesson.walk.course import Course
from scratch_embed.look.terminal import paint, visible, width, wrap

MORE = """\
python -m lessons 0             read a lesson: by number, name or part of it
python -m lessons 0 --step      walk through it, an Enter a step
python -m lessons exercise      write a piece yourself, and have it checked
python -m lessons quiz          questions of what you have read
python -m lessons play          pictures with something to move
python -m lessons glossary      the words, and the lessons that explain them
python -m lessons lab           the experiments
python -m lessons claims        what printed sources say, judged
python -m lessons --help        everything else"""


def greeting(course: Course) -> str:
    """The map: where to begin, the first path, the whole path, single questions."""
    if not course.lessons:
        return "There are no lessons yet."
    done = marks.finished()
    read = {n: _read(path) for n, path in course.lessons.items()}
    lines = [paint("scratch_embed: how embeddings work, computed by hand and checked", "bold"), ""]
    first = course.first_path or course.whole_path[:1]
    begin = course.following(done)
    if begin is None:
        lines += ["Every lesson is done: python -m lessons lab, or an exercise?", ""]
    else:
        lines += [f"{'Go on' if done else 'Begin'} here:  python -m lessons {begin} --step", ""]
    if course.first_path:
        total = sum(read[n].head.minutes for n in first if isinstance(read[n], cells.Lesson))
        lines += [paint(f"The first path: {len(first)} lessons, {total} minutes", "bold")]
        lines += _listed(read, first, done)
        lines += ["", paint("Then", "bold")]
    rest = [n for n in course.whole_path if not course.first_path or n not in first]
    lines += [*_listed(read, rest, done), ""]
    if course.questions:
        lines += [paint("Or one question", "bold")]
        lines += [_dotted(f"  {q}", f"lesson {n}") for q, n in course.questions.items()]
        lines += [""]
    return "\n".join([*lines, MORE])


def _read(path: Path) -> cells.Lesson | str:
    """The lesson, parsed; or, of a file that does not parse, the sentence that says so."""
    try:
        return cells.load(path)
    except SyntaxError as error:
        return f"{path.name} does not parse: {error.msg}, line {error.lineno}"


def _listed(read: dict[int, cells.Lesson | str], numbers: list[int], done: set[str]) -> list[str]:
    """number  minutes  done  title  needs, a line each; a file that does not parse is told."""
    lines = []
    for n in numbers:
        lesson = read[n]
        if isinstance(lesson, str):
            lines.append(f"  {n:>3}  {lesson}")
            continue
        title = lesson.title.removeprefix(f"{n}. ")
        head = lesson.head
        needs = f"needs {', '.join(map(str, head.needs))}" if head.needs else ""
        minutes = f"{head.minutes:>2} min" if head.minutes else ""
        mark = "done" if lesson.name in done else ""
        left = f"  {n:>3}  {minutes:>6}  {mark:<4}  "
        if visible(left + title + needs) > min(width(), 80) - 2:
            title = title.partition(":")[0].partition(",")[0]  # its first words will do
        lines.append(_dotted(left + title, needs, " "))
    return lines


def _dotted(left: str, right: str, dot: str = ".") -> str:
    """Left and right, with dots between them where there is room."""
    columns = min(width(), 80)
    gap = columns - visible(left) - visible(right) - 2
    return f"{left} {dot * gap} {right}".rstrip() if gap > 0 else f"{left}  {right.strip()}"


def labs_text(course: Course) -> str:
    """The labs with their questions."""
    if not course.labs:
        return "There are no labs yet."
    lines = []
    for name, path in course.labs.items():
        lines += [paint(name, "bold"), *wrap(cells.load(path).head.question, width(), "    ")]
    return "\n".join([*lines, "", "python -m lessons lab NAME runs one (--quick: a few seconds)"])


def glossary_text(course: Course, term: str | None = None) -> str:
    """All terms, or those that a word fits. Raises UsageError where none does."""
    terms = course.glossary
    if term is not None:
        terms = {t: said for t, said in terms.items() if term.casefold() in t.casefold()}
        if not terms:
            raise UsageError(f"the glossary has no {term}; python -m lessons glossary lists all.")
    lines = []
    for name, (lesson, said) in terms.items():
        lines += wrap(f"{said} (lesson {lesson})", width(), f"{paint(name, 'bold')}: ", "    ")
    return "\n".join(lines)
