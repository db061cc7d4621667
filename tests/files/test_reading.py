"""One reader: never blocks, never reads without end, and says what is wrong in one sentence."""

from __future__ import annotations

import os
import sys
import threading
import zipfile

import numpy as np
import pytest

from scratch_embed import checkpoint
from scratch_embed.disk import open_table
from scratch_embed.files import from_json, open_regular, read_bytes, sentence
from scratch_embed.text import bpe
from scratch_embed.text.corpus import read_text
from scratch_embed.text.vectors import read_vectors
from scratch_embed.text.vectors_files import read_npz

READERS = {"text": read_text, "vectors": read_vectors, "bpe": bpe.load, "table": open_table}


def told(reader, path) -> str:
    """What a reader raises, as text; the test fails when it does not come back."""
    found = []

    def read():
        try:
            found.append(repr(reader(path)))
        except (OSError, ValueError) as error:
            found.append(f"{type(error).__name__}: {error}")

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    thread.join(timeout=20)
    assert found, "the reader waits for ever"
    return found[0]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")
@pytest.mark.parametrize("name", READERS)
def test_no_reader_waits_for_a_pipe_or_reads_without_end(name, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for path in ("pipe", "link"):
        answer = told(READERS[name], tmp_path / path)
        assert answer.startswith("OSError") and f"{path} is a pipe, not a file on a disk" in answer
    assert "/dev/null is a device" in told(READERS[name], "/dev/null")
    assert "is a folder" in told(READERS[name], tmp_path)


@pytest.mark.parametrize("name", READERS)
def test_a_file_that_is_missing_or_empty(name, tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    assert "empty is empty: take another file." in told(READERS[name], tmp_path / "empty")
    missing = told(READERS[name], tmp_path / "missing")
    assert missing.startswith("FileNotFoundError: There is no file") and "Looked in" in missing


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has files made up while read")
def test_a_file_without_a_size_is_not_read():
    with open("/proc/self/status", "rb") as file:
        assert file.read()
    with pytest.raises(ValueError, match="status is empty"):
        read_bytes("/proc/self/status")


def test_no_more_is_read_than_allowed_or_than_there_was(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"x" * 1000)
    assert read_bytes(path, largest=1000) == b"x" * 1000
    with pytest.raises(ValueError, match="a holds 1,000 bytes, and at most 999 are read"):
        read_bytes(path, largest=999)
    with open_regular(path, "r+b") as file:
        file.write(b"y")
    assert path.read_bytes()[:2] == b"yx"


def test_a_system_error_becomes_a_sentence():
    assert (
        sentence(PermissionError(13, "Permission denied", "a.txt")) == "a.txt: Permission denied."
    )
    assert sentence(OSError("a.txt is a pipe.")) == "a.txt is a pipe."


@pytest.mark.parametrize("reader", [checkpoint.load, read_npz])
@pytest.mark.parametrize("damage", ["a byte more than the array", "another checksum"])
def test_an_entry_is_read_to_its_end(reader, damage, tmp_path):
    path = tmp_path / "vectors.npz"
    words, vectors = np.array(["a", "b"]), np.eye(2, dtype=np.float32)
    np.savez(path, words=words, vectors=vectors, plain='{"x": 1}')
    reader(path)  # as it is, it can be read
    if damage == "another checksum":
        crc = zipfile.ZipFile(path).getinfo("vectors.npy").CRC.to_bytes(4, "little")
        path.write_bytes(path.read_bytes().replace(crc, b"\0\0\0\0"))
    else:
        with zipfile.ZipFile(path) as old:
            members = {name: old.read(name) for name in old.namelist()}
        with zipfile.ZipFile(path, "w") as new:
            for name, data in members.items():
                new.writestr(name, data + b"!" * (name == "vectors.npy"))
    with pytest.raises(ValueError, match=r"vectors\.npz is no .*vectors\.npy"):
        reader(path)


def test_json_that_is_nested_too_deep_is_a_value_error():
    assert from_json(b'{"a": [1]}') == {"a": [1]}
    with pytest.raises(ValueError, match="too deep"):
        from_json("[" * 200_000)
