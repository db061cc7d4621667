"""Vectors of words as safetensors: a JSON header, and raw bytes. Nothing in a file is run.

    8 bytes          N, the length of the header, the lowest byte first
    N bytes          {"vectors": {"dtype": "F32", "shape": [V, D], "data_offsets": [0, 400]}, ...}
    the rest         the bytes of each array, where its offsets say

(github.com/huggingface/safetensors, "Format".) We keep two arrays: `vectors`, and `words`, the
UTF-8 bytes of all words with a line feed between two. The format is so small that it is written
here by hand; the library reads what we write, and the other way round.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from typing import BinaryIO

import numpy as np

from scratch_embed.files import from_json, open_regular, replacing
from scratch_embed.text.vectors import WordVectors, check_words

DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "U8": "|u1"}
LONGEST_HEADER = 100_000_000  # bytes, as in the library
ALIGNMENT = 8


def write_safetensors(path: str | os.PathLike, words: Sequence[str], vectors: np.ndarray) -> None:
    """Write words and vectors (V, D), float16 to float64. Complete or not there at all.

    Raises what `write_vectors` raises, and TypeError for another dtype.
    """
    vectors = check_words(words, vectors)
    if vectors.dtype.itemsize > 8:
        raise TypeError(f"vectors are {vectors.dtype}; safetensors ends at float64")
    arrays = {
        "vectors": np.ascontiguousarray(vectors, vectors.dtype.newbyteorder("<")),
        "words": np.frombuffer("\n".join(words).encode("utf-8"), np.uint8),
    }
    names = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
    header, end = {}, 0
    for name, array in arrays.items():
        begin, end = end, end + array.nbytes
        shape, offsets = list(array.shape), [begin, end]
        header[name] = {"dtype": names[array.dtype], "shape": shape, "data_offsets": offsets}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % ALIGNMENT)  # so that the numbers begin where a number may
    with replacing(path) as temporary, open(temporary, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in arrays.values():
            file.write(array.data)


def read_safetensors(path: str | os.PathLike, limit: int | None = None) -> WordVectors:
    """The words and vectors (V, D) of a file that `write_safetensors` wrote.

    limit : keep this many words at most, the first ones; the other rows of vectors are not read.

    Raises ValueError for a file that is damaged, cut short or holds other arrays (which are named),
    and OSError for what is not a regular file.
    """
    with open_regular(path) as file:
        header, start = _read_header(file, path)
        if not {"vectors", "words"} <= header.keys():
            raise ValueError(
                f"{path} holds the arrays {', '.join(sorted(header)[:10]) or 'none'}; vectors of "
                "words are two, 'vectors' (V, D) and 'words', their UTF-8 bytes"
            )
        vectors = _read_array(file, path, start, "vectors", header["vectors"], limit)
        letters = _read_array(file, path, start, "words", header["words"])
        first, second = sorted(header[name]["data_offsets"] for name in ("vectors", "words"))
        if second[0] < first[1]:
            raise ValueError(f"{path}: the bytes {second[0]} to {first[1]} are of both arrays")
    try:
        words = letters.tobytes().decode("utf-8").split("\n")[:limit]
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: byte {error.start} of 'words' is not UTF-8") from None
    try:
        return WordVectors(tuple(words), check_words(words, vectors))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _read_header(file: BinaryIO, path: str | os.PathLike) -> tuple[dict, int]:
    """(the arrays by name, where their bytes begin)"""
    size = int.from_bytes(file.read(8), "little")
    if not 0 < size <= min(LONGEST_HEADER, os.fstat(file.fileno()).st_size - 8):
        raise ValueError(f"{path} announces a header of {size:,} bytes; is it a safetensors file?")
    try:
        header = from_json(file.read(size))
        header.pop("__metadata__", None)
    except (ValueError, AttributeError, TypeError):
        raise ValueError(f"{path} has no JSON header; is it a safetensors file?") from None
    return header, 8 + size


def _read_array(
    file: BinaryIO, path, start: int, name: str, entry, limit: int | None = None
) -> np.ndarray:
    try:
        dtype = np.dtype(DTYPES[entry["dtype"]])
        shape, (begin, end) = list(entry["shape"]), entry["data_offsets"]
        whole = all(type(n) is int for n in (*shape, begin, end))
        good = whole and min(shape, default=0) >= 0 <= begin
        if not good or end - begin != math.prod(shape) * dtype.itemsize:
            raise ValueError
    except (KeyError, TypeError, ValueError, OverflowError):
        raise ValueError(
            f"{path}: the header's entry for {name!r}, {str(entry)[:80]}, cannot be; a dtype is "
            f"one of {', '.join(DTYPES)}, and offsets lie as far apart as the shape takes bytes"
        ) from None
    if start + end > os.fstat(file.fileno()).st_size:
        raise ValueError(f"{path} ends inside {name!r}: it was cut short")
    file.seek(start + begin)
    if limit is not None and shape:
        shape[0] = min(shape[0], limit)
    data = bytearray(file.read(math.prod(shape) * dtype.itemsize))  # an array to be written to
    return np.frombuffer(data, dtype).reshape(shape)
