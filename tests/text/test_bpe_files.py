"""A tokenizer's file is read by eye, saved whole, and refused where it is malformed."""

import numpy as np
import pytest

from scratch_embed.text import bpe
from scratch_embed.text.bpe import load, train
from scratch_embed.text.toy import CAT


@pytest.mark.parametrize("unit", ["character", "byte"])
@pytest.mark.parametrize("boundaries", [True, False])
def test_save_and_load_give_the_same_tokenizer(tmp_path, unit, boundaries):
    text = 'é"\\ \u2028\n\x85 [1, 2] été été "quoted" \\\\ 🙂🙂 \x00\x7f'
    bpe = train(text, 20, unit=unit, boundaries=boundaries, progress=False)
    again = load(bpe.save(tmp_path / "a.bpe"))
    assert again == bpe and again.tokens == bpe.tokens
    assert again.encode(text).tolist() == bpe.encode(text).tolist()
    assert [p.name for p in tmp_path.iterdir()] == ["a.bpe"]


def test_the_file_can_be_read_by_eye(tmp_path):
    path = train(CAT, 3, progress=False).save(tmp_path / "a.bpe")
    assert path.read_bytes().decode().split("\n") == [
        "# scratch_embed BPE 2",
        '{"unit": "character", "boundaries": false, "merges": 3}',
        '[" ", "a", "c", "e", "h", "m", "n", "o", "s", "t"]',
        '["a", "t"]',
        '["t", "h"]',
        '["th", "e"]',
        "",
    ]


@pytest.mark.parametrize(
    "line, text, match",
    [
        (1, "hello", "line 1: expected '# scratch_embed"),
        (2, "{", "line 2: expected an object"),
        (2, '{"unit": "letter", "boundaries": true, "merges": 3}', "line 2"),
        (2, '{"unit": "character", "boundaries": 1, "merges": 3}', "line 2"),
        (2, '{"unit": "character", "boundaries": true}', "line 2"),
        (2, '{"unit": "character", "boundaries": true, "merges": 3.0}', "line 2"),
        (2, '{"unit": "character", "boundaries": true, "merges": 2}', "2 merges, and there are 3"),
        (3, '["ab"]', "line 3: expected a list of different single"),
        (3, '["a", "a"]', "line 3"),
        (4, '["a"]', "line 4: expected a list of two strings"),
        (4, '["a", 1]', "line 4"),
        (4, '["a", ""]', "line 4"),
        (5, '["t", "x"]', r"line 5: .*'x'.* no line above makes"),
        (5, '["th", "e"]', "line 5"),
        (6, "", "line 6: expected a list of two strings, found ''"),
        (6, "[" * 100_000, "line 6"),
    ],
)
def test_a_malformed_file_is_refused_with_its_line(tmp_path, line, text, match):
    path = train(CAT, 3, progress=False).save(tmp_path / "a.bpe")
    lines = path.read_text(encoding="utf-8").split("\n")
    lines[line - 1] = text
    path.write_bytes("\n".join(lines).encode())
    with pytest.raises(ValueError, match=match):
        load(path)


def test_cut_and_foreign_files_are_refused(tmp_path):
    path = tmp_path / "a.bpe"
    for content, match in [
        (b"", "is empty"),
        (b"\xff", "not UTF-8"),
        (b"# scratch_embed BPE 2\n", "line 2: .*the end of the file"),
    ]:
        path.write_bytes(content)
        with pytest.raises(ValueError, match=match):
            load(path)
    options = '{"unit": "byte", "boundaries": true, "merges": 1}'
    byte = f'# scratch_embed BPE 2\n{options}\n[]\n["\u20ac", "a"]\n'
    path.write_bytes(byte.encode())
    with pytest.raises(ValueError, match="line 4: .*are not bytes"):
        load(path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "missing.bpe")


def test_a_file_cut_at_the_end_of_a_line_is_refused(tmp_path):
    path = train(CAT, 8, progress=False).save(tmp_path / "a.bpe")
    lines = path.read_bytes().splitlines(keepends=True)
    for kept in range(3, len(lines)):
        path.write_bytes(b"".join(lines[:kept]))
        with pytest.raises(
            ValueError, match=f"announces 8 merges, and there are {kept - 3}; .* cut"
        ):
            load(path)


def test_nothing_in_a_file_is_executed(tmp_path):
    path = tmp_path / "a.bpe"
    path.write_text("# scratch_embed BPE 2\n__import__('os')\n", encoding="utf-8")
    with pytest.raises(ValueError, match="line 2"):
        load(path)


@pytest.mark.parametrize("boundaries", [1, "no", None])
def test_boundaries_are_a_switch(boundaries):
    with pytest.raises(TypeError, match="boundaries is .* True or False"):
        bpe.train("the cat", 2, boundaries=boundaries)


def test_a_switch_of_numpy_is_saved_as_well(tmp_path):
    made = bpe.train("the cat sat", 3, boundaries=np.True_, progress=False)
    assert bpe.load(made.save(tmp_path / "b.bpe")) == made
