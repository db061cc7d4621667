"""Vectors of words in any format that we know, chosen by the ending of the file's name.

    vectors.txt .vec      word2vec's text       (gensim, fastText; GloVe's, without a first line)
    vectors.bin           word2vec's binary     (gensim, word2vec.c)
    vectors.npz           NumPy's               np.load(path)["words"], np.load(path)["vectors"]
    vectors.safetensors   safetensors           `vectors`, and `words` as UTF-8 bytes
    vectors.tsv           TensorFlow projector  with the words in vectors_words.tsv; only written

Nothing in a file is run, whoever wrote it: none of these is a pickle.
"""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from scratch_embed.arguments import check_count
from scratch_embed.files import BAD_NPZ, open_regular, read_array, replacing
from scratch_embed.text.vectors import WordVectors, check_words, read_vectors, write_vectors
from scratch_embed.text.vectors_binary import read_binary, write_binary
from scratch_embed.text.vectors_safetensors import read_safetensors, write_safetensors

SMALL = 1 << 30  # bytes that an array may unpack to, whatever it was packed to
MOST_PACKED = 50  # times smaller; floats come to a half at best, padded words to a tenth
PICKLES = (".kv", ".model", ".pkl", ".pickle", ".pt", ".pth")


def write_npz(path: str | os.PathLike, words: Sequence[str], vectors: np.ndarray) -> None:
    """Write `words` (V,), as str, and `vectors` (V, D) as NumPy's .npz.

    Raises ValueError, too, where a long word among many would take more than 1 GiB: NumPy pads all
    words to the length of the longest.
    """
    vectors = check_words(words, vectors)
    letters, longest = sum(map(len, words)), max(words, key=len, default="")
    padded = 4 * len(words) * len(longest)  # bytes; NumPy has 4 for a letter
    if padded > max(SMALL, MOST_PACKED * 4 * letters):
        raise ValueError(
            f"a .npz would take {padded:,} bytes for the words, as NumPy pads each of them to the "
            f"{len(longest):,} letters of {longest[:40]!r}...; leave it out, or write .txt, .bin "
            "or .safetensors"
        )
    with replacing(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, words=np.array(list(words)), vectors=vectors)


def read_npz(path: str | os.PathLike, limit: int | None = None) -> WordVectors:
    """The words and vectors of a .npz with the arrays `words` and `vectors`.

    limit : keep this many words at most, the first ones; the others take no memory.

    Raises ValueError for a file that is damaged, or that holds something else.
    """
    with open_regular(path) as file:
        try:
            with zipfile.ZipFile(file) as entries:
                words, vectors = (_rows(entries, name, limit) for name in ("words", "vectors"))
            words = words.tolist()
            return WordVectors(tuple(words), check_words(words, vectors))
        except BAD_NPZ as error:
            raise ValueError(
                f"{path} is no .npz with the arrays 'words' and 'vectors' ({str(error)[:300]})"
            ) from None


def _rows(entries: zipfile.ZipFile, name: str, limit: int | None) -> np.ndarray:
    """The first rows of an array of a .npz, as many as `limit`, or all. Nothing is unpickled."""
    packed = entries.getinfo(f"{name}.npy")
    if packed.file_size > max(SMALL, MOST_PACKED * packed.compress_size):
        raise ValueError(
            f"{name!r} takes {packed.compress_size:,} bytes and unpacks to {packed.file_size:,}; "
            "nothing that was learned can be packed so tightly"
        )
    with entries.open(f"{name}.npy") as entry:
        version = np.lib.format.read_magic(entry)
        if limit is not None and version == (1, 0):  # NumPy's, for all but exotic arrays
            shape, by_columns, dtype = np.lib.format.read_array_header_1_0(entry)
            if shape and min(shape) >= 0 and not (by_columns or dtype.hasobject):
                shape = (min(limit, shape[0]), *shape[1:])
                data = bytearray(entry.read(math.prod(shape) * dtype.itemsize))  # to be written to
                while entry.read(1 << 20):
                    pass  # to its end, where zipfile compares the checksum
                return np.frombuffer(data, dtype).reshape(shape)
    return np.atleast_1d(read_array(entries, f"{name}.npy"))[:limit]


def write_projector(path: str | os.PathLike, words: Sequence[str], vectors: np.ndarray) -> None:
    """Write the pair of files that projector.tensorflow.org loads.

    vectors.tsv holds a line of numbers for each word, vectors_words.tsv the words in that order.
    """
    vectors, path = check_words(words, vectors), Path(path)
    with replacing(words_beside(path)) as beside, replacing(path) as temporary:  # both, or none
        beside.write_bytes("".join(f"{word}\n" for word in words).encode("utf-8"))
        with open(temporary, "w", encoding="utf-8", newline="\n") as file:
            file.writelines("\t".join(map(str, row)) + "\n" for row in vectors)


def words_beside(path: str | os.PathLike) -> Path:
    """The projector's second file: vectors.tsv -> vectors_words.tsv"""
    path = Path(path)
    return path.with_name(f"{path.stem}_words{path.suffix}")


WRITERS = {
    ".npz": write_npz,
    ".txt": write_vectors,
    ".vec": write_vectors,
    ".bin": write_binary,
    ".safetensors": write_safetensors,
    ".tsv": write_projector,
}
PACKED = (".gz", ".zip", ".bz2", ".xz", ".zst", ".7z", ".tar", ".tgz")  # as they are downloaded
READERS = {".npz": read_npz, ".bin": read_binary, ".safetensors": read_safetensors}


def save(path: str | os.PathLike, words: Sequence[str], vectors: np.ndarray) -> None:
    """Write words and vectors (V, D) in the format that the ending of `path` names.

    Raises ValueError for another ending, and what the format's own function raises.
    """
    ending = Path(path).suffix.lower()
    if ending not in WRITERS:
        raise ValueError(f"{path} ends in {ending!r}; vectors are written as {', '.join(WRITERS)}")
    WRITERS[ending](path, words, vectors)


def load(path: str | os.PathLike, limit: int | None = None) -> WordVectors:
    """Read vectors in the format that the ending of `path` names; any other ending is text.

    limit : read this many words at most, the first ones.

    Of a word that comes twice, text keeps the first row, as large files in circulation have such;
    the other formats refuse it (`read_vectors` lets you choose). Text and .bin come as float32
    (`read_vectors` takes a dtype); the others keep their dtype.
    Raises ValueError for a pickle, such as gensim's own .kv: reading one runs what is in it; and
    for a file that is packed, such as .gz.
    """
    ending = Path(path).suffix.lower()
    if ending in PICKLES:
        raise ValueError(
            f"{path} is a pickle, and reading one may run anything. Write it in an open format "
            "where it came from: keyed_vectors.save_word2vec_format('vectors.bin', binary=True)"
        )
    if ending == ".tsv":
        raise ValueError(f"{path} is for the projector alone; read the .npz, .bin or .txt instead")
    if ending in PACKED:
        raise ValueError(f"{path} is packed; unpack it first, and name the file that comes out")
    if limit is not None:
        limit = check_count(limit, "limit")
    if ending not in READERS:
        return read_vectors(path, duplicates="first", limit=limit)
    return READERS[ending](path, limit)
