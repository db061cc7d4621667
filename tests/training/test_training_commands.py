"""What every training command shares: options, resuming, the loop with Ctrl-C, results."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import warnings
from pathlib import Path

import numpy as np
import pytest

from scratch_embed import checkpoint
from scratch_embed.plot import figure
from scratch_embed.training import command
from scratch_embed.training.progress import Progress
from scratch_embed.training.reading import new_ids
from scratch_embed.training.results import write_results
from scratch_embed.training.run import CHECKPOINT


def made() -> argparse.ArgumentParser:
    parser = command.parser("trial", "A title.\n\nA trial.", resumable=True)
    numbers = [
        ("steps", command.count, 7, "STEPS", "steps to take"),
        ("rate", command.positive, 0.5, "SIZE", "of a step"),
    ]
    command.add_numbers(parser, numbers)
    return parser


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--steps", "0"], "argument --steps: '0' is not a whole number, 1 or more"),
        (["--steps", "many"], "'many' is not a whole number"),
        (["--out", ""], "argument --out: '' is no folder"),
        (["--seed", "-1"], "'-1' is not a whole number, 0 or more"),
        (["--steps", "9" * 400], f"'{'9' * 36} ...' is not a whole number, 1 or more"),
        (["--rate", "inf"], "'inf' is not a number, above 0"),
        (["--rate", "nan"], "'nan' is not a number, above 0"),
        (["--save-every", "0"], "'0' is not a number, above 0"),
    ],
)
def test_a_number_that_makes_no_sense_is_told(words, said, capsys):
    with pytest.raises(SystemExit) as end:
        command.parse(made(), words)
    assert end.value.code == 2 and said in capsys.readouterr().err


def test_what_a_function_says_of_an_argument_names_the_option(tmp_path, capsys):
    def work(run):
        raise ValueError(f"save_every of {run.options.out}/save_every.txt: a rate below save_every")

    words = ["--out", str(tmp_path)]
    assert command.start(made(), work, words, {}) == 1
    said = f"--save-every of {tmp_path}/save_every.txt: a rate below --save-every\n"
    assert capsys.readouterr().err == said


def test_help_tells_unit_range_and_default_of_every_number():
    told = " ".join(made().format_help().split())
    assert "--steps STEPS steps to take (1 or more; default 7)" in told
    assert "--rate SIZE of a step (above 0; default 0.5)" in told
    assert "--save-every SECONDS seconds between two checkpoints (above 0; default 30)" in told


def parsed(tmp_path, *words):
    return command.parse(made(), ["--out", str(tmp_path), *words])


def test_the_home_folder_that_a_shell_leaves_after_an_equals_sign(tmp_path, monkeypatch):
    for name in ("HOME", "USERPROFILE"):  # of Linux and macOS, and of Windows
        monkeypatch.setenv(name, str(tmp_path))
    assert command.parse(made(), ["--out=~/runs"]).options.out == tmp_path / "runs"
    monkeypatch.chdir(tmp_path)  # nobody's home is just a name
    nobody = command.parse(made(), ["--out=~nobody of that name/runs"])
    assert nobody.options.out.parts == ("~nobody of that name", "runs")


def test_a_resumed_run_has_the_options_it_was_begun_with(tmp_path, capsys):
    begun = parsed(tmp_path, "--steps", "9", "--seed", "4", "--resume")
    assert begun.saved == {} and "so this run begins" in capsys.readouterr().out
    begun.save(step=3)
    resumed = parsed(tmp_path, "--resume")
    options = resumed.options
    assert (options.steps, options.seed, options.rate) == (9, 4, 0.5)
    assert resumed.saved == {"step": 3}
    with pytest.raises(ValueError, match="a run that has not ended: --resume goes on with it"):
        parsed(tmp_path)
    resumed.finish({})
    assert parsed(tmp_path, "--steps", "9", "--seed", "4").saved == {}  # a new run


@pytest.mark.parametrize("older", [False, True])
def test_a_run_that_was_stopped_while_it_read_begins_again_with_its_options(
    tmp_path, capsys, older
):
    if older:
        ended = parsed(tmp_path, "--steps", "2", "--quick")
        ended.save(step=2)
        ended.finish({})
    begun = parsed(tmp_path, "--steps", "9")
    with pytest.raises(KeyboardInterrupt), new_ids(begun) as path:
        path.write_bytes(b"")
        raise KeyboardInterrupt
    capsys.readouterr()
    again = parsed(tmp_path, "--resume")
    told = capsys.readouterr().out
    assert again.saved == {} and again.options.steps == 9
    assert "had only begun to read its text, so it begins" in told and "steps 9" in told
    assert ("To go on with the one before it, remove" in told) == older
    assert (tmp_path / "checkpoint.npz").exists() == older
    with pytest.raises(SystemExit):
        parsed(tmp_path, "--resume", "--steps", "3")
    again.save(step=1)
    assert parsed(tmp_path, "--resume").saved == {"step": 1}
    assert not (tmp_path / "text.ids.begun").exists()


def test_a_text_that_is_none_leaves_the_run_before_it(tmp_path):
    ended = parsed(tmp_path, "--steps", "2", "--quick")
    ended.save(step=2)
    ended.finish({})
    with pytest.raises(ValueError, match="no words"), new_ids(parsed(tmp_path)) as path:
        path.write_bytes(b"")
        raise ValueError("no words")
    assert parsed(tmp_path, "--resume").saved == {"step": 2}


def test_what_is_somebody_elses_under_the_name_of_begun_options_is_not_written_over(tmp_path):
    begun = tmp_path / "text.ids.begun"
    for content in ("my notes", "[1]", '{"options": 3}'):
        begun.write_text(content)
        for words in ([], ["--resume"]):
            with pytest.raises(ValueError, match=r"text\.ids\.begun was written by nobody"):
                parsed(tmp_path, *words)
        assert begun.read_text() == content


def test_a_copied_run_has_ended_or_has_not_as_the_one_it_was_copied_from(tmp_path):
    """Whatever the times of the copies are."""
    begun, ended = tmp_path / "begun", tmp_path / "ended"
    for folder in (begun, ended):
        folder.mkdir()
        parsed(folder).save(step=7)
        parsed(folder, "--resume").finish({})
    parsed(begun).save(step=3)
    for turn, order in enumerate(([CHECKPOINT, "results.json"], ["results.json", CHECKPOINT])):
        for folder in (begun, ended):
            copied = tmp_path / f"{folder.name}{turn}"
            copied.mkdir()
            for time, name in enumerate(order):
                (copied / name).write_bytes((folder / name).read_bytes())
                os.utime(copied / name, (time, time))
        assert parsed(tmp_path / f"ended{turn}").saved == {}
        with pytest.raises(ValueError, match="a run that has not ended"):
            parsed(tmp_path / f"begun{turn}")


def test_no_command_begins_in_the_folder_of_a_run_that_has_not_ended(tmp_path):
    parsed(tmp_path).save()
    other = command.parser("other", "A title.\n\nAnother.")  # which has no --resume of its own
    with pytest.raises(ValueError, match="a run that has not ended"):
        command.parse(other, ["--out", str(tmp_path)])


def test_results_that_cannot_be_read_are_not_written_over(tmp_path, monkeypatch):
    parsed(tmp_path).finish({})

    def closed(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("scratch_embed.training.run.read_bytes", closed)
    with pytest.raises(ValueError, match=r"results\.json cannot be read \(Permission denied\)"):
        parsed(tmp_path)


def test_results_that_are_a_folder_are_told(tmp_path):
    parsed(tmp_path).save()
    (tmp_path / "results.json").mkdir()
    with pytest.raises(OSError, match=r"results\.json is a folder"):
        parsed(tmp_path)


@pytest.mark.parametrize("foreign", ["another's", "damaged"])
def test_a_checkpoint_that_no_run_wrote_is_left_alone(tmp_path, foreign):
    kept = tmp_path / CHECKPOINT
    if foreign == "damaged":
        kept.write_bytes(b"PK and no more")
    else:
        np.savez(kept, mine=np.arange(3))
    before = kept.read_bytes()
    with pytest.raises(ValueError, match=r"checkpoint\.npz was written by nobody who says so"):
        parsed(tmp_path)
    assert kept.read_bytes() == before


@pytest.mark.parametrize("below", ["", "deeper/still"])
def test_a_file_is_no_folder_to_write_to(tmp_path, below, capsys):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(SystemExit):
        command.parse(made(), ["--out", str(tmp_path / "notes.txt" / below)])
    assert "notes.txt' is a file; name a folder" in capsys.readouterr().err


def test_a_warning_is_a_sentence(tmp_path):
    shown, usual = [], warnings.formatwarning

    def work(run):
        shown.append(warnings.formatwarning("the file was cut", UserWarning, "of_ours.py", 7))
        return 0

    assert command.start(made(), work, ["--out", str(tmp_path)], quick={}) == 0
    assert shown == ["the file was cut\n"] and warnings.formatwarning is usual


def test_another_option_than_it_was_begun_with_is_told(tmp_path, capsys):
    parsed(tmp_path, "--steps", "9").save()
    with pytest.raises(SystemExit):
        parsed(tmp_path, "--resume", "--steps", "10")
    assert "steps is 10, but the run" in capsys.readouterr().err
    assert parsed(tmp_path, "--resume", "--steps", "9", "--save-every", "1").options.steps == 9


def test_a_finished_run_with_other_options_is_not_written_over_unless_it_was_quick(tmp_path):
    """It may have taken hours; a quick one took seconds, and the same one comes to the same."""
    for words in (["--quick"], ["--rate", "2"], ["--rate", "2"]):
        run = parsed(tmp_path, *words)
        run.save(step=7)
        run.finish({})
    for words in ([], ["--quick"], ["--rate", "2", "--quick"]):
        said = "holds a finished run with (rate 2.0|other options), .* another --out"
        with pytest.raises(ValueError, match=said):
            parsed(tmp_path, *words)
    assert parsed(tmp_path, "--resume").saved == {"step": 7}
    (tmp_path / CHECKPOINT).unlink()  # as the error says
    parsed(tmp_path)


def test_a_finished_run_of_another_command_is_not_written_over(tmp_path):
    parsed(tmp_path).finish({})
    other = command.parser("other", "A title.\n\nAnother.")
    with pytest.raises(ValueError, match=r"holds a run of scratch-embed trial.*another --out"):
        command.parse(other, ["--out", str(tmp_path)])


@pytest.mark.parametrize("content", ["[1]", "no json", "{}", ""])
@pytest.mark.parametrize("name", ["results.json", "results.png"])
def test_a_file_of_somebody_else_is_not_written_over(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=f"{name} was written by nobody.*another --out"):
        parsed(tmp_path)
    (tmp_path / name).unlink()
    parsed(tmp_path).finish({})
    assert parsed(tmp_path).saved == {}  # its own finished run again


def test_a_checkpoint_of_another_command_is_told(tmp_path, capsys):
    checkpoint.save(tmp_path / CHECKPOINT, options={"steps": 1}, step=3)
    with pytest.raises(SystemExit):
        parsed(tmp_path, "--resume")
    assert "holds no checkpoint of scratch-embed trial" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "wrong"),
    [("steps", 1.5), ("steps", [1]), ("seed", None), ("rate", {}), ("quick", 1)],
)  # fmt: skip
def test_an_option_of_a_type_that_it_never_has_is_told(option, wrong, tmp_path, capsys):
    parsed(tmp_path).save()
    saved = checkpoint.load(tmp_path / CHECKPOINT)
    checkpoint.save(tmp_path / CHECKPOINT, options=saved["options"] | {option: wrong})
    with pytest.raises(SystemExit) as end:
        parsed(tmp_path, "--resume")
    assert end.value.code == 2
    assert f"{CHECKPOINT} is damaged: {option} is {wrong!r}" in capsys.readouterr().err


def test_a_run_that_was_begun_whole_is_not_resumed_as_a_quick_one(tmp_path, capsys):
    def begun(*words):
        parser = made()
        parser.add_argument("--most", type=command.count)  # all, by default
        return command.parse(parser, ["--out", str(tmp_path), *words], {"most": 3})

    begun().save()
    with pytest.raises(SystemExit):
        begun("--resume", "--quick")
    assert "is True, but the run in" in capsys.readouterr().err
    assert begun("--resume").options.most is None


@pytest.mark.parametrize("wrong", [KeyError("step"), TypeError("no number"), IndexError("1")])
def test_what_a_checkpoint_lacks_is_told_of_the_file(tmp_path, wrong):
    begun = parsed(tmp_path)
    with pytest.raises(type(wrong)), begun.restoring():  # nothing was saved: the mistake is ours
        raise wrong
    begun.save(step=3)
    said = rf"{CHECKPOINT} is not as this command writes it \({type(wrong).__name__}: "
    with pytest.raises(ValueError, match=said), parsed(tmp_path, "--resume").restoring():
        raise wrong


def test_a_stopped_run_says_again_where_it_lies_and_what_it_shows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    parser = made()
    parser.add_argument("--formats", nargs="+", default=["npz"])
    parser.add_argument("--prompt", default="")
    more = ["--out=-x", "--prompt", "once upon", "--formats", "bin", "tsv", "--save-every", "2"]
    command.parse(parser, more).stopped("at step 3")
    said = capsys.readouterr().out.splitlines()[-1]
    assert said == (
        "scratch-embed trial --out=-x --prompt 'once upon' --formats bin tsv --save-every 2.0 "
        "--resume"
    )
    again = command.parse(parser, shlex.split(said)[2:]).options
    assert (again.out, again.formats, again.save_every) == (Path("-x"), ["bin", "tsv"], 2)


def test_a_resumed_run_shows_what_it_was_begun_with_if_it_is_given_nothing_else(tmp_path):
    def begun(*words):
        parser = made()
        parser.add_argument("--formats", nargs="+", action="extend")
        parser.add_argument("--prompt", default="The ")
        return command.parse(parser, ["--out", str(tmp_path), *words])

    run = begun("--formats", "bin", "--prompt", "A ", "--save-every", "2")
    for keeps in (run.begin, run.save):  # also one that dies before its first checkpoint
        keeps()
        again = begun("--resume").options
        assert (again.formats, again.prompt, again.save_every) == (["bin"], "A ", 2)
        again = begun("--resume", "--formats", "txt", "--prompt", "The ").options
        assert (again.formats, again.prompt, again.save_every) == (["txt"], "The ", 2)


def test_a_run_that_is_not_through_writes_over_what_it_set_out_to_write_alone(tmp_path):
    """Beside it lie a user's own vectors; it is resumed with one format more."""
    run = parsed(tmp_path)
    run.will_write("mine.npz")
    run.save(step=1)
    for name in ("mine.npz", "own.npz"):
        (tmp_path / name).write_text("of a run that died before its results, or of the user")
    again = parsed(tmp_path, "--resume")
    again.will_write("mine.npz")
    with pytest.raises(ValueError, match=r"own\.npz was written by nobody who says so"):
        again.will_write("own.npz")


