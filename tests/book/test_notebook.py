"""A notebook: made from a run, valid, and it runs again where nobody knows the script's path."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scratch_embed.book import notebook
from scratch_embed.book.pieces import cut
from scratch_embed.book.running import Ran, ran, run
from scratch_embed.lesson.walk import cells

ROOT = Path(__file__).parents[2]
LESSONS = ROOT / "lessons"
SCRIPT = """# %% [markdown]
# # 0. Made for the test
# A row of $E$.

# %%
from scratch_embed import Tensor, plot
from scratch_embed.lesson import begin, guess, save_figure, show, worked

begin()

# %%
q = guess("Is 1 < 2?", ["yes", "no & <b>never</b>"])
print("first")
total = worked.sum("a<b", 1, 2)
print("then")
q.answer("yes", because="it is & was")
worked.sum("again", 3, 4)

# %%
figure, axes = plot.figure()
plot.bars(axes, ["a", "b"], [1.0, 2.0], title="Two bars", ylabel="height")
save_figure(figure, "two_bars.png")

# %%
E = Tensor([[1.0, 2.0]], requires_grad=True, name="<E>")
E
"""


@pytest.fixture
def made(tmp_path) -> Ran:
    path = tmp_path / "lessons" / "ch00_made.py"
    path.parent.mkdir()
    path.write_text(SCRIPT, encoding="utf-8")
    return Ran(path, cut(cells.load(path)).cells, **run(path))


def outputs(made: Ran) -> list[list[dict]]:
    cells = notebook.notebook(made)["cells"]
    return [cell["outputs"] for cell in cells if cell["cell_type"] == "code"]


def page(output: dict) -> str:
    return "".join(output["data"]["text/html"])


def test_what_is_printed_and_what_is_shown_keep_their_order(made):
    _, question, calculated, answer, again, *_ = outputs(made)
    assert [o["output_type"] for o in calculated] == ["stream", "display_data", "stream"]
    assert calculated[0]["text"] == ["first\n"] and calculated[2]["text"] == ["then\n"]
    assert "a&lt;b = 1 + 2 = 3" in page(calculated[1])
    assert len(question) == len(answer) == len(again) == 1


def test_a_question_shows_its_options_and_folds_its_answer(made):
    _, question, _, answer, *_ = outputs(made)
    assert "<li>no &amp; &lt;b&gt;never&lt;/b&gt;</li>" in page(question[0])
    assert page(answer[0]).startswith("<details><summary>Answer: Is 1 &lt; 2?")
    assert "<b>A) yes</b>: it is &amp; was." in page(answer[0])
    assert "it is" not in page(question[0])


def test_a_figure_is_seen_and_told_in_words(made):
    figure = outputs(made)[5][0]["data"]
    assert figure["image/png"].startswith("iVBOR")  # as every PNG in base64
    assert figure["text/plain"] == ["Figure: Two bars"]
    assert (made.path.parents[1] / "build" / "figures" / "two_bars.png").exists()


def test_a_bare_expression_shows_itself(made):
    shown = page(outputs(made)[6][0])
    assert "Tensor &lt;E&gt;, (1, 2), float64, requires_grad" in shown and "<td>2</td>" in shown


def test_a_call_that_returns_something_is_told_to_keep_it_to_itself(made):
    sources = {piece.role: notebook.source(piece) for piece in made.pieces if piece.nodes}
    assert sources["imports"].endswith("begin()") and sources["quiz"].endswith(")")
    drawn = [notebook.source(piece) for piece in made.pieces if "save_figure(" in piece.text]
    assert drawn[-1].endswith('save_figure(figure, "two_bars.png");')


def test_what_somebody_has_written_into_a_notebook_is_not_written_over(tmp_path):
    def said(words: str) -> Ran:
        script = f'# %%\nprint("{words}")\n'
        (tmp_path / "one.py").write_text(script, encoding="utf-8")
        pieces = cut(cells.load(tmp_path / "one.py")).cells
        return Ran(tmp_path / "one.py", pieces, [[] for _ in pieces], {})

    place = tmp_path / "one.ipynb"
    assert notebook.write(said("hello"), place)
    again = json.loads(place.read_text(encoding="utf-8"))
    for cell in again["cells"]:  # as a program that only ran it saves it
        cell["source"] = "".join(cell["source"])
        cell |= {"execution_count": 7, "outputs": []} if cell["cell_type"] == "code" else {}
        cell["metadata"]["ExecuteTime"] = {"end_time": "now"}
    again["metadata"]["language_info"]["version"] = "3.13.1"
    place.write_text(json.dumps(again), encoding="utf-8")
    assert notebook.write(said("good day"), place)
    assert "good day" in place.read_text(encoding="utf-8")
    assert notebook.edited(tmp_path) == []
    note = {"cell_type": "markdown", "id": "mine", "metadata": {}, "source": ["my note"]}
    mine = json.dumps({**again, "cells": [*again["cells"], note]})
    titled = json.dumps({**again, "metadata": {**again["metadata"], "title": "Mine"}})
    first = {**again["cells"][0], "metadata": {"tags": ["mine"]}}
    tagged = json.dumps({**again, "cells": [first, *again["cells"][1:]]})
    for other in ("", "[]", '{"cells": 3, "metadata": {}}', mine, titled, tagged):
        place.write_text(other, encoding="utf-8")
        assert not notebook.write(said("hello"), place)
        assert place.read_text(encoding="utf-8") == other
        assert notebook.edited(tmp_path) == [place]


def test_a_script_that_fails_makes_no_notebook(tmp_path):
    path = tmp_path / "ch00_wrong.py"
    path.write_text("# %%\nx = 1\n\n# %%\ny = x / 0\n", encoding="utf-8")
    with pytest.raises(RuntimeError, match=r"ch00_wrong.py failed:(.|\n)*ZeroDivisionError"):
        run(path)
    path.write_text(
        "# %%\nfrom scratch_embed.lesson import compare\n\ncompare('x', a=1.0, b=2.0)\n",
        encoding="utf-8",
    )
    with pytest.raises(RuntimeError, match="do not agree: x"):
        run(path)


def test_nothing_runs_twice_until_the_script_changes(made, tmp_path):
    pages = tmp_path / "pages"
    first = list(ran([made.path], pages))
    kept = list(pages.glob("*.json"))
    assert len(kept) == 1 and first[0].shown == made.shown
    kept[0].write_text(json.dumps({"shown": [], "traces": {"7": "x"}}), encoding="utf-8")
    assert next(ran([made.path], pages)).traces == {"7": "x"}  # it was read, not run
    for damaged in (b"{", b"\xff", b"[" * 100_000):
        kept[0].write_bytes(damaged)
        assert next(ran([made.path], pages)).shown == made.shown  # it was run, and kept again
    made.path.write_text(SCRIPT + "\n# %%\nprint('more')\n", encoding="utf-8")
    (again,) = ran([made.path], pages)
    assert again.shown[-1] == [{"stream": "more\n"}]
    assert len(list(pages.glob("*.json"))) == 1  # the old one is gone


ALONE = """
import json, sys
names = {"__name__": "__main__"}  # as a notebook has it, without a __file__
for cell in json.load(open(sys.argv[1], encoding="utf-8"))["cells"]:
    if cell["cell_type"] == "code":
        exec(compile("".join(cell["source"]), "cell", "exec"), names)
