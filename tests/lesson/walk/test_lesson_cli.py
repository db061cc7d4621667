"""`python -m lessons`: what it lists and runs, its exit codes, and its words for wrong input."""

from __future__ import annotations

import json

import pytest

from scratch_embed.lesson.walk.cli import main
from tests.lesson.lesson_demo import write
from tests.lesson.walk.test_lesson_runner import ROOT, script


@pytest.fixture
def folder(tmp_path):
    """Two sound lessons and one that crashes between them."""
    write(tmp_path / "lessons", 0)
    write(tmp_path / "lessons", 3, extra="1 / 0")
    write(tmp_path / "lessons", 12)
    return tmp_path / "lessons"


def test_listing_runs_nothing(folder, capsys):
    (folder / "ch20_broken.py").write_text("# %%\nx = = 1\n", encoding="utf-8")
    assert main(folder, []) == 0
    out = capsys.readouterr().out
    assert "12. A demo lesson" in out and "python -m lessons all" in out
    assert "does not parse" in out and "extra ran" not in out


def test_one_and_several(folder, capsys):
    assert main(folder, ["12"]) == 0
    assert capsys.readouterr().out.count("extra ran") == 1
    assert main(folder, ["0", "12", "0", "--quick"]) == 0
    out = capsys.readouterr().out
    assert out.count("extra ran") == 2 and "[2/2]" in out
    closing = out[out.rindex("chapter") :]
    assert closing.count("3 of 3") == 2 and closing.count("1 of 1") == 2 and "seconds" in closing


def test_all_goes_on_after_a_crash_and_fails(folder, capsys):
    assert main(folder, ["all", "--quiet"]) == 1
    captured = capsys.readouterr()
    assert "ZeroDivisionError" in captured.err
    assert captured.out.count("passed") == 2 and captured.out.count("CRASHED") == 1
    assert "extra ran" not in captured.out and "logit" not in captured.out


def test_quiet_tells_what_disagrees(folder, capsys):
    write(
        folder,
        0,
        extra="check('shifted', logit + 1, printed='0.58')\ncompare('dE', hand=1, ours=2)",
    )
    assert main(folder, ["0", "--quiet"]) == 1
    out = capsys.readouterr().out
    assert (
        "DISAGREES  shifted" in out and 'printed "0.58"' in out and "dE: difference 1.0e+00" in out
    )
    assert "logit" not in out


def test_ledger(folder, tmp_path, capsys):
    path = tmp_path / "answers.json"
    assert main(folder, ["all", "--quiet", "--ledger", str(path)]) == 1
    entries = json.loads(path.read_text(encoding="utf-8"))
    assert [(entry["lesson"], entry["id"]) for entry in entries] == [
        ("ch00_demo", "logit"), ("ch00_demo", "parameters"), ("ch00_demo", "llama"),
        ("ch03_demo", "logit"), ("ch03_demo", "parameters"),
        ("ch12_demo", "logit"), ("ch12_demo", "parameters"), ("ch12_demo", "llama")]  # fmt: skip
    assert entries[2]["correction"] == 525336576 and entries[2]["reason"] == "the product"
    assert entries[0]["computed"] == pytest.approx(0.58) and entries[0]["agrees"] is True


@pytest.mark.parametrize(
    "argv, drawn",
    [
        (["figures"], "figures/empty.png"),
        (["figures", "--quick"], "build/figures/quick/empty.png"),
        (["0"], "build/figures/empty.png"),
        (["0", "--quick"], "build/figures/quick/empty.png"),
        (["all", "--text", "TEXT"], "build/figures/text/empty.png"),
    ],
)
def test_only_figures_in_full_draws_the_figures_that_are_kept(tmp_path, capsys, argv, drawn):
    extra = (
        "from scratch_embed import plot\nfrom scratch_embed.lesson import save_figure\n"
        "save_figure(plot.figure()[0], 'empty.png')"
    )
    write(tmp_path / "lessons", 0, extra=extra)
    text = tmp_path / "words.txt"
    text.write_text("the cat sat", encoding="utf-8")
    assert main(tmp_path / "lessons", [str(text) if word == "TEXT" else word for word in argv]) == 0
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.png")] == [drawn]
    if "figures" in argv:
        assert capsys.readouterr().out.strip() == str(tmp_path / drawn)


@pytest.mark.parametrize(
    "argv, sentence",
    [
        (["7"], "there is no lesson 7; there are 0, 3, 12, and all."),
        (["-1"], "-1"),
        (["al"], "Did you mean all?"),
        (["figure"], "Did you mean figures?"),
        (["0", "--quik"], "there is no --quik; did you mean --quick?"),
        (["0", "--zzz"], "there is no --zzz; the flags are"),
        (["0", "--text"], "--text: expected one argument"),
        (["0", "--text", "nowhere.txt"], "--text nowhere.txt: there is no such file"),
        (["0", "--ledger", "."], "--ledger . is a folder"),
        (["0", "--step", "--quiet"], "give one of them"),
        (["0", "3", "--step"], "one lesson at a time"),
        (["--quick"], "--quick needs a lesson: a number (0, 3, 12) or all."),
    ],
)
def test_wrong_usage_is_one_sentence_and_exit_code_2(folder, capsys, argv, sentence):
    assert main(folder, argv) == 2
    captured = capsys.readouterr()
    assert sentence in captured.err and captured.err.count("\n") == 1 and captured.out == ""


def test_a_lesson_that_does_not_parse_is_reported_with_its_line(folder, capsys):
    (folder / "ch03_demo.py").write_text("# %%\nx = = 1\n", encoding="utf-8")
    assert main(folder, ["0", "3", "--quiet"]) == 1
    captured = capsys.readouterr()
    assert 'ch03_demo.py", line 2' in captured.err and "CRASHED" in captured.out


def test_the_command_itself():
    done = script("-m", "lessons")
    assert done.returncode == 0 and "claims answered" in done.stdout, done.stderr
    assert script("-m", "lessons", "99").returncode == 2
    assert "--ledger FILE" in script("-m", "lessons", "--help").stdout
    assert (ROOT / "lessons" / "claims" / "claims.csv").is_file()