def test_a_stopped_run_says_how_to_go_on(tmp_path, capsys):
    assert parsed(tmp_path / "my runs").stopped("at step 3") == 130
    said = capsys.readouterr().out
    assert "stopped at step 3, and saved" in said
    assert f"scratch-embed trial --out '{tmp_path / 'my runs'}' --resume" in said


def test_what_a_run_writes_must_not_be_what_it_reads(tmp_path):
    (tmp_path / "results.json").write_text("my text")
    parser = made()
    parser.add_argument("text")
    for path in (tmp_path / "results.json", tmp_path / "a" / ".." / "results.json"):
        (tmp_path / "a").mkdir(exist_ok=True)
        with pytest.raises(ValueError, match=r"results\.json is to be read and to be written"):
            command.parse(parser, [str(path), "--out", str(tmp_path)])
    assert command.parse(parser, [str(tmp_path / "results.json"), "--out", str(tmp_path / "a")])


def test_what_a_run_writes_must_not_be_its_standard_input_either(tmp_path, monkeypatch):
    parser = made()
    parser.add_argument("text")
    (tmp_path / "text.ids.new").write_text("my text")
    for out in (tmp_path, tmp_path / "elsewhere"):
        with open(tmp_path / "text.ids.new") as file:
            monkeypatch.setattr("sys.stdin", file)
            if out == tmp_path:
                with pytest.raises(ValueError, match=r"text\.ids\.new is to be read and to be"):
                    command.parse(parser, ["-", "--out", str(out)])
            else:
                assert command.parse(parser, ["-", "--out", str(out)])
    (tmp_path / "text.ids.new").unlink()
    monkeypatch.setattr("sys.stdin", None)  # as where there is no console
    assert command.parse(parser, ["-", "--out", str(tmp_path)])


