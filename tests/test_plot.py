"""The figure helpers: what they draw, what they write, and what they leave alone."""

import math
import os
import subprocess
import sys
import warnings
from itertools import combinations

import numpy as np
import pytest
from matplotlib.text import Text

from scratch_embed import plot

TABLE = np.array([[-0.12, 0.05, 0.88], [0.72, -0.41, 0.15], [0.0, 0.0, -0.9]])


def draw():
    fig, ax = plot.figure(title="A table")
    plot.heatmap(ax, TABLE, rows=["the", "cat", "x"], highlight=[1], label="value", xlabel="column")
    return fig, ax


@pytest.mark.skipif(os.name == "nt", reason="a process sends itself no SIGINT on Windows")
@pytest.mark.parametrize(
    "makes", ["scratch_embed.plot.figure", "scratch_embed.simulations.simulation.new_figure"]
)
def test_matplotlib_is_imported_to_the_end_whatever_comes(makes):
    """Ctrl-C in the midst of it left an ImportError of its parts, and once ended the process."""
    code = f"""
import os, pkgutil, signal, sys
make = pkgutil.resolve_name("{makes}")
class Interrupts:
    def find_spec(name, path=None, target=None):
        if name == "matplotlib.ft2font":
            os.kill(os.getpid(), signal.SIGINT)
            sum(range(100))  # a moment in which Python answers
sys.meta_path.insert(0, Interrupts)
try:
    make()
except KeyboardInterrupt:
    print("Ctrl-C after", "matplotlib.backends.backend_agg" in sys.modules, make() is not None)
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.stdout == "Ctrl-C after True True\n", done.stderr


def test_importing_loads_no_matplotlib_and_saving_no_pyplot(tmp_path):
    code = (
        "import sys, scratch_embed.plot as p; assert 'matplotlib' not in sys.modules;"
        "p.save(p.figure()[0], sys.argv[1]); assert 'matplotlib.figure' in sys.modules;"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-c", code, str(tmp_path / "a.png")]
    done = subprocess.run(command, check=False, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_heatmap_writes_every_number_and_frames_the_row():
    fig, ax = draw()
    assert [t.get_text() for t in ax.texts][:9] == [f"{x:.2f}" for x in TABLE.flat]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["the", "cat", "x"]
    frame = ax.patches[0]
    assert (frame.get_y(), frame.get_height(), frame.get_width()) == (0.5, 1, 3)
    assert ax.images[0].get_clim() == (-0.9, 0.9)  # white is zero
    assert fig.axes[1].get_ylabel() == "value" and ax.get_xlabel() == "column"


def test_numbers_contrast_with_their_cells():
    _, ax = draw()
    image = ax.images[0]
    for text, value in zip(ax.texts, TABLE.flat, strict=False):
        lightness = np.dot(image.cmap(image.norm(value))[:3], (0.299, 0.587, 0.114))
        assert (text.get_color() == "white") == (lightness < 0.5)
    assert {t.get_color() for t in ax.texts[:9]} == {"white", "black"}


def test_a_table_of_zeros_and_a_large_one_can_be_drawn(tmp_path):
    fig, axes = plot.figure(1, 2)
    plot.heatmap(axes[0], np.zeros((2, 2)))
    plot.heatmap(axes[1], np.ones((300, 200)), values=False)
    assert plot.save(fig, tmp_path / "new" / "zeros.png").stat().st_size > 1000


def test_bars_stand_where_they_should():
    _, ax = plot.figure()
    plot.bars(ax, ["a", "b"], {"one": [1, 2], "two": [3, 4]}, fmt="{:.1f}", ylabel="n")
    middles = [round(p.get_x() + p.get_width() / 2, 6) for p in ax.patches]
    assert middles == [-0.2, 0.8, 0.2, 1.2]
    assert [p.get_height() for p in ax.patches] == [1, 2, 3, 4]
    assert [t.get_text() for t in ax.texts] == ["1.0", "2.0", "3.0", "4.0"]
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["one", "two"]


def test_scatter_groups_differ_in_colour_and_in_marker():
    _, ax = plot.figure()
    plot.scatter_labels(ax, TABLE[:, :2], ["the", "cat", "x"], groups=["f", "n", "f"])
    first, second = ax.collections
    assert np.allclose(first.get_offsets(), TABLE[[0, 2], :2])
    assert not np.array_equal(first.get_facecolor(), second.get_facecolor())
    assert not np.array_equal(first.get_paths()[0].vertices, second.get_paths()[0].vertices)
    assert [t.get_text() for t in ax.texts] == ["the", "cat", "x"]
    with pytest.raises(ValueError, match=r"groups\[1\] is nan, which equals nothing"):
        plot.scatter_labels(ax, TABLE[:, :2], ["the", "cat", "x"], groups=["f", math.nan, "f"])


def test_a_word_lies_on_no_point_and_on_no_word():
    _, ax = plot.figure()
    points = np.array([[0.0, 0.0], [0.1, 0.018], [0.5, 0.5], [0.5, 0.51]])
    plot.scatter_labels(ax, points, ["the longest word", "b", "c", "d"])
    ax.figure.draw_without_rendering()
    boxes = [Text.get_window_extent(word) for word in ax.texts]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    at = ax.transData.transform(points)
    assert not any(box.contains(*point) for box in boxes for point in at)


def test_words_for_which_there_is_no_room_are_counted_and_the_axes_stay(tmp_path):
    figure, ax = plot.figure()
    points = np.random.default_rng(0).standard_normal((150, 2))
    plot.scatter_labels(ax, points, [f"word{i}" for i in range(150)])
    plot.save(figure, tmp_path / "words.png")  # a warning of a layout that failed is an error here
    *words, told = ax.texts
    shown = [word for word in words if word.get_visible()]
    assert told.get_text() == f"{150 - len(shown)} of 150 words have no room" and len(shown) > 30
    assert ax.get_position().height > 0.8
    low = ax.get_window_extent().y0
    assert all(Text.get_window_extent(word).y0 >= low - 15 for word in shown)
    with pytest.raises(ValueError, match=r"points\[1\] is \[nan, 2.0\]"):
        plot.scatter_labels(ax, [[0, 1], [np.nan, 2]], ["a", "lost"])


def test_numbers_are_written_where_they_can_be_read():
    for shape, count in (((20, 20), 400), ((21, 20), 0)):
        _, ax = plot.figure()
        plot.heatmap(ax, np.ones(shape))
        assert len(ax.texts) == count


def test_lines_on_log_axes():
    _, ax = plot.figure()
    plot.lines(ax, [1, 10], {"a": [5, 6], "b": [7, 8]}, logx=True, logy=True, xlabel="rank")
    assert (ax.get_xscale(), ax.get_yscale(), ax.get_xlabel()) == ("log", "log", "rank")
    assert [line.get_ydata().tolist() for line in ax.lines] == [[5, 6], [7, 8]]
    assert len({line.get_linestyle() for line in ax.lines}) == 2


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_the_same_figure_gives_the_same_bytes(tmp_path, kind):
    first = plot.save(draw()[0], tmp_path / f"a.{kind}").read_bytes()
    second = plot.save(draw()[0], tmp_path / f"b.{kind}").read_bytes()
    assert first == second and len(first) > 1000
    assert b"matplotlib.org" not in first[:2000] and b"CreationDate" not in first
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"a.{kind}", f"b.{kind}"]


def test_a_failed_save_leaves_the_old_picture(tmp_path, monkeypatch):
    path = plot.save(draw()[0], tmp_path / "a.png")
    before = path.read_bytes()
    fig, _ = draw()

    def broken(temporary, **_):
        temporary.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(fig, "savefig", broken)
    with pytest.raises(KeyboardInterrupt):
        plot.save(fig, path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["a.png"]


def test_the_palette_is_the_published_one_and_its_colours_differ():
    assert plot.PALETTE["vermillion"] == "#D55E00" and len(set(plot.CYCLE)) == 8
    assert set(plot.CYCLE) == set(plot.PALETTE.values())


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda ax: plot.heatmap(ax, [1.0, 2.0]), ValueError, r"\(2,\)"),
        (lambda ax: plot.heatmap(ax, TABLE, rows=["a"]), ValueError, "rows has 1 .* 3"),
        (lambda ax: plot.heatmap(ax, TABLE, highlight=[3]), IndexError, r"3, outside 0\.\.2"),
        (lambda ax: plot.bars(ax, ["a"], [1, 2]), ValueError, "values has 2"),
        (lambda ax: plot.scatter_labels(ax, TABLE, "abc"), ValueError, r"\(V, 2\)"),
        (lambda ax: plot.lines(ax, [1], {"a": [1, 2]}), ValueError, "a has 2"),
        (lambda ax: plot.save(ax.figure, "a.gif"), ValueError, r"\.gif.*\.png"),
    ],
)
def test_bad_input_gets_a_sentence(call, error, words):
    with pytest.raises(error, match=words):
        call(plot.figure()[1])


def test_words_are_words_and_no_mathematics_and_none_is_left_out_of_a_legend(tmp_path):
    fig, ax = plot.figure(title="$5 and $6")
    plot.scatter_labels(ax, [[0, 0], [1, 1]], ["$$", "$a_1$"], ["_", "$$"], title="costs $5 or $6")
    plot.save(fig, tmp_path / "words.png")
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert [text.strip() for text in legend] == ["_", "$$"]
    _, (left, right) = plot.figure(1, 2)
    plot.heatmap(left, np.eye(2), rows=["$$", "b"])
    plot.bars(right, ["$$", "b"], {"_a": [1, 2], "b": [1, 2]})
    plot.save(fig, tmp_path / "cells.png")


def test_an_infinite_cell_does_not_set_the_limits_of_colours():
    _, ax = plot.figure()
    plot.heatmap(ax, np.array([[1.0, np.inf], [-2.0, 0.5]]))
    assert ax.images[0].get_clim() == (-2, 2)
    with pytest.raises(ValueError, match="limit is 0"):
        plot.heatmap(ax, np.eye(2), limit=0)
    with pytest.raises(TypeError, match="array is a masked array"):
        plot.heatmap(ax, np.ma.ones((2, 2)))


def test_no_two_of_many_curves_or_groups_look_alike():
    _, (left, right) = plot.figure(1, 2)
    plot.lines(left, [0, 1], {f"curve {i}": [i, i] for i in range(12)})
    assert len({(line.get_color(), line.get_linestyle()) for line in left.lines}) == 12
    names = [f"{i}" for i in range(12)]
    plot.scatter_labels(right, np.arange(24).reshape(12, 2), names, names)
    looks = {(str(c.get_facecolor()), str(c.get_paths())) for c in right.collections}
    assert len(looks) == 12


def test_one_curve_with_a_name_shows_it_and_two_need_names():
    _, ax = plot.figure()
    plot.lines(ax, [0, 1], {"loss": [2, 1]})
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["loss"]
    with pytest.raises(ValueError, match=r"series of shape \(2, 2\); for several"):
        plot.lines(ax, [0, 1], np.ones((2, 2)))


def test_a_letter_that_the_font_lacks_is_a_box_and_no_warning(tmp_path):
    fig, ax = plot.figure(title="\u65e5")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plot.scatter_labels(ax, np.eye(2), ["\u65e5\u672c", "a"])
        assert plot.save(fig, tmp_path / "a.png").exists()
