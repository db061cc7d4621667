"""`python -m lessons`: what it lists and runs, its exit codes, and its words for wrong input."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scratch_embed.lesson import notes
from scratch_embed.lesson.walk.cli import guarded, main
from tests.lesson.lesson_demo import write
from tests.lesson.walk.test_lesson_runner import ROOT, script


@pytest.fixture
def folder(tmp_path):
    """Two sound lessons and one that crashes between them."""
    write(tmp_path / "lessons", 0)
    write(tmp_path / "lessons", 3, extra="1 / 0")
    write(tmp_path / "lessons", 12)
    return tmp_path / "lessons"


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """Marks of finished lessons go to a folder of the test's own."""
    monkeypatch.setenv("SCRATCH_EMBED_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "80")


def plan(folder):
    text = 'first_path = [3]\nwhole_path = [12, 3]\n[questions]\n"Why three?" = 3\n"No?" = 77\n'
    (folder / "course.toml").write_text(text, encoding="utf-8")
    (folder / "glossary.toml").write_text(
        'row = [0, "one line of a table"]\n"Unit" = [3, "a length of one"]\n', encoding="utf-8"
    )


def test_the_map_tells_a_lesson_of_the_first_path_that_does_not_parse(folder, capsys):
    plan(folder)
    (folder / "course.toml").write_text("first_path = [3, 20]\n", encoding="utf-8")
    (folder / "ch20_broken.py").write_text("# %%\nx = = 1\n", encoding="utf-8")
    assert main(folder, []) == 0
    first, _ = capsys.readouterr().out.split("Then")
    assert "2 lessons, 5 minutes" in first
    assert "ch20_broken.py does not parse: invalid syntax, line 2" in first


def test_the_map_shows_the_paths_and_runs_nothing(folder, capsys):
    plan(folder)
    (folder / "ch20_broken.py").write_text("# %%\nx = = 1\n", encoding="utf-8")
    assert main(folder, []) == 0
    out = capsys.readouterr().out
    first, rest = out.split("Then")
    assert "1 lessons, 5 minutes" in first and "    3   5 min        A demo lesson" in first
    assert rest.index("   12   5 min") < rest.index("    0   5 min") and "does not parse" in rest
    assert "Why three? " in rest and "lesson 3" in rest and "No?" not in rest
    assert "extra ran" not in out and max(map(len, out.splitlines())) <= 80


def test_finished_lessons_are_marked_and_forgotten(folder, capsys):
    plan(folder)
    assert main(folder, ["12", "--quiet"]) == 0 and main(folder, ["3", "--quiet"]) == 1
    capsys.readouterr()
    assert main(folder, []) == 0
    out = capsys.readouterr().out
    assert [line[:5] for line in out.splitlines() if "  done  " in line] == ["   12"]
    assert "Go on here:  python -m lessons 3" in out
    assert main(folder, ["--forget"]) == 0 and main(folder, ["--forget"]) == 0
    assert capsys.readouterr().out == "Forgotten.\nThere was nothing to forget.\n"


def test_a_finished_lesson_names_the_next_one_of_the_map(folder, capsys, monkeypatch):
    plan(folder)
    monkeypatch.setattr("sys.stdin", io.StringIO("\n" * 40))
    assert main(folder, ["12", "--step"]) == 0
    assert "Next: python -m lessons 3 --step" in capsys.readouterr().out
    assert main(folder, ["3", "--step"]) == 1
    assert "Next" not in capsys.readouterr().out


def test_the_glossary_and_its_words(folder, capsys):
    plan(folder)
    assert main(folder, ["glossary"]) == 0
    assert capsys.readouterr().out == (
        "row: one line of a table (lesson 0)\nUnit: a length of one (lesson 3)\n"
    )
    assert main(folder, ["glossary", "unit"]) == 0 and main(folder, ["glossary", "zebra"]) == 2
    assert "Unit" in capsys.readouterr().out


def test_one_and_several_by_number_and_name(folder, capsys):
    assert main(folder, ["12"]) == 0
    assert capsys.readouterr().out.count("extra ran") == 1
    assert main(folder, ["0", "ch12_demo", "ch00", "--quick"]) == 0
    out = capsys.readouterr().out
    assert out.count("extra ran") == 2 and "[2/2]" in out
    assert out.count("1 of 1 checks came out as they should.") == 2


def test_all_goes_on_after_a_crash_tells_it_and_fails(folder):
    (folder / "labs").mkdir()
    lab = "# %%\nfrom scratch_embed.lesson import across\nr = across(lambda s, b: s, {'a': {}})\n"
    (folder / "labs" / "tried.py").write_text(lab, encoding="utf-8")
    (folder / "claims").mkdir()
    (folder / "claims" / "claims.csv").write_text(
        "id,source,section,kind,statement,printed\nx,page,1,table,a product,18\n", encoding="utf-8"
    )
    (folder / "claims" / "ch00.py").write_text(
        "from scratch_embed.lesson.claims import reproduced, values_of\n"
        'h = values_of("ch00_demo").h\n'
        'reproduced("x", lambda h: 6 * len(h), h, counter=h[:1])\n', encoding="utf-8"
    )  # fmt: skip
    code = f"from scratch_embed.lesson.walk.cli import main; main({str(folder)!r}, ['all'])"
    done = script("-c", f"if __name__ == '__main__':\n    {code}")
    out = done.stdout
    assert "CRASHED" in out and "ZeroDivisionError" in out and "extra ran" not in out, done.stderr
    assert "4 of 5 run through. Claims: 1 reproduced" in out
    assert [line.split()[:2] for line in out.splitlines() if " s  " in line] != []


def test_a_lab_finds_the_values_of_its_lesson_wherever_it_is_run(
    folder, tmp_path, monkeypatch, capsys
):
    (folder / "labs").mkdir()
    lab = (
        "# %%\nfrom scratch_embed.lesson.claims import values_of\n"
        'print("six times", 6 * len(values_of("ch00_demo").h))\n'
    )
    (folder / "labs" / "taking.py").write_text(lab, encoding="utf-8")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert main(folder, ["lab", "taking"]) == 0
    assert "six times 18" in capsys.readouterr().out


def page(folder):
    """A page of two claims."""
    (folder / "claims").mkdir()
    (folder / "claims" / "claims.csv").write_text(
        "id,source,section,kind,statement,printed\nx,page,1,table,a product,18\n"
        "y,page,2,table,another,19\n", encoding="utf-8"
    )  # fmt: skip
    (folder / "claims" / "ch00.py").write_text(
        '"""A page."""\nfrom scratch_embed.lesson.claims import corrected, given\n'
        'given("x", "a definition")\n'
        'corrected("y", lambda n: n, 18, counter=19, because="it is 18")\n', encoding="utf-8"
    )  # fmt: skip


def test_a_page_of_claims_and_the_ledger(folder, tmp_path, capsys):
    page(folder)
    path = tmp_path / "ledger.json"
    assert main(folder, ["claims", "0", "--ledger", str(path)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("A page\n------\n") and "1 corrected, 1 given, 0 open: 2 claims" in out
    rows = json.loads(path.read_text(encoding="utf-8"))
    assert [(row["id"], row["verdict"]) for row in rows] == [("x", "given"), ("y", "corrected")]
    assert main(folder, ["errata"]) == 0
    assert "Errata: page (1)" in capsys.readouterr().out
    assert main(folder, ["errata", "other"]) == 2 and main(folder, ["claims", "7"]) == 2


def test_a_ledger_that_cannot_be_written_after_the_run(folder, tmp_path, capsys, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device", "ledger.json")

    page(folder)
    path = str(tmp_path / "ledger.json")
    monkeypatch.setattr("scratch_embed.lesson.walk.cli.replacing", full)
    assert main(folder, ["claims", "--ledger", path]) == 1
    out, err = capsys.readouterr()
    assert err == "lessons: the verdicts are not written. ledger.json: No space left on device.\n"
    assert "2 claims" in out  # what was judged is told all the same


def test_a_ledger_does_not_replace_what_is_printed(folder, tmp_path):
    page(folder)
    code = (
        "import sys; from scratch_embed.lesson.walk.cli import main;"
        "sys.exit(main(sys.argv[1], ['claims', '--ledger', sys.argv[2]]))"
    )
    printed = tmp_path / "run.txt"
    command = [sys.executable, "-c", code, str(folder), str(printed)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with open(printed, "w", encoding="utf-8") as stream:
        done = subprocess.run(
            command, check=False, env=env, stdout=stream, stderr=subprocess.PIPE, encoding="utf-8"
        )
    assert done.returncode == 2 and "run.txt takes what this run prints" in done.stderr


def test_closed_streams_are_as_silent_ones(folder, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)  # what Python makes of `>&-`
    monkeypatch.setattr(sys, "stderr", None)
    assert main(folder, ["0"]) == 0 and main(folder, ["3"]) == 1 and main(folder, ["99"]) == 2


def test_a_figure_that_cannot_be_saved_does_not_end_the_lesson(tmp_path, capsys):
    extra = (
        "from scratch_embed import plot\nfrom scratch_embed.lesson import save_figure\n"
        "save_figure(plot.figure()[0], 'empty.png')\nprint('and on')"
    )
    write(tmp_path / "lessons", 0, extra=extra)
    for name in ("build", "figures"):
        (tmp_path / name).write_text("a file where the folder should be", encoding="utf-8")
    assert main(tmp_path / "lessons", ["0"]) == 0
    out, err = capsys.readouterr()
    assert "and on" in out and "figure     " not in out
    assert err.startswith("The figure empty.png is not saved. ") and err.count("\n") == 1
    assert main(tmp_path / "lessons", ["figures"]) == 1


def test_results_of_a_lab_that_cannot_be_saved_do_not_end_the_run(folder, tmp_path, capsys):
    (folder / "labs").mkdir()
    lab = "# %%\nfrom scratch_embed.lesson import across\nr = across(lambda s, b: s, {'a': {}})\n"
    (folder / "labs" / "tried.py").write_text(lab, encoding="utf-8")
    (tmp_path / "build").write_text("a file where the folder should be", encoding="utf-8")
    assert main(folder, ["lab", "tried"]) == 0
    out, err = capsys.readouterr()
    assert err.startswith("The results tried.json are not saved. ") and "results    " not in out


@pytest.mark.parametrize(
    "argv, drawn",
    [
        (["figures"], "figures/empty.png"),
        (["figures", "--quick"], "build/figures/quick/empty.png"),
        (["0"], "build/figures/empty.png"),
        (["0", "--quick"], "build/figures/quick/empty.png"),
        (["0", "--text", "TEXT"], "build/figures/text/empty.png"),
    ],
)
def test_only_figures_in_full_draws_the_figures_that_are_kept(tmp_path, capsys, argv, drawn):
    extra = (
        "from scratch_embed import plot\nfrom scratch_embed.lesson import options, save_figure\n"
        "read = options.text\nsave_figure(plot.figure()[0], 'empty.png')"
    )
    write(tmp_path / "lessons", 0, extra=extra)
    text = tmp_path / "words.txt"
    text.write_text("the cat sat", encoding="utf-8")
    assert main(tmp_path / "lessons", [str(text) if word == "TEXT" else word for word in argv]) == 0
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.png")] == [drawn]
    out = capsys.readouterr().out
    if "figures" in argv:
        assert out.strip() == str(tmp_path / drawn)
    assert ("they say of the standard one" in out.replace("\n", " ")) == ("TEXT" in argv)


@pytest.mark.parametrize(
    "argv, sentence",
    [
        (["7"], "there is no lesson 7; there are 0, 3, 12."),
        (["demo"], "demo may be ch00_demo or ch03_demo or ch12_demo: say which lesson."),
        ([""], "there is no lesson ''; python -m lessons lists them."),
        (["zebra"], "there is no lesson zebra; python -m lessons lists them."),
        (["all", "3"], "all stands alone; leave out 3."),
        (["lab", "zebra"], "there is no lab zebra; python -m lessons lab lists them."),
        (["-1"], "-1"),
        (["alll"], "Did you mean all?"),
        (["figure"], "Did you mean figures?"),
        (["0", "--quik"], "there is no --quik; did you mean --quick?"),
        (["0", "--zzz"], "there is no --zzz; the flags are"),
        (["0", "--text"], "--text: expected one argument"),
        (["0", "--text", "nowhere.txt"], "--text: There is no file nowhere.txt. Looked in"),
        (["0", "--text", "."], "--text: . is a folder"),
        (["0", "3", "--text", __file__], "--text: ch00_demo reads no text of yours: leave it out."),
        (["all", "--ledger", "."], "--ledger: . is a folder"),
        (["all", "--ledger", f"{__file__}/ledger.json"], "--ledger: "),  # told before the run
        (["0", "--ledger", "LEDGER"], "--ledger writes verdicts, which only all and claims have"),
        (["0", "--step", "--quiet"], "give one of them"),
        (["0", "3", "--step"], "one lesson at a time"),
        (["all", "--text", __file__], "all has no use for --text: leave it out."),
        (["errata", "--ledger", "LEDGER"], "errata has no use for --ledger: leave it out."),
        (["claims", "--step"], "claims has no use for --step: leave it out."),
        (["lab", "--quick"], "lab without a name has no use for --quick: leave it out."),
        (["3", "--forget"], "--forget forgets all lessons and answers; it stands alone."),
        (["--quick"], "--quick needs a lesson: its number or its name."),
        (["--ledger", "l.json"], "--ledger needs a lesson: its number, its name, or all."),
    ],
)
def test_wrong_usage_is_one_sentence_and_exit_code_2(folder, capsys, monkeypatch, argv, sentence):
    monkeypatch.chdir(folder)
    assert main(folder, argv) == 2
    captured = capsys.readouterr()
    assert sentence in captured.err and captured.err.count("\n") == 1 and captured.out == ""


def test_a_lesson_that_does_not_parse_is_reported_with_its_line(folder, capsys):
    (folder / "ch03_demo.py").write_text("# %%\nx = = 1\n", encoding="utf-8")
    assert main(folder, ["0", "3", "--quiet"]) == 1
    assert 'ch03_demo.py", line 2' in capsys.readouterr().err


def test_the_command_itself():
    done = script("-m", "lessons", "99")
    assert done.returncode == 2 and "there is no lesson 99; there are 0, 1," in done.stderr
    done = script("-m", "lessons", "quiz", "quiz")
    assert done.stderr == "lessons: there is no lesson quiz; python -m lessons lists them.\n"
    done = script("lessons/ch00_lookup.py", "--forget")  # which a script has not
    assert done.returncode == 2 and "there is no --forget; the flags are" in done.stderr


def test_the_map_of_the_course_and_the_help(capsys):
    assert main(ROOT / "lessons", []) == 0
    assert "The first path: 6 lessons" in capsys.readouterr().out
    with pytest.raises(SystemExit) as left:
        main(ROOT / "lessons", ["--help"])
    assert left.value.code == 0 and "--ledger FILE" in capsys.readouterr().out


def test_a_full_disk_behind_the_output_is_a_sentence(monkeypatch, capsys):
    class Full(io.StringIO):
        def write(self, text):
            raise OSError(errno.ENOSPC, "No space left on device")

        def fileno(self):
            return os.open(os.devnull, os.O_WRONLY)

    monkeypatch.setattr(sys, "stdout", Full())
    assert guarded(lambda: print("a lesson") or 0) == 1
    assert capsys.readouterr().err == "No space left on device.\n"


def test_what_cannot_be_forgotten_is_told(folder, capsys, monkeypatch):
    def refuse(self):
        raise PermissionError(13, "Permission denied", str(self))

    notes.write("quiz", {"a question": True})
    monkeypatch.setattr(Path, "unlink", refuse)
    assert main(folder, ["--forget"]) == 2
    assert "quiz.json" in capsys.readouterr().err and notes.read("quiz")