def test_what_is_somebody_elses_under_the_name_of_ids_is_not_written_over(tmp_path):
    ids = tmp_path / "text.ids"
    for content in (b"mine", b"    ", b"my own notes\n", b"12 7 1\n\n", "åäö?".encode()):
        ids.write_bytes(content)
        with pytest.raises(ValueError, match=r"text\.ids was written by nobody who says so"):
            parsed(tmp_path)
        assert ids.read_bytes() == content
    for content in (b"", np.arange(5, dtype="<i4").tobytes()):  # a run stopped before it saved
        ids.write_bytes(content)
        parsed(tmp_path)


def test_nor_is_it_where_a_run_has_ended(tmp_path):
    parsed(tmp_path).save()
    mine = tmp_path / "text.ids.new"
    mine.write_text("my own notes")
    with pytest.raises(ValueError, match=r"text\.ids\.new was written by nobody"):
        parsed(tmp_path, "--resume")
    assert mine.read_text() == "my own notes"


@pytest.mark.parametrize("shown", [{"save_every": []}, {"save_every": "x"}, {"prompt": 3.0}])
def test_what_a_checkpoint_cannot_have_shown_is_not_shown(tmp_path, shown):
    run = parsed(tmp_path)
    checkpoint.save(tmp_path / CHECKPOINT, **run._begun() | {"shown": shown})
    again = parsed(tmp_path, "--resume").options
    assert {name: getattr(again, name, None) for name in shown} == {
        name: getattr(run.options, name, None) for name in shown
    }