"""


@pytest.mark.parametrize("name", ["ch00_lookup", "labs/break_it"])
def test_a_notebook_runs_alone_from_its_own_folder(name, tmp_path):
    path = LESSONS / f"{name}.py"
    pieces = cut(cells.load(path)).cells
    place = tmp_path / f"{path.stem}.ipynb"
    notebook.write(Ran(path, pieces, [[] for _ in pieces], {}), place)
    if name.startswith("labs"):  # its first calculations are enough: the whole takes a minute
        text = json.loads(place.read_text(encoding="utf-8"))
        text["cells"] = text["cells"][:4]
        place.write_text(json.dumps(text), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", ALONE, place.name],
        cwd=tmp_path, capture_output=True, encoding="utf-8", check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", [path.stem for path in sorted(LESSONS.glob("ch*.py"))])
def test_jupyter_runs_it_and_sees_the_pictures(name, tmp_path, monkeypatch):
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed (see .ci/book)")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed (see .ci/book)")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed (see .ci/book)")
    path = LESSONS / f"{name}.py"
    pieces = cut(cells.load(path)).cells
    notebook.write(Ran(path, pieces, [[] for _ in pieces], {}), tmp_path / "one.ipynb")
    one = nbformat.read(tmp_path / "one.ipynb", as_version=4)
    nbformat.validate(one)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    nbclient.NotebookClient(one, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [o for cell in one.cells for o in cell.get("outputs", [])]
    pictures = sum("image/png" in o.get("data", {}) for o in shown)
    assert pictures == sum(piece.text.count("save_figure(") for piece in pieces if piece.nodes)
    folds = sum("<details" in o.get("data", {}).get("text/html", "") for o in shown)
    assert folds >= sum(piece.text.count(".answer(") for piece in pieces if piece.nodes)
    kinds = {o["output_type"] for o in shown}
    assert kinds <= {"stream", "display_data"}  # no value is echoed


def test_the_semicolon_stands_behind_the_call_whatever_its_letters(tmp_path):
    path = tmp_path / "x.py"
    text = '# %% [markdown]\n# # T\n\n# %%\nline("naïve ∂L")  # a note\n'
    path.write_text(text, encoding="utf-8")
    made = cut(cells.load(path)).cells[-1]
    assert notebook.source(made) == 'line("naïve ∂L");  # a note'
