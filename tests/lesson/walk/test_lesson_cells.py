"""Cells of a percent script: what belongs to which, and which files are refused."""

from __future__ import annotations
import __future__

import pytest

from scratch_embed.lesson.walk.cells import find, load


def lesson(tmp_path, text, name="ch03_x.py"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return load(path)


def test_cells_kinds_lines_and_title(tmp_path):
    made = lesson(
        tmp_path,
        '"""Doc."""\nfrom __future__ import annotations\n\n# %% [markdown]\n# # 3. The *title*\n#\n'
        "# prose\n\n# %%\n\nx = 1\n\n\n# %% a title\n@str\ndef f():\n    return 2\n# %%\n# talk\n",
    )
    assert [(cell.kind, cell.line) for cell in made.cells] == [
        ("markdown", 5), ("code", 11), ("code", 15)]  # fmt: skip
    assert made.cells[0].text == "# 3. The *title*\n\nprose"
    assert made.cells[1].text == "x = 1"
    assert (made.title, made.number, made.name, made.doc) == ("3. The title", 3, "ch03_x", "Doc.")
    assert made.flags == __future__.annotations.compiler_flag


def test_a_marker_inside_a_string_is_text(tmp_path):
    made = lesson(tmp_path, '# %%\nx = """\n# %% [markdown]\n"""\n')
    assert len(made.cells) == 1


@pytest.mark.parametrize(
    "text, message, line",
    [
        ("# %%\nx = [\n# %%\n1]\n", "cuts the statement that begins on line 2", 3),
        ("# %% [markdown]\n# prose\nx = 1\n", "comment lines only", 3),
        ("# %%\nx = = 1\n", "invalid syntax", 2),
    ],
)
def test_files_that_are_refused_with_their_line(tmp_path, text, message, line):
    with pytest.raises(SyntaxError, match=message) as caught:
        lesson(tmp_path, text)
    assert caught.value.lineno == line
    assert caught.value.filename == str(tmp_path / "ch03_x.py")


def test_find_sorts_by_number(tmp_path):
    for name in ("ch10_b.py", "ch02_a.py", "notes.py", "chapter.py"):
        (tmp_path / name).write_text("", encoding="utf-8")
    assert [(n, path.name) for n, path in find(tmp_path).items()] == [
        (2, "ch02_a.py"), (10, "ch10_b.py")]  # fmt: skip