@pytest.mark.parametrize("linked", [False, True])
def test_what_lies_where_new_ids_are_written_first_is_not_lost(tmp_path, linked):
    """Nor what a link of that name leads to."""
    out, name = tmp_path / "out", "text.ids.new"
    out.mkdir()
    mine = tmp_path / "mine" if linked else out / name
    mine.write_text("my own notes")
    if linked:
        (out / name).symlink_to(mine)
    with pytest.raises(ValueError, match=r"text\.ids\.new was written by nobody"):
        parsed(out)
    assert mine.read_text() == "my own notes"


@pytest.mark.parametrize("name", ["checkpoint.npz", "text.ids", "results.json", "results.png"])
def test_what_cannot_be_written_is_told_at_the_beginning(tmp_path, name):
    (tmp_path / name).mkdir()
    with pytest.raises(IsADirectoryError, match=name):
        parsed(tmp_path)


@pytest.mark.skipif(os.name == "nt", reason="no folder can be locked on Windows")
def test_two_runs_do_not_share_a_folder(tmp_path, capsys):
    def work(run):
        return command.start(made(), lambda run: 0, ["--out", str(run.options.out)], {})

    def saving(run):
        run.save()  # what it has left so far is no run that has not ended
        return work(run)

    assert command.start(made(), work, ["--out", str(tmp_path)], {}) == 1
    assert f"Another run is writing into {tmp_path}" in capsys.readouterr().err
    assert command.start(made(), saving, ["--out", str(tmp_path / "a")], {}) == 1
    assert f"Another run is writing into {tmp_path / 'a'}" in capsys.readouterr().err
    assert command.start(made(), lambda run: 0, ["--out", str(tmp_path)], {}) == 0


