"""The front ends: a picture, a whole page, a careful server, a window, a command."""

from __future__ import annotations

import base64
import json
import re
import signal
import threading
import zlib
from contextlib import contextmanager
from http.client import HTTPConnection
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from matplotlib import image
from PIL import Image

from scratch_embed.lesson.play import command, frames, page, server, window
from scratch_embed.lesson.play.values import read_value
from scratch_embed.lesson.usage import UsageError
from scratch_embed.simulations import NAMES, Control, Notice, Scene, Simulation, load

# A simulation that no front end can have heard of.


def _build(figure):
    ax = figure.subplots()
    ax.set(xlim=(0, 1), ylim=(0, 1))
    dot = ax.plot([0.5], [0.5], "o", gid="where@x & word=b")[0]
    return dot, ax.text(0.5, 0.7, "", gid="word=<b>")


def _update(artists, values):
    dot, text = artists
    dot.set_xdata([values["where"] / 4])
    text.set_text(values["word"] + "!" * values["loud"])
    return {"where": str(values["where"]), "said": text.get_text()}


OURS = Simulation(
    "Dots & <words>",
    (
        Control("where", (0, 1, 2, 4), 1, "Where", page=(0, 1, 4), play=True),
        Control("word", ("a", "<b>"), "a", "Word"),
        Control("loud", (True, False), False, "Loud"),
        Control("typed", ("x", "y"), "x", "Typed", free=True, page=("x",)),
    ),
    Notice("Which?", "That."),
    _build,
    _update,
    (3, 2),
)


@pytest.fixture
def only_ours(monkeypatch):
    monkeypatch.setattr("scratch_embed.simulations.load", lambda name: OURS)
    monkeypatch.setattr(page, "load", lambda name: OURS)


# ---- a frame -------------------------------------------------------------------------------------


def test_a_frame_says_what_a_click_sets_and_the_same_state_gives_the_same_text():
    scene = Scene(OURS)
    first = frames.frame(scene)
    assert first.svg.startswith("<svg ") and 'data-set="where@x &amp; word=b"' in first.svg
    assert "<metadata>" not in first.svg and first.numbers == {"where": "1", "said": "a"}
    assert frames.frame(scene, where=4).svg != first.svg
    assert frames.frame(scene, where=1) == first
    assert "\n".join(frames.pieces(first.svg)) == first.svg


def test_words_stand_where_they_would_stand_without_an_svg_in_between():
    scene, other = Scene(load("space")), Scene(load("space"))
    frames.frame(scene)
    for each in (scene, other):
        each.move(step=500)
    places = [[text.get_position() for text in s.artists[2].texts] for s in (scene, other)]
    assert places[0] == places[1]