def test_what_becomes_infinite_is_told_in_a_sentence_alone(tmp_path, capsys):
    def work(run):
        if not np.isfinite(np.exp(np.float32([1000.0]))).all():
            raise FloatingPointError("The loss is infinite.")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert command.start(made(), work, ["--out", str(tmp_path)], {}) == 1
    assert capsys.readouterr().err == "The loss is infinite.\n"


def test_the_loop_goes_from_where_it_was_left_and_logs_plain_lines(capsys):
    with Progress(2, 5, every=0) as progress:
        for step in progress:
            progress.says = f"loss {step}"
    assert (progress.done, progress.stopped) == (5, False)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(";")[:2] for line in lines] == [
        ["step 3 of 5", " loss 2"],
        ["step 4 of 5", " loss 3"],
        ["step 5 of 5", " loss 4"],
    ]


@pytest.mark.skipif(os.name == "nt", reason="there a signal of this kind ends the process")
def test_ctrl_c_lets_the_step_end_and_a_second_one_does_not():
    before, whole = signal.getsignal(signal.SIGINT), []
    with Progress(0, 9) as progress:
        for step in progress:
            if step == 3:
                os.kill(os.getpid(), signal.SIGINT)
            whole.append(step)
    assert whole == [0, 1, 2, 3] and progress.done == 4 and progress.stopped
    assert signal.getsignal(signal.SIGINT) is before
    with pytest.raises(KeyboardInterrupt), Progress(0, 9) as progress:
        for _ in progress:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before and progress.done == 0


def test_results_are_json_beside_a_picture(tmp_path):
    fig, ax = figure()
    ax.plot([1, 2])
    paths = write_results(tmp_path / "new", {"loss": np.float32(0.5), "seen": np.arange(2)}, fig)
    assert [path.name for path in paths] == ["results.json", "results.png"]
    found = json.loads(paths[0].read_text(encoding="utf-8"))
    assert found["loss"] == 0.5 and found["seen"] == [0, 1] and "numpy" in found["made_with"]
    with pytest.raises(ValueError, match="JSON"):
        write_results(tmp_path / "new", {"loss": float("nan")})
    assert json.loads(paths[0].read_text(encoding="utf-8")) == found  # the old one is whole