def test_each_piece_of_a_frame_is_an_artist():
    one, other = (frames.pieces(frames.frame(Scene(OURS), where=w).svg) for w in (1, 4))
    changed = [i for i, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
    assert len(changed) == 1 and one[changed[0]].startswith("   <g")
    assert one[changed[0]].rstrip().endswith("   </g>")


# ---- the page ------------------------------------------------------------------------------------


def unpacked(text: str) -> dict:
    packed = re.search(r'id="packed">([^<]*)<', text)[1]
    return json.loads(zlib.decompress(base64.b64decode(packed)))


def test_a_page_holds_every_state_and_asks_nobody():
    text = page.page(OURS)
    held = unpacked(text)
    states = list(product((0, 1, 4), ("a", "<b>"), (True, False)))
    assert len(held["frames"]) == len(states) == OURS.num_states
    for (where, word, loud), (svg, told) in zip(states, held["frames"], strict=True):
        shown = frames.frame(Scene(OURS), where=where, word=word, loud=loud)
        assert "\n".join(held["pieces"][k] for k in svg) == shown.svg
        numbers = dict(held["pieces"][k].split("\t") for k in told)
        assert numbers == shown.numbers
    assert not re.search(r"""(src|href|url)\s*[=(]\s*["']?(https?:|//)""", text.replace(
        'xmlns:xlink="http://www.w3.org/1999/xlink"', ""))  # fmt: skip
    assert "default-src 'none'" in text and "Dots &amp; &lt;words&gt;" in text
    assert "{{" not in text.replace("${", "")


def test_a_page_is_written_whole_or_not_at_all_and_a_log_is_told(
    only_ours, tmp_path, monkeypatch, capsys
):
    path = tmp_path / "ours.html"
    assert page.write_page("ours", path).read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    told = capsys.readouterr()
    assert told.out == "" and told.err.startswith("state 12 of 12; ")  # a line each ten seconds
    path.write_text("before")

    def breaks(*_, **values):
        raise KeyboardInterrupt

    monkeypatch.setattr(page, "frame", breaks)
    with pytest.raises(KeyboardInterrupt):
        page.write_page("ours", path)
    assert path.read_text() == "before" and list(tmp_path.iterdir()) == [path]


def test_ctrl_c_ends_a_page_after_the_state_under_way(only_ours, tmp_path, monkeypatch):
    drawn, draw = [], page.frame

    def interrupted(scene, **values):
        drawn.append(values)
        signal.raise_signal(signal.SIGINT)
        return draw(scene, **values)

    monkeypatch.setattr(page, "frame", interrupted)
    with pytest.raises(KeyboardInterrupt):
        page.write_page("ours", tmp_path / "ours.html")
    assert len(drawn) == 1 and list(tmp_path.iterdir()) == []


# ---- the server ----------------------------------------------------------------------------------


@contextmanager
def serving(**opens):
    with server.Server(Scene(OURS, **opens)) as live:
        thread = threading.Thread(target=live.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield live
        finally:
            live.shutdown()
            thread.join()


def ask(live, path: str, **headers) -> tuple[int, str]:
    line = HTTPConnection(server.HOST, live.server_port, timeout=20)
    line.request("GET", path, headers=headers)
    answer = line.getresponse()
    text = answer.read().decode("utf-8")
    line.close()
    return answer.status, text


def test_the_server_draws_any_state_also_one_that_no_page_holds():
    with serving() as live:
        assert live.server_address[0] == "127.0.0.1"
        code, text = ask(live, "/")
        assert code == 200 and '"live": true' in text and "Which?" in text
        code, text = ask(live, "/frame?where=2&word=%3Cb%3E&loud=on&typed=any+thing")
        found = json.loads(text)
        assert code == 200 and found["numbers"] == [["where", "2"], ["said", "<b>!"]]
        assert found["svg"] == frames.frame(Scene(OURS), where=2, word="<b>", loud=True).svg


def test_the_page_of_the_server_opens_with_the_values_that_were_set():
    opens = {"where": 2, "loud": True, "typed": "my own {{PACKED}}"}
    with serving(**opens) as live:
        ask(live, "/frame?where=0&loud=off")  # another page has moved
        code, text = ask(live, "/")
    spec = json.loads(re.search(r'id="spec">(.*?)</script>', text)[1])
    starts = {c["name"]: c["values"][c["start"]] for c in spec["controls"]}
    assert code == 200 and starts["where"] == "2" and starts["loud"] == "on"
    assert starts["typed"] == "my own {{PACKED}}" and spec["numbers"][0] == ["where", "2"]


def test_the_server_answers_nonsense_in_a_sentence_and_strangers_not_at_all():
    with serving() as live:
        code, text = ask(live, "/frame?where=3")
        assert code == 400 and "choose one of 0, 1, 2, 4" in json.loads(text)["error"]
        assert ask(live, "/frame?speed=1")[0] == 400
        assert ask(live, "/frame?typed=")[0] == 400
        assert ask(live, "/../../etc/passwd")[0] == 404
        assert ask(live, "http://[bad/", Host="localhost:80")[0] == 400
        assert ask(live, "/", Host="localhost")[0] == 200  # as a browser says it for port 80
        assert ask(live, "/", Host="evil.example:80")[0] == 403
        assert ask(live, "/", Host="evil.example")[0] == 403


def test_ctrl_c_ends_it(monkeypatch, capsys):
    def stopped(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(server.Server, "serve_forever", stopped)
    server.serve(Scene(OURS), browser=False)
    assert "http://127.0.0.1:" in capsys.readouterr().out


# ---- a window ------------------------------------------------------------------------------------


@pytest.fixture
def opened():
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    FigureCanvasAgg(figure)
    return window.Window(OURS, figure, where=2)


def test_widgets_move_the_scene_and_follow_it(opened):
    assert opened.scene.values["where"] == 2
    opened.widgets["where"].set_val(3)
    assert opened.scene.numbers["where"] == "4"
    opened.widgets["loud"].set_active(0)
    assert opened.scene.numbers["said"] == "a!"
    opened.set(word="<b>", where=0)
    assert opened.widgets["word"].val == 1 and opened.widgets["where"].valtext.get_text() == "0"
    opened.widgets["typed"].set_val("other")
    assert opened.scene.values["typed"] == "other"


def test_a_window_shows_all_its_numbers_whole(opened, monkeypatch):
    numbers = {f"number {k}": "1,234,567.89" for k in range(8)}
    monkeypatch.setattr(opened.scene, "simulation", OURS._replace(update=lambda *_: numbers))
    opened.set(where=0)
    lines = opened.numbers.get_text().splitlines()
    assert [pair for line in lines for pair in line.split("   ")] == [
        f"{key}: {value}" for key, value in numbers.items()
    ]
    assert len(lines) == 2 and max(map(len, lines)) <= window.WIDE


def test_a_click_in_the_window_sets_what_the_artist_says(opened):
    from matplotlib.backend_bases import MouseEvent

    opened.figure.canvas.draw()
    text = opened.scene.artists[1]
    box = text.get_window_extent()
    at = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2
    opened.figure.canvas.callbacks.process(
        "button_press_event", MouseEvent("button_press_event", opened.figure.canvas, *at, button=1)
    )
    assert opened.scene.values["word"] == "<b>"


def test_without_a_display_a_window_is_refused_in_a_sentence(only_ours):
    with pytest.raises(UsageError, match="play ours: a window needs a display"):
        command.main(["ours", "--window"])


# ---- the command ---------------------------------------------------------------------------------


def test_the_list_names_all_and_their_questions(capsys):
    assert command.main([]) == 0
    said = capsys.readouterr().out
    assert all(re.search(f"^{name} ", said, re.MULTILINE) for name in NAMES)
    assert "which" in said.lower() and max(map(len, said.splitlines())) <= 80


def test_one_state_as_a_picture(only_ours, tmp_path, capsys):
    path = tmp_path / "one.png"
    assert command.main(["ours", "--png", str(path), "--set", "where=4", "--set", "word=<b>"]) == 0
    assert image.imread(path).shape == (200, 300, 4)
    assert list(tmp_path.iterdir()) == [path] and str(path) in capsys.readouterr().out


def test_what_play_shows_as_a_moving_picture(only_ours, tmp_path):
    path = tmp_path / "moving.gif"
    assert command.main(["ours", "--gif", str(path), "--set", "loud=on"]) == 0
    with Image.open(path) as moving:
        frames = [(moving.seek(n), np.array(moving.convert("RGB")))[1] for n in range(3)]
        assert moving.n_frames == 3  # the values on a page; the last stays for longer
        assert moving.info["duration"] > 3000 and moving.info["loop"] == 0
    still = Scene(OURS, where=4, loud=True)
    still.figure.canvas.draw()
    shown = np.asarray(still.figure.canvas.buffer_rgba())[..., :3]
    # only what differs by much: how a GIF rounds colours depends on the version of Matplotlib
    off = [(np.abs(frame.astype(int) - shown) > 100).mean() for frame in frames]
    assert int(np.argmin(off)) == 2 and off[2] < off[0] / 2
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "argv, words",
    [
        (["--html", "x.html"], "--html needs a simulation"),
        (["nix"], "play nix: there is no simulation 'nix'; there are lookup, "),
        (["lookup", "--set", "word=cow"], "word is 'cow'; choose one of the, cat, dog"),
        (["lookup", "--set", "speed=1"], "there is no control speed; there are word, other"),
        (["lookup", "--html", "x.html", "--set", "word=cat"], "--set has nothing to set"),
        (["lookup", "--html", f"{__file__}/x.html"], "test_play.py"),
        (["lookup", "--png", "x.bmp"], "; a picture ends in .png"),
        (["lookup", "--gif", "x.png"], "a moving picture ends in .gif"),
        (["lookup", "--html", "x.html", "--png", "x.bmp"], "; a picture ends in .png"),
        (["lookup", "--png", "x.png", "--gif", "x.png2"], "a moving picture ends in .gif"),
        (["there_and_back", "--gif", "x.gif", "--set", "step=3"], "leave --set step out."),
        (["tied", "--gif", "x.gif"], "nothing plays by itself here"),
        (["lookup", "--port", "70000"], "--port is 70000; it goes from 0 to 65535"),
        (["lookup", "--png", "x.png", "--port", "8000"], "--port is for the browser, which is not"),
        (["lookup", "--html", ""], "is a folder"),
        (["lookup", "--html", "photo.png"], "photo.png ends in '.png'; a page ends in .html"),
        (["lookup", "--html", "x.png", "--png", "./x.png"], "./x.png would be written twice"),
        (["lookup", "--set", "word=dog", "--set", "word=cat"], "word is set twice"),
        (["lookup", "--window", "--no-browser"], "--no-browser is for the browser, which is not"),
        (["lookup", "--slow"], "unrecognized arguments: --slow"),
    ],
)
def test_a_wrong_command_gets_a_sentence(argv, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=re.escape(words)):
        command.main(argv)
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("text, value", [("on", True), ("False", False), ("off", False)])
def test_switches_are_typed_in_words(text, value):
    assert read_value(OURS.controls[2], text) is value


def test_numbers_are_typed_as_they_are_read():
    control = Control("V", (0.01, 32_000, 1000.0), 0.01, "V")
    assert [read_value(control, t) for t in ("0.01", "32,000", "1e3")] == [0.01, 32_000, 1000.0]
    with pytest.raises(ValueError, match="V is 'many'; choose one of 0.01, 32000, 1000.0"):
        read_value(control, "many")
    scale = Control("scale", (1.6, 16), 16, "scale")
    assert read_value(scale, "1.6") == 1.6 and read_value(scale, "16.0") == 16
    for comma in ("1,6", "1_6", "16,", "+", "."):  # a decimal comma is not passed over
        with pytest.raises(ValueError, match="choose one of 1.6, 16"):
            read_value(scale, comma)


# ---- in a lesson ---------------------------------------------------------------------------------


def test_every_simulation_has_its_place_in_a_lesson():
    from scratch_embed.lesson.tools import course_folder

    lessons = [path.read_text(encoding="utf-8") for path in course_folder().glob("ch*.py")]
    call = re.compile(r'^play\("(\w+)"\)$', re.MULTILINE)
    placed = [name for text in lessons for name in call.findall(text)]
    assert sorted(placed) == sorted(NAMES)


def test_a_lesson_says_how_to_open_it_and_a_page_shows_it(capsys):
    from scratch_embed.lesson.play import here

    here.play("tied")
    said = capsys.readouterr().out
    assert "python -m lessons play tied" in said and max(map(len, said.splitlines())) <= 80
    text = here._page("tied", "python -m lessons play tied")
    assert "<svg " in text and "Tied, which token" in text
    with pytest.raises(ValueError, match="there is no simulation 'wave'"):
        here.play("wave")
